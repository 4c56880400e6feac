//! Words for the values of closed lists: each value's key stands in `names` of the text files.

use super::super::acceptance::{Metric, Stage};
use super::super::billing::{Category, Per};
use super::super::candidate::Boundary;
use super::super::decision::Action;
use super::super::evidence::{Captured, CommandEnd, Kind, Vantage};
use super::super::facts::{Finding, Key, Severity};
use super::super::format::{bytes_binary, latency};
use super::super::load::{Arrivals, RunEnd, TokenSource};
use super::{Text, fill};

impl Text {
    /// The name of a fact.
    #[must_use]
    pub fn fact<'a>(&'a self, key: &'a Key) -> &'a str {
        self.names.get(&format!("fact_{key}")).map_or(key.0.as_ref(), String::as_str)
    }

    /// How much a finding matters.
    #[must_use]
    pub fn severity(&self, severity: Severity) -> &str {
        self.name(match severity {
            Severity::Isolate => "severity_isolate",
            Severity::Reset => "severity_reset",
            Severity::Configuration => "severity_configuration",
            Severity::Watch => "severity_watch",
            Severity::Fine => "severity_fine",
            Severity::NotJudged => "severity_not_judged",
        })
    }

    /// How a command ended.
    #[must_use]
    pub fn ended(&self, captured: &Captured) -> String {
        let shell = &self.shell;
        match &captured.ended {
            CommandEnd::Exit(code) => {
                fill(&shell.ended_exit, &[("code", code.to_string()), ("secs", latency(captured.took_secs))])
            }
            CommandEnd::Signal(signal) => fill(&shell.ended_signal, &[("signal", signal.clone())]),
            CommandEnd::Deadline(secs) => fill(&shell.ended_deadline, &[("secs", secs.to_string())]),
            #[allow(clippy::cast_precision_loss, reason = "a cap of a few MiB")]
            CommandEnd::TooMuch(bytes) => fill(&shell.ended_too_much, &[("bytes", bytes_binary(*bytes as f64))]),
            CommandEnd::Cancelled => shell.ended_cancelled.clone(),
            CommandEnd::ConnectionLost => shell.ended_lost.clone(),
            CommandEnd::Refused(why) => fill(&shell.ended_refused, &[("why", why.clone())]),
            CommandEnd::Unknown => shell.ended_unknown.clone(),
        }
    }

    /// What to do about a finding.
    #[must_use]
    pub fn advice(&self, finding: &Finding) -> Option<&str> {
        self.findings.get(finding.code.as_ref()).map(String::as_str)
    }

    /// What a probe asks about, by its id.
    #[must_use]
    pub fn probe<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.get(&format!("probe_{id}")).map_or(id, String::as_str)
    }

    /// The name of a stage.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> &str {
        self.name(match stage {
            Stage::Environment => "stage_environment",
            Stage::Functional => "stage_functional",
            Stage::Load => "stage_load",
            Stage::Fault => "stage_fault",
            Stage::Review => "stage_review",
        })
    }

    /// What a metric looks at.
    #[must_use]
    pub fn metric(&self, metric: Metric) -> &str {
        self.name(match metric {
            Metric::GpuCount => "metric_gpu_count",
            Metric::GpuModel => "metric_gpu_model",
            Metric::GpuMemory => "metric_gpu_memory",
            Metric::EccUncorrected => "metric_ecc_uncorrected",
            Metric::RemapPending => "metric_remap_pending",
            Metric::ThrottledGpus => "metric_throttled_gpus",
            Metric::HealthAlarms => "metric_health_alarms",
            Metric::DiagnosticFailures => "metric_diagnostic_failures",
            Metric::ForeignProcesses => "metric_foreign_processes",
            Metric::ClockOffset => "metric_clock_offset",
            Metric::Mismatches => "metric_mismatches",
            Metric::CompletedRequests => "metric_completed_requests",
            Metric::UsageCounted => "metric_usage_counted",
            Metric::TtftP95 => "metric_ttft_p95",
            Metric::ItlP95 => "metric_itl_p95",
            Metric::E2eP95 => "metric_e2e_p95",
            Metric::ErrorShare => "metric_error_share",
            Metric::OutputRate => "metric_output_rate",
            Metric::AcceptedShare => "metric_accepted_share",
            Metric::ValidRuns => "metric_valid_runs",
            Metric::Attested => "metric_attested",
        })
    }

    /// What is handed over.
    #[must_use]
    pub fn boundary(&self, boundary: Boundary) -> &str {
        self.name(boundary.key())
    }

    /// What a billing component pays for.
    #[must_use]
    pub fn category(&self, category: Category) -> &str {
        self.name(category.key())
    }

    /// The unit of a price ("per hour").
    #[must_use]
    pub fn per(&self, per: Per) -> &str {
        self.name(match per {
            Per::Hour => "per_hour",
            Per::GbMonth => "per_gb_month",
            Per::Month => "per_month",
            Per::Gb => "per_gb",
            Per::Once => "per_once",
        })
    }

    /// What a decision does.
    #[must_use]
    pub fn action(&self, action: Action) -> &str {
        self.name(match action {
            Action::Extend => "action_extend",
            Action::Reserve => "action_reserve",
            Action::Dedicate => "action_dedicate",
            Action::Scale => "action_scale",
            Action::OtherAbstraction => "action_other_abstraction",
            Action::Reject => "action_reject",
        })
    }

    /// Whether a record can count.
    #[must_use]
    pub fn kind(&self, kind: Kind) -> &str {
        self.name(match kind {
            Kind::Real => "kind_real",
            Kind::Practice => "kind_practice",
            Kind::Replay => "kind_replay",
        })
    }

    /// Where something was measured from.
    #[must_use]
    pub fn vantage(&self, vantage: Vantage) -> &str {
        self.name(match vantage {
            Vantage::OnHost => "vantage_on_host",
            Vantage::ThisComputer => "vantage_this_computer",
            Vantage::Tunnel => "vantage_tunnel",
        })
    }

    /// How requests start.
    #[must_use]
    pub fn arrivals(&self, arrivals: Arrivals) -> &str {
        self.name(match arrivals {
            Arrivals::Concurrency => "arrivals_concurrency",
            Arrivals::Constant => "arrivals_constant",
            Arrivals::Poisson => "arrivals_poisson",
        })
    }

    /// Who counted tokens.
    #[must_use]
    pub fn token_source(&self, source: TokenSource) -> &str {
        self.name(match source {
            TokenSource::Usage => "tokens_usage",
            TokenSource::Events => "tokens_events",
            TokenSource::None => "tokens_none",
        })
    }

    /// How a run ended.
    #[must_use]
    pub fn run_end(&self, ended: RunEnd) -> &str {
        self.name(ended.key())
    }

    /// The words of a request's cause as `Outcome::cause` writes it ("cut_short", "status_503").
    #[must_use]
    pub fn cause(&self, cause: &str) -> String {
        match cause.strip_prefix("status_") {
            Some(code) => fill(self.name("cause_status"), &[("code", code.to_owned())]),
            None => self.name(&format!("cause_{cause}")).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Language;
    use super::*;
    use crate::domain::load::Outcome;

    #[test]
    fn every_value_has_words_in_both_languages() {
        for text in Language::ALL.map(Text::of) {
            let mut words: Vec<String> = Vec::new();
            words.extend(Stage::ALL.map(|stage| text.stage(stage).to_owned()));
            words.extend(Boundary::ALL.map(|boundary| text.boundary(boundary).to_owned()));
            words.extend(Category::ALL.map(|category| text.category(category).to_owned()));
            words.extend(Per::ALL.map(|per| text.per(per).to_owned()));
            words.extend(Action::ALL.map(|action| text.action(action).to_owned()));
            for metric in [
                Metric::GpuCount,
                Metric::GpuModel,
                Metric::GpuMemory,
                Metric::EccUncorrected,
                Metric::RemapPending,
                Metric::ThrottledGpus,
                Metric::HealthAlarms,
                Metric::DiagnosticFailures,
                Metric::ForeignProcesses,
                Metric::ClockOffset,
                Metric::Mismatches,
                Metric::CompletedRequests,
                Metric::UsageCounted,
                Metric::TtftP95,
                Metric::ItlP95,
                Metric::E2eP95,
                Metric::ErrorShare,
                Metric::OutputRate,
                Metric::AcceptedShare,
                Metric::ValidRuns,
                Metric::Attested,
            ] {
                words.push(text.metric(metric).to_owned());
            }
            words.extend([Kind::Real, Kind::Practice, Kind::Replay].map(|kind| text.kind(kind).to_owned()));
            words.extend(
                [Vantage::OnHost, Vantage::ThisComputer, Vantage::Tunnel]
                    .map(|vantage| text.vantage(vantage).to_owned()),
            );
            words.extend(
                [Arrivals::Concurrency, Arrivals::Constant, Arrivals::Poisson]
                    .map(|arrivals| text.arrivals(arrivals).to_owned()),
            );
            words.extend(
                [TokenSource::Usage, TokenSource::Events, TokenSource::None]
                    .map(|source| text.token_source(source).to_owned()),
            );
            words.extend(
                [RunEnd::Done, RunEnd::Stopped, RunEnd::Interrupted].map(|ended| text.run_end(ended).to_owned()),
            );
            for outcome in [
                Outcome::Completed,
                Outcome::Rejected,
                Outcome::Refused,
                Outcome::Status(503),
                Outcome::ConnectTimeout,
                Outcome::FirstByteTimeout,
                Outcome::GapTimeout,
                Outcome::TotalTimeout,
                Outcome::StreamError,
                Outcome::Malformed,
                Outcome::CutShort,
                Outcome::Cancelled,
            ] {
                words.push(text.cause(&outcome.cause()));
            }
            for word in words {
                // A missing word shows its key, and keys have underscores.
                assert!(!word.contains('_'), "no words for {word}");
            }
        }
    }

    #[test]
    fn a_status_is_named_with_its_code() {
        assert_eq!(Text::of(Language::En).cause("status_503"), "status 503");
        assert_eq!(Text::of(Language::ZhHans).cause("cut_short"), "中途断开");
    }
}
