//! The criteria a brief gives without anybody writing them.

use super::{Comparison, Criterion, Metric, Stage, Threshold};
use crate::domain::brief::{Brief, Slo};
use crate::domain::ids::CriterionId;

/// Share of requests that must be accepted within SLO at the peak.
const ACCEPTED_SHARE: f64 = 0.95;
/// Valid runs that show that a result repeats.
const REPEATS: f64 = 3.0;
/// Samples a 95th percentile needs.
const P95_SAMPLES: u32 = 200;
/// Most a host's clock may be off, s: beyond it logs of both sides cannot be laid side by side.
const CLOCK_OFFSET_SECS: f64 = 1.0;

/// Criteria of all five stages. Those of a limit appear when the brief sets it; their thresholds follow the brief.
#[must_use]
pub fn default_criteria(brief: &Brief) -> Vec<Criterion> {
    use Comparison::{AtLeast, AtMost, Equals};
    use Metric as M;
    use Stage::{Environment, Functional, Load};
    let number = Threshold::Number;
    let Slo { ttft_p95_ms, itl_p95_ms, e2e_p95_ms, error_share, output_tokens_per_sec } = brief.slo;
    let mut list = List::default();
    list.add(Environment, M::GpuCount, Equals, Threshold::Promised, 1);
    list.add(Environment, M::GpuModel, Equals, Threshold::Promised, 1);
    list.add(Environment, M::GpuMemory, AtLeast, Threshold::Promised, 1);
    list.add(Environment, M::EccUncorrected, AtMost, number(0.0), 1);
    list.add(Environment, M::RemapPending, AtMost, number(0.0), 1);
    list.add(Environment, M::ThrottledGpus, AtMost, number(0.0), 1);
    list.add(Environment, M::HealthAlarms, AtMost, number(0.0), 1);
    list.add(Environment, M::DiagnosticFailures, AtMost, number(0.0), 1);
    list.add(Environment, M::ClockOffset, AtMost, number(CLOCK_OFFSET_SECS), 1);
    list.add(Environment, M::Mismatches, AtMost, number(0.0), 1);
    list.add(Functional, M::CompletedRequests, AtLeast, number(1.0), 1);
    list.add(Functional, M::UsageCounted, AtLeast, number(1.0), 1);
    let limits = [
        (M::TtftP95, AtMost, ttft_p95_ms.is_some(), P95_SAMPLES),
        (M::ItlP95, AtMost, itl_p95_ms.is_some(), P95_SAMPLES),
        (M::E2eP95, AtMost, e2e_p95_ms.is_some(), P95_SAMPLES),
        (M::ErrorShare, AtMost, error_share.is_some(), P95_SAMPLES),
        (M::OutputRate, AtLeast, output_tokens_per_sec.is_some(), 1),
    ];
    for (metric, comparison, _, min_samples) in limits.into_iter().filter(|(_, _, is_set, _)| *is_set) {
        list.add(Load, metric, comparison, Threshold::Brief, min_samples);
    }
    list.add(Load, M::AcceptedShare, AtLeast, number(ACCEPTED_SHARE), P95_SAMPLES);
    list.add(Load, M::ValidRuns, AtLeast, number(REPEATS), 1);
    list.attest(Stage::Fault, "attest_restart");
    list.attest(Stage::Fault, "attest_restore");
    list.attest(Stage::Review, "attest_second_reader");
    list.0
}

#[derive(Default)]
struct List(Vec<Criterion>);

impl List {
    fn add(&mut self, stage: Stage, metric: Metric, comparison: Comparison, threshold: Threshold, min_samples: u32) {
        let id = CriterionId(format!("k{}", self.0.len() + 1));
        let (words, waivers) = (String::new(), Vec::new());
        self.0.push(Criterion { id, stage, metric, comparison, threshold, min_samples, words, waivers });
    }

    /// A statement that a person attests. Its words are a name of `Text::name`, so that it reads in both languages.
    fn attest(&mut self, stage: Stage, words: &str) {
        self.add(stage, Metric::Attested, Comparison::Equals, Threshold::Number(1.0), 1);
        if let Some(criterion) = self.0.last_mut() {
            words.clone_into(&mut criterion.words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::acceptance::show;
    use crate::domain::text::{Language, Text};

    #[test]
    fn criteria_follow_the_brief() {
        let bare = default_criteria(&Brief::default());
        let slo = Slo { ttft_p95_ms: Some(500.0), itl_p95_ms: Some(50.0), error_share: Some(0.005), ..Slo::default() };
        let full = default_criteria(&Brief { slo, ..Brief::default() });
        let of = |criteria: &[Criterion]| Stage::ALL.map(|stage| criteria.iter().filter(|k| k.stage == stage).count());
        assert_eq!(of(&bare), [10, 2, 2, 2, 1]);
        assert_eq!(of(&full), [10, 2, 5, 2, 1]);
        let mut ids: Vec<_> = full.iter().map(|criterion| criterion.id.clone()).collect();
        ids.dedup();
        assert_eq!(ids.len(), full.len());
    }

    #[test]
    fn every_criterion_reads_in_both_languages() {
        let slo = Slo {
            ttft_p95_ms: Some(500.0),
            itl_p95_ms: Some(50.0),
            e2e_p95_ms: Some(9000.0),
            error_share: Some(0.005),
            output_tokens_per_sec: Some(100.0),
        };
        for language in Language::ALL {
            let text = Text::of(language);
            for criterion in default_criteria(&Brief { slo, ..Brief::default() }) {
                let words = show::statement(&criterion, text);
                assert!(!words.contains('_'), "{language:?}: {words}");
            }
        }
    }
}
