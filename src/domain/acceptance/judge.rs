//! From a criterion and what was seen to a verdict. Only real evidence counts; a practice or replayed record satisfies
//! nothing, an invalid run satisfies nothing.

use chrono::NaiveDate;

use super::measure::{self, Measured};
use super::{Comparison, Criterion, Judged, Metric, Threshold, Verdict, Waiver, Why};
use crate::domain::brief::Brief;
use crate::domain::candidate::Candidate;
use crate::domain::compare::promises::{self, PromiseRow};
use crate::domain::seen::Seen;

/// What a criterion is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The brief.
    pub brief: &'a Brief,
    /// Its digest as it is now.
    pub digest: Option<&'a str>,
    /// The candidate.
    pub candidate: &'a Candidate,
    /// What was seen of it.
    pub seen: &'a Seen,
    /// Its promises against real records alone.
    pub promises: &'a [PromiseRow],
    /// Today, for the expiry of waivers.
    pub today: NaiveDate,
}

/// The verdict of one criterion for one candidate.
#[must_use]
pub fn judge(criterion: &Criterion, case: &Case<'_>) -> Judged {
    let threshold = threshold(criterion, case);
    let mut judged = Judged {
        criterion: criterion.id.clone(),
        verdict: Verdict::NotTested,
        why: Why::NoThreshold,
        value: None,
        interval: None,
        threshold,
        samples: None,
        evidence: Vec::new(),
        waiver: waiver_in_force(criterion, case),
    };
    match (threshold, measure::measure(criterion, case)) {
        (_, Err(why)) => judged.why = why,
        (None, Ok(measured)) => fill_in(&mut judged, &measured),
        (Some(threshold), Ok(measured)) => {
            fill_in(&mut judged, &measured);
            (judged.verdict, judged.why) = verdict(criterion, threshold, &measured);
        }
    }
    judged
}

fn fill_in(judged: &mut Judged, measured: &Measured) {
    judged.value = measured.value;
    judged.interval = measured.interval;
    judged.samples = measured.samples;
    judged.evidence.clone_from(&measured.evidence);
}

fn verdict(criterion: &Criterion, threshold: f64, measured: &Measured) -> (Verdict, Why) {
    if let Some(what) = measured.changed {
        return (Verdict::Stale, Why::Changed(what.to_owned()));
    }
    if let Some((have, need)) = measured.few {
        return (Verdict::Inconclusive, Why::FewSamples { have, need });
    }
    let (have, need) = (measured.samples.unwrap_or(u64::MAX), u64::from(criterion.min_samples));
    if have < need {
        return (Verdict::Inconclusive, Why::FewSamples { have, need });
    }
    let (verdict, why) = compare(criterion.comparison, threshold, measured);
    match measured.below_peak {
        // What breaks below the peak will not hold at the peak; what holds below it says nothing yet.
        Some((reached, peak)) if verdict != Verdict::Fail => (Verdict::NotTested, Why::BelowPeak { reached, peak }),
        _ => (verdict, why),
    }
}

fn compare(comparison: Comparison, threshold: f64, measured: &Measured) -> (Verdict, Why) {
    let Some((low, high)) = measured.interval.or(measured.value.map(|value| (value, value))) else {
        return (Verdict::Inconclusive, Why::FewSamples { have: 0, need: 1 });
    };
    let (is_kept, is_broken) = match comparison {
        Comparison::AtMost => (high <= threshold, low > threshold),
        Comparison::AtLeast => (low >= threshold, high < threshold),
        #[allow(clippy::float_cmp, reason = "counts and flags, which are whole numbers")]
        Comparison::Equals => (low == threshold && high == threshold, low > threshold || high < threshold),
    };
    match (is_kept, is_broken) {
        (true, _) => (Verdict::Pass, Why::Compared),
        (false, true) => (Verdict::Fail, Why::Compared),
        (false, false) => (Verdict::Inconclusive, Why::Straddles),
    }
}

/// The threshold as a number in the metric's unit; `None` when the brief or the offer sets none.
fn threshold(criterion: &Criterion, case: &Case<'_>) -> Option<f64> {
    let (slo, promised) = (&case.brief.slo, &case.candidate.promised);
    match (&criterion.threshold, criterion.metric) {
        (Threshold::Number(number), _) => Some(*number),
        (Threshold::Brief, Metric::TtftP95) => slo.ttft_p95_ms,
        (Threshold::Brief, Metric::ItlP95) => slo.itl_p95_ms,
        (Threshold::Brief, Metric::E2eP95) => slo.e2e_p95_ms,
        (Threshold::Brief, Metric::ErrorShare) => slo.error_share,
        (Threshold::Brief, Metric::OutputRate) => slo.output_tokens_per_sec,
        (Threshold::Promised, Metric::GpuCount) => promised.gpu_count.map(f64::from),
        (Threshold::Promised, Metric::GpuModel) => promised.gpu_model.as_ref().map(|_| 1.0),
        (Threshold::Promised, Metric::GpuMemory) => {
            promised.gpu_memory.map(|size| promises::lowest_gpu_memory(size) / measure::MIB)
        }
        (Threshold::Brief | Threshold::Promised, _) => None,
    }
}

fn waiver_in_force(criterion: &Criterion, case: &Case<'_>) -> Option<Waiver> {
    criterion
        .waivers
        .iter()
        .filter(|waiver| waiver.candidate == case.candidate.id && waiver.until >= case.today)
        .max_by_key(|waiver| waiver.given_at)
        .cloned()
}

/// How a criterion stands: its verdict, or waived where it did not pass and a waiver is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It fails.
    Fail,
    /// It cannot be judged.
    Inconclusive,
    /// Something changed since.
    Stale,
    /// It was not tested.
    NotTested,
    /// It did not pass, and a named person lets it stand.
    Waived,
    /// It passes.
    Pass,
}

impl Standing {
    /// All six, worst first.
    pub const ALL: [Self; 6] = [Self::Fail, Self::Inconclusive, Self::Stale, Self::NotTested, Self::Waived, Self::Pass];

    /// How a judged criterion stands.
    #[must_use]
    pub const fn of(judged: &Judged) -> Self {
        match (judged.verdict, &judged.waiver) {
            (Verdict::Pass, _) => Self::Pass,
            (_, Some(_)) => Self::Waived,
            (Verdict::Fail, None) => Self::Fail,
            (Verdict::Inconclusive, None) => Self::Inconclusive,
            (Verdict::Stale, None) => Self::Stale,
            (Verdict::NotTested, None) => Self::NotTested,
        }
    }

    /// The word scripts read ("waived").
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Stale => "stale",
            Self::NotTested => "not_tested",
            Self::Waived => "waived",
            Self::Pass => "pass",
        }
    }
}

/// A candidate's verdicts together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overall {
    /// The worst of its criteria.
    pub worst: Standing,
    /// How many stand how, worst first, none left out.
    pub tally: [(Standing, usize); 6],
    /// How many criteria there are.
    pub total: usize,
}

impl Overall {
    /// How many criteria stand like this.
    #[must_use]
    pub fn count(&self, standing: Standing) -> usize {
        self.tally.iter().find(|(other, _)| *other == standing).map_or(0, |(_, n)| *n)
    }

    /// Whether every criterion passes or is waived.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.worst >= Standing::Waived
    }
}

/// The worst of a candidate's criteria and their tally; `None` without criteria.
#[must_use]
pub fn overall(judged: &[Judged]) -> Option<Overall> {
    let worst = judged.iter().map(Standing::of).min()?;
    let tally = Standing::ALL
        .map(|standing| (standing, judged.iter().filter(|judged| Standing::of(judged) == standing).count()));
    Some(Overall { worst, tally, total: judged.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::acceptance::Stage;
    use crate::domain::brief::brief_digest;
    use crate::domain::compare::promises;
    use crate::domain::evidence::{Kind, Record, Source};
    use crate::domain::facts::{AbsentKind, Severity};
    use crate::domain::fixture::{
        self, Fates, answer, host, invalid, kept_as, moment, of_kind, run, seen, step, unread, with_finding,
    };
    use crate::domain::ids::CriterionId;
    use crate::domain::seen::{Kept, Reading, Run};
    use crate::domain::units::{SizeUnit, StatedSize};

    fn criterion(metric: Metric, comparison: Comparison, threshold: Threshold) -> Criterion {
        Criterion {
            id: CriterionId("k1".into()),
            stage: Stage::Load,
            metric,
            comparison,
            threshold,
            min_samples: 1,
            words: String::new(),
            waivers: Vec::new(),
        }
    }

    fn offer() -> Candidate {
        let mut candidate = fixture::candidate("c1", Vec::new(), None);
        candidate.promised.gpu_count = Some(2);
        candidate.promised.gpu_model = Some("L40S".into());
        candidate.promised.gpu_memory = Some(StatedSize { number: 48.0, unit: SizeUnit::GB });
        candidate
    }

    /// The verdict on what was seen.
    fn judged(criterion: &Criterion, seen: &Seen) -> Judged {
        let (brief, candidate) = (fixture::brief(), offer());
        let digest = brief_digest(&brief);
        let promises = promises::rows(&candidate, &seen.hosts, Reading::RealOnly);
        let today = NaiveDate::from_ymd_opt(2026, 12, 4).unwrap();
        let case =
            Case { brief: &brief, digest: digest.as_deref(), candidate: &candidate, seen, promises: &promises, today };
        judge(criterion, &case)
    }

    fn outcome(criterion: &Criterion, seen: &Seen) -> (Verdict, Why) {
        let judged = judged(criterion, seen);
        (judged.verdict, judged.why)
    }

    fn environment(records: Vec<Kept>) -> Seen {
        seen(vec![host(records)], Vec::new(), Vec::new())
    }

    fn under_load(runs: Vec<Run>) -> Seen {
        seen(Vec::new(), runs, Vec::new())
    }

    const KEPT: (Verdict, Why) = (Verdict::Pass, Why::Compared);
    const BROKEN: (Verdict, Why) = (Verdict::Fail, Why::Compared);
    const NEVER: (Verdict, Why) = (Verdict::NotTested, Why::NeverRun);

    #[test]
    fn the_environment_is_judged_by_the_newest_real_answers() {
        use Comparison::{AtLeast, AtMost, Equals};
        let zero = || Threshold::Number(0.0);
        let gpus = |facts: &[&str]| {
            let mut all = vec!["gpu:0 name NVIDIA L40S", "gpu:1 name NVIDIA L40S"];
            all.extend(facts);
            answer("e1", "gpu_detail", 1, &all)
        };
        let pending = |facts: &[&str]| environment(vec![gpus(facts)]);
        let could_not = |detail: &str| (Verdict::NotTested, Why::CouldNotRun(detail.into()));
        let no_driver = || unread("e1", "gpu_detail", 1, AbsentKind::NoDriver, "nvidia-smi");
        let cases = [
            ("count", Metric::GpuCount, Equals, Threshold::Promised, pending(&[]), KEPT),
            (
                "one is missing",
                Metric::GpuCount,
                Equals,
                Threshold::Promised,
                environment(vec![answer("e1", "gpu_list", 1, &["gpu:0 name NVIDIA L40S"])]),
                BROKEN,
            ),
            ("model", Metric::GpuModel, Equals, Threshold::Promised, pending(&[]), KEPT),
            (
                "another model",
                Metric::GpuModel,
                Equals,
                Threshold::Promised,
                environment(vec![answer("e1", "gpu_list", 1, &["gpu:0 name NVIDIA L40"])]),
                BROKEN,
            ),
            (
                "memory of the smallest",
                Metric::GpuMemory,
                AtLeast,
                Threshold::Promised,
                pending(&["gpu:0 memory_total 46068", "gpu:1 memory_total 23034"]),
                BROKEN,
            ),
            (
                "no ECC on this card",
                Metric::EccUncorrected,
                AtMost,
                zero(),
                pending(&["gpu:0 ecc_uncorrected_volatile !N/A", "gpu:1 ecc_uncorrected_volatile !N/A"]),
                could_not("not reported: N/A"),
            ),
            (
                "one card does not say",
                Metric::EccUncorrected,
                AtMost,
                zero(),
                pending(&["gpu:0 ecc_uncorrected_volatile 0", "gpu:1 ecc_uncorrected_volatile !N/A"]),
                could_not("not reported: N/A"),
            ),
            (
                "errors are summed",
                Metric::EccUncorrected,
                AtMost,
                zero(),
                pending(&["gpu:0 ecc_uncorrected_volatile 0", "gpu:1 ecc_uncorrected_volatile 2"]),
                BROKEN,
            ),
            (
                "pages where rows are not reported",
                Metric::RemapPending,
                AtMost,
                zero(),
                pending(&["gpu:0 remapped_rows_pending !N/A", "gpu:0 retired_pages_pending Yes"]),
                BROKEN,
            ),
            (
                "power cap is no throttling",
                Metric::ThrottledGpus,
                AtMost,
                zero(),
                pending(&["gpu:0 throttle_reasons sw_power_cap", "gpu:1 throttle_reasons none"]),
                KEPT,
            ),
            (
                "heat is",
                Metric::ThrottledGpus,
                AtMost,
                zero(),
                pending(&["gpu:0 throttle_reasons none", "gpu:1 throttle_reasons sw_thermal_slowdown"]),
                BROKEN,
            ),
            ("no alarm", Metric::HealthAlarms, AtMost, zero(), pending(&[]), KEPT),
            (
                "a lost GPU",
                Metric::HealthAlarms,
                AtMost,
                zero(),
                environment(vec![with_finding(gpus(&[]), Severity::Isolate, "gpu_lost")]),
                BROKEN,
            ),
            (
                "nobody looked",
                Metric::HealthAlarms,
                AtMost,
                zero(),
                environment(vec![answer("e1", "system", 1, &["host os Ubuntu"])]),
                NEVER,
            ),
            (
                "the driver is not there",
                Metric::GpuCount,
                Equals,
                Threshold::Promised,
                environment(vec![no_driver()]),
                could_not("the NVIDIA driver cannot be reached: nvidia-smi"),
            ),
            (
                "a failed test",
                Metric::DiagnosticFailures,
                AtMost,
                zero(),
                environment(vec![answer("e1", "dcgm_diag", 1, &["test:memory result fail", "test:pcie result pass"])]),
                BROKEN,
            ),
            (
                "everything skipped",
                Metric::DiagnosticFailures,
                AtMost,
                zero(),
                environment(vec![answer("e1", "dcgm_diag", 1, &["test:memory result skip", "test:pcie result skip"])]),
                (Verdict::NotTested, Why::Skipped),
            ),
            (
                "some skipped, none failed",
                Metric::DiagnosticFailures,
                AtMost,
                zero(),
                environment(vec![answer("e1", "dcgm_diag", 1, &["test:memory result skip", "test:pcie result pass"])]),
                KEPT,
            ),
            (
                "a clock within its uncertainty",
                Metric::ClockOffset,
                AtMost,
                Threshold::Number(1.0),
                environment(vec![answer(
                    "e1",
                    "system",
                    1,
                    &["host clock_offset -0.9", "host clock_offset_uncertainty 0.2"],
                )]),
                (Verdict::Inconclusive, Why::Straddles),
            ),
            ("promises", Metric::Mismatches, AtMost, zero(), pending(&["gpu:0 memory_total 46068"]), KEPT),
            ("nothing asked", Metric::GpuCount, Equals, Threshold::Promised, environment(vec![]), NEVER),
            (
                "replay satisfies nothing",
                Metric::GpuCount,
                Equals,
                Threshold::Promised,
                environment(vec![kept_as(gpus(&[]), Kind::Replay)]),
                (Verdict::NotTested, Why::OnlyPractice),
            ),
        ];
        for (name, metric, comparison, threshold, seen, want) in cases {
            assert_eq!(outcome(&criterion(metric, comparison, threshold), &seen), want, "{name}");
        }
    }

    #[test]
    fn load_is_judged_at_the_peak() {
        use Comparison::{AtLeast, AtMost};
        let brief = fixture::brief();
        let many = Fates { sent: 7_200, ..Fates::default() };
        let of = |points| under_load(vec![run("e1", &brief, 5, points)]);
        let ttft = || criterion(Metric::TtftP95, AtMost, Threshold::Brief);
        let mut few = step(0, 8.0, 100.0, 20.0, many);
        few.ttft = few.ttft.map(|ttft| crate::domain::curve::Summary { n: 150, p95: None, p95_interval: None, ..ttft });
        let mut merged = step(0, 8.0, 100.0, 20.0, many);
        merged.gap_not_measurable = true;
        let below = |reached| Why::BelowPeak { reached, peak: 8.0 };
        let cases = [
            ("kept", ttft(), of(vec![step(0, 8.0, 388.0, 20.0, many)]), KEPT),
            ("broken", ttft(), of(vec![step(0, 8.0, 640.0, 20.0, many)]), BROKEN),
            ("close", ttft(), of(vec![step(0, 8.0, 495.0, 20.0, many)]), (Verdict::Inconclusive, Why::Straddles)),
            ("few samples", ttft(), of(vec![few]), (Verdict::Inconclusive, Why::FewSamples { have: 150, need: 200 })),
            (
                "the lowest above the peak",
                ttft(),
                of(vec![step(0, 4.0, 100.0, 20.0, many), step(1, 9.0, 640.0, 20.0, many)]),
                BROKEN,
            ),
            (
                "not run at the peak",
                ttft(),
                of(vec![step(0, 4.0, 100.0, 20.0, many)]),
                (Verdict::NotTested, below(4.0)),
            ),
            ("broken below the peak", ttft(), of(vec![step(0, 4.0, 900.0, 20.0, many)]), BROKEN),
            (
                "tokens share events",
                criterion(Metric::ItlP95, AtMost, Threshold::Brief),
                of(vec![merged]),
                (Verdict::NotTested, Why::CouldNotRun("gap_not_measurable".into())),
            ),
            (
                "errors within their interval",
                criterion(Metric::ErrorShare, AtMost, Threshold::Brief),
                of(vec![step(0, 8.0, 100.0, 20.0, Fates { sent: 7_200, failed: 2, ..Fates::default() })]),
                KEPT,
            ),
            (
                "one error of a hundred settles nothing",
                criterion(Metric::ErrorShare, AtMost, Threshold::Brief),
                of(vec![step(0, 8.0, 100.0, 20.0, Fates { sent: 100, failed: 1, ..Fates::default() })]),
                (Verdict::Inconclusive, Why::Straddles),
            ),
            (
                "accepted share",
                criterion(Metric::AcceptedShare, AtLeast, Threshold::Number(0.95)),
                of(vec![step(0, 8.0, 100.0, 20.0, Fates { sent: 7_200, late: 106, rejected: 45, failed: 2 })]),
                KEPT,
            ),
            (
                "throughput without a limit",
                criterion(Metric::OutputRate, AtLeast, Threshold::Brief),
                of(vec![step(0, 8.0, 100.0, 20.0, many)]),
                (Verdict::NotTested, Why::NoThreshold),
            ),
            ("never run", ttft(), under_load(vec![]), NEVER),
            (
                "practice",
                ttft(),
                under_load(vec![of_kind(run("e1", &brief, 5, vec![step(0, 8.0, 100.0, 20.0, many)]), Kind::Practice)]),
                (Verdict::NotTested, Why::OnlyPractice),
            ),
            (
                "invalid",
                ttft(),
                under_load(vec![invalid(run("e1", &brief, 5, vec![step(0, 8.0, 100.0, 20.0, many)]))]),
                (Verdict::NotTested, Why::OnlyInvalid),
            ),
            (
                "an older valid run under a newer invalid one",
                ttft(),
                under_load(vec![
                    invalid(run("e2", &brief, 9, vec![step(0, 8.0, 900.0, 20.0, many)])),
                    run("e1", &brief, 5, vec![step(0, 8.0, 100.0, 20.0, many)]),
                ]),
                KEPT,
            ),
        ];
        for (name, criterion, seen, want) in cases {
            assert_eq!(outcome(&criterion, &seen), want, "{name}");
        }
    }

    #[test]
    fn a_verdict_carries_value_interval_samples_and_record() {
        let brief = fixture::brief();
        let fates = Fates { sent: 7_200, late: 106, rejected: 45, failed: 2 };
        let seen = under_load(vec![run("e7b05c94", &brief, 5, vec![step(0, 8.0, 388.0, 35.8, fates)])]);
        let judged = judged(&criterion(Metric::TtftP95, Comparison::AtMost, Threshold::Brief), &seen);
        assert_eq!(judged.value, Some(388.0));
        let (low, high) = judged.interval.unwrap();
        assert!((low - 380.24).abs() < 1e-9 && (high - 395.76).abs() < 1e-9);
        assert_eq!((judged.threshold, judged.samples), (Some(500.0), Some(7_153)));
        assert_eq!(judged.evidence.iter().map(|id| id.cite()).collect::<Vec<_>>(), ["ev:e7b05c94"]);
    }

    #[test]
    fn fewer_repeats_than_wanted_are_no_failure() {
        let brief = fixture::brief();
        let repeats = criterion(Metric::ValidRuns, Comparison::AtLeast, Threshold::Number(3.0));
        let of =
            |n: u32| under_load((0..n).rev().map(|idx| run(&format!("e{idx}"), &brief, idx, Vec::new())).collect());
        for (n, want) in
            [(0, NEVER), (1, (Verdict::Inconclusive, Why::FewSamples { have: 1, need: 3 })), (3, KEPT), (4, KEPT)]
        {
            assert_eq!(outcome(&repeats, &of(n)), want, "{n} runs");
        }
    }

    #[test]
    fn what_changed_since_makes_stale() {
        let brief = fixture::brief();
        let mut older = brief.clone();
        older.peak_rate = Some(7.0);
        let ttft = criterion(Metric::TtftP95, Comparison::AtMost, Threshold::Brief);
        let points = || vec![step(0, 8.0, 100.0, 20.0, Fates { sent: 7_200, ..Fates::default() })];
        let stale = |what: &str| (Verdict::Stale, Why::Changed(what.into()));
        let driver =
            |id, minute, version: &str| answer(id, "gpu_detail", minute, &[&format!("host driver_version {version}")]);
        let probed = |records: Vec<Kept>| seen(vec![host(records)], vec![run("e1", &brief, 5, points())], Vec::new());
        for (name, seen, want) in [
            ("the brief", under_load(vec![run("e1", &older, 5, points())]), stale("brief")),
            ("the driver", probed(vec![driver("a", 1, "550.1"), driver("b", 9, "570.2")]), stale("driver_version")),
            ("the same driver", probed(vec![driver("a", 1, "550.1"), driver("b", 9, "550.1")]), KEPT),
            ("before the run", probed(vec![driver("a", 1, "550.1"), driver("b", 4, "570.2")]), KEPT),
            ("nothing known before", probed(vec![driver("b", 9, "570.2")]), KEPT),
            (
                "another GPU",
                probed(vec![
                    answer("a", "gpu_list", 1, &["gpu:0 uuid GPU-1"]),
                    answer("b", "gpu_list", 9, &["gpu:0 uuid GPU-2"]),
                ]),
                stale("gpu_identity"),
            ),
            (
                "a replayed driver is no news",
                probed(vec![driver("a", 1, "550.1"), kept_as(driver("b", 9, "570.2"), Kind::Replay)]),
                KEPT,
            ),
        ] {
            assert_eq!(outcome(&ttft, &seen), want, "{name}");
        }
    }

    #[test]
    fn attested_by_the_newest_note() {
        let digest = brief_digest(&fixture::brief());
        let note = |id: &str, minute, holds, digest: Option<String>| {
            let source = Source::Manual {
                by: "a reader".into(),
                note: "restarted, served after 340 s".into(),
                criterion: Some(CriterionId("k1".into())),
                holds,
            };
            let record = Record { brief_digest: digest, ..fixture::record(source, minute) };
            Kept { id: crate::domain::ids::EvidenceId(id.into()), record: record.into() }
        };
        let attested = criterion(Metric::Attested, Comparison::Equals, Threshold::Number(1.0));
        let of = |manual| seen(Vec::new(), Vec::new(), manual);
        for (name, manual, want) in [
            ("nobody", vec![], NEVER),
            ("holds", vec![note("a", 2, true, digest.clone()), note("b", 1, false, digest.clone())], KEPT),
            ("holds no more", vec![note("b", 3, false, digest.clone()), note("a", 2, true, digest.clone())], BROKEN),
            ("of another brief", vec![note("a", 2, true, None)], (Verdict::Stale, Why::Changed("brief".into()))),
            (
                "of practice",
                vec![kept_as(note("a", 2, true, digest.clone()), Kind::Practice)],
                (Verdict::NotTested, Why::OnlyPractice),
            ),
        ] {
            assert_eq!(outcome(&attested, &of(manual)), want, "{name}");
        }
    }

    #[test]
    fn a_waiver_stands_beside_its_verdict_until_its_last_day() {
        let waiver = |candidate: &str, until: (i32, u32, u32)| Waiver {
            candidate: crate::domain::ids::CandidateId(candidate.into()),
            by: "the team lead".into(),
            reason: "the contract has no reclaim".into(),
            until: NaiveDate::from_ymd_opt(until.0, until.1, until.2).unwrap(),
            given_at: moment(0),
        };
        for (name, waiver, want) in [
            ("in force", waiver("c1", (2026, 12, 31)), Standing::Waived),
            ("its last day", waiver("c1", (2026, 12, 4)), Standing::Waived),
            ("over", waiver("c1", (2026, 12, 3)), Standing::NotTested),
            ("of another candidate", waiver("c2", (2026, 12, 31)), Standing::NotTested),
        ] {
            let mut criterion = criterion(Metric::TtftP95, Comparison::AtMost, Threshold::Brief);
            criterion.waivers.push(waiver);
            let judged = judged(&criterion, &under_load(vec![]));
            assert_eq!(judged.verdict, Verdict::NotTested, "{name}: never hidden");
            assert_eq!(Standing::of(&judged), want, "{name}");
        }
    }

    #[test]
    fn the_worst_criterion_decides() {
        let of = |verdict, is_waived: bool| Judged {
            criterion: CriterionId("k1".into()),
            verdict,
            why: Why::Compared,
            value: None,
            interval: None,
            threshold: None,
            samples: None,
            evidence: Vec::new(),
            waiver: is_waived.then(|| Waiver {
                candidate: crate::domain::ids::CandidateId("c1".into()),
                by: String::new(),
                reason: String::new(),
                until: NaiveDate::MAX,
                given_at: moment(0),
            }),
        };
        use Verdict::{Fail, Inconclusive, NotTested, Pass, Stale};
        for (verdicts, worst, is_accepted) in [
            (vec![(Pass, false), (Pass, true)], Standing::Pass, true),
            (vec![(Pass, false), (Fail, true)], Standing::Waived, true),
            (vec![(NotTested, false), (Stale, false), (Pass, false)], Standing::Stale, false),
            (vec![(Stale, false), (Inconclusive, false)], Standing::Inconclusive, false),
            (vec![(Fail, false), (Inconclusive, false)], Standing::Fail, false),
            (vec![(NotTested, false)], Standing::NotTested, false),
        ] {
            let judged: Vec<Judged> = verdicts.iter().map(|(verdict, is_waived)| of(*verdict, *is_waived)).collect();
            let overall = overall(&judged).unwrap();
            assert_eq!((overall.worst, overall.is_accepted()), (worst, is_accepted), "{verdicts:?}");
            assert_eq!(overall.tally.iter().map(|(_, n)| n).sum::<usize>(), judged.len());
        }
        assert_eq!(overall(&[]), None);
    }
}
