//! Which allocation boundary suits a brief, with the reasons. It advises; it never forbids, and never names a vendor.

use super::brief::Brief;
use super::candidate::Boundary;
use super::format;
use super::text::{Text, fill};

/// Requests a second from which demand goes on all month: more than one a minute, so that nothing ever rests.
const CONTINUOUS_RATE: f64 = 1.0 / 60.0;
/// Share of the peak capacity idle at mean demand from which paying by use is worth a thought.
const MOSTLY_IDLE: f64 = 0.5;
/// The fastest that weights are read into a GPU in practice, bytes a second: a local NVMe disk or a warm cache.
const FASTEST_LOAD: f64 = 10e9;
/// Memory of the largest single machine that is widely rented: eight GPUs of 141 GB.
const ONE_MACHINE: f64 = 8.0 * 141e9;

/// How far a boundary suits the brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suit {
    /// Nothing in the brief speaks against it.
    Fits,
    /// Something speaks for it and something against; a person must weigh.
    Weigh,
    /// The brief speaks against it.
    Unfit,
    /// The brief does not say enough.
    Open,
}

/// Advice on one boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// The boundary.
    pub boundary: Boundary,
    /// How far it suits.
    pub suit: Suit,
    /// Why, the weightiest first.
    pub reasons: Vec<Reason>,
}

/// One reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Name of its sentence for `Text::name` ("advice_cold_start").
    pub name: &'static str,
    /// Values for the placeholders of that sentence.
    pub values: Vec<(&'static str, String)>,
}

impl Reason {
    /// The sentence.
    #[must_use]
    pub fn words(&self, text: &Text) -> String {
        fill(text.name(self.name), &self.values)
    }
}

/// Advice on every boundary, what suits best first.
#[must_use]
pub fn advise(brief: &Brief) -> Vec<Advice> {
    let seen = Seen::of(brief);
    let mut all: Vec<Advice> = [
        Boundary::Dedicated,
        Boundary::Vm,
        Boundary::Serverless,
        Boundary::ManagedApi,
        Boundary::Container,
        Boundary::Cluster,
    ]
    .into_iter()
    .map(|boundary| {
        let (suit, reasons) = match boundary {
            Boundary::Dedicated => dedicated(&seen),
            Boundary::Vm => vm(&seen),
            Boundary::Serverless => serverless(&seen),
            Boundary::ManagedApi => managed_api(&seen),
            Boundary::Container => container(&seen),
            Boundary::Cluster => cluster(&seen),
        };
        Advice { boundary, suit, reasons }
    })
    .collect();
    all.sort_by_key(|advice| advice.suit);
    all
}

/// What the brief says that matters here.
struct Seen<'a> {
    demand: Option<Demand>,
    /// Where data may be; empty when nobody said.
    boundary: &'a str,
    /// What happens when capacity disappears; empty when nobody said.
    fallback: &'a str,
    must_persist: &'a str,
    revision: &'a str,
    ttft_ms: Option<f64>,
    /// Weights, bytes.
    weights: Option<f64>,
}

/// Demand of a month against the peak.
#[derive(Clone, Copy)]
struct Demand {
    mean: f64,
    /// Share of a capacity bought for the peak that is idle at mean demand, 0..1.
    idle: f64,
}

impl<'a> Seen<'a> {
    fn of(brief: &'a Brief) -> Self {
        let demand = match (brief.mean_rate, brief.peak_rate) {
            (Some(mean), Some(peak)) if mean > 0.0 && peak >= mean => Some(Demand { mean, idle: 1.0 - mean / peak }),
            _ => None,
        };
        #[allow(clippy::cast_precision_loss, reason = "numbers of parameters are below 2^53")]
        let weights = match (brief.model.parameters, brief.precision) {
            (Some(parameters), Some(precision)) => Some(parameters as f64 * precision.bytes()),
            _ => None,
        };
        Self {
            demand,
            boundary: brief.data_boundary.trim(),
            fallback: brief.fallback.trim(),
            must_persist: brief.must_persist.trim(),
            revision: brief.model.revision.trim(),
            ttft_ms: brief.slo.ttft_p95_ms,
            weights,
        }
    }
}

impl Demand {
    fn goes_on(self) -> bool {
        self.mean >= CONTINUOUS_RATE
    }

    fn is_mostly_idle(self) -> bool {
        self.idle >= MOSTLY_IDLE
    }

    /// "Requests come all month" or "a request every …".
    fn reason(self) -> Reason {
        if self.goes_on() {
            reason("advice_continuous", [("rate", number(self.mean))])
        } else {
            reason("advice_sparse", [("minutes", format::short(1.0 / self.mean / 60.0))])
        }
    }

    fn idle(self, name: &'static str) -> Reason {
        reason(name, [("idle", format::percent(self.idle, 0))])
    }
}

/// A rate as a person would write it: two decimals at most.
fn number(value: f64) -> String {
    let text = format::fixed(value, 2);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn reason<const N: usize>(name: &'static str, values: [(&'static str, String); N]) -> Reason {
    Reason { name, values: values.into() }
}

/// Words of the brief, short enough for a sentence.
fn quoted(words: &str) -> String {
    const LONGEST: usize = 60;
    if words.chars().count() <= LONGEST {
        return words.to_owned();
    }
    words.chars().take(LONGEST).chain(['…']).collect()
}

fn no_demand() -> (Suit, Vec<Reason>) {
    (Suit::Open, vec![reason("advice_no_demand", [])])
}

fn dedicated(seen: &Seen<'_>) -> (Suit, Vec<Reason>) {
    let Some(demand) = seen.demand else { return no_demand() };
    let mut reasons = vec![demand.reason()];
    if !seen.boundary.is_empty() {
        reasons.push(reason("advice_own_machine", []));
    }
    if demand.goes_on() {
        return (Suit::Fits, reasons);
    }
    reasons.push(reason("advice_stands_idle", []));
    (Suit::Unfit, reasons)
}

fn vm(seen: &Seen<'_>) -> (Suit, Vec<Reason>) {
    let Some(demand) = seen.demand else { return no_demand() };
    let mut reasons = vec![reason("advice_vm_control", [])];
    if demand.goes_on() {
        if demand.is_mostly_idle() {
            reasons.push(demand.idle("advice_idle_paid"));
        }
    } else {
        reasons.push(reason("advice_vm_stop", []));
    }
    (Suit::Fits, reasons)
}

fn serverless(seen: &Seen<'_>) -> (Suit, Vec<Reason>) {
    let Some(demand) = seen.demand else { return no_demand() };
    let worth_it = demand.is_mostly_idle() || !demand.goes_on();
    let mut reasons = vec![if worth_it { demand.idle("advice_idle_suits") } else { demand.idle("advice_little_idle") }];
    let Some(limit_ms) = seen.ttft_ms else {
        reasons.push(reason("advice_no_ttft", []));
        return (if worth_it { Suit::Open } else { Suit::Unfit }, reasons);
    };
    let Some(weights) = seen.weights else {
        reasons.push(reason("advice_no_weights", []));
        return (if worth_it { Suit::Open } else { Suit::Unfit }, reasons);
    };
    let load_secs = weights / FASTEST_LOAD;
    let is_too_slow = load_secs * 1e3 > limit_ms;
    if is_too_slow {
        reasons.push(reason(
            "advice_cold_start",
            [
                ("gb", format::fixed(weights / 1e9, 1)),
                ("secs", format::short(load_secs)),
                ("limit", format::latency(limit_ms / 1e3)),
            ],
        ));
    }
    let suit = match (worth_it, is_too_slow) {
        (true, false) => Suit::Fits,
        (true, true) | (false, false) => Suit::Weigh,
        (false, true) => Suit::Unfit,
    };
    (suit, reasons)
}

fn managed_api(seen: &Seen<'_>) -> (Suit, Vec<Reason>) {
    let mut reasons = Vec::new();
    if !seen.boundary.is_empty() {
        reasons.push(reason("advice_prompts_leave", [("boundary", quoted(seen.boundary))]));
    }
    if !seen.revision.is_empty() {
        reasons.push(reason("advice_revision_pinned", [("revision", quoted(seen.revision))]));
    }
    if !reasons.is_empty() {
        return (Suit::Weigh, reasons);
    }
    (Suit::Fits, vec![reason("advice_api_simple", [])])
}

fn container(seen: &Seen<'_>) -> (Suit, Vec<Reason>) {
    let mut reasons = Vec::new();
    if !seen.boundary.is_empty() {
        reasons.push(reason("advice_host_word", [("boundary", quoted(seen.boundary))]));
    }
    reasons.push(if seen.fallback.is_empty() {
        reason("advice_reclaim_open", [])
    } else {
        reason("advice_reclaim_answered", [("fallback", quoted(seen.fallback))])
    });
    if !seen.must_persist.is_empty() {
        reasons.push(reason("advice_disk_of_others", [("what", quoted(seen.must_persist))]));
    }
    let speaks_against = !seen.boundary.is_empty() || seen.fallback.is_empty();
    (if speaks_against { Suit::Unfit } else { Suit::Weigh }, reasons)
}

fn cluster(seen: &Seen<'_>) -> (Suit, Vec<Reason>) {
    let Some(weights) = seen.weights else {
        return (Suit::Open, vec![reason("advice_no_weights", [])]);
    };
    let gb = ("gb", format::fixed(weights / 1e9, 0));
    if weights > ONE_MACHINE {
        (Suit::Fits, vec![reason("advice_needs_cluster", [gb])])
    } else {
        (Suit::Weigh, vec![reason("advice_one_machine", [gb])])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::brief::{Model, Precision, Slo};
    use crate::domain::text::Language;

    fn chat() -> Brief {
        Brief {
            model: Model { revision: "a09a354".into(), parameters: Some(7_615_616_512), ..Model::default() },
            precision: Some(Precision::Bf16),
            mean_rate: Some(2.6),
            peak_rate: Some(8.0),
            slo: Slo { ttft_p95_ms: Some(500.0), ..Slo::default() },
            data_boundary: "Never outside EU regions".into(),
            must_persist: "Chat log".into(),
            ..Brief::default()
        }
    }

    fn suit(brief: &Brief, boundary: Boundary) -> Suit {
        advise(brief).into_iter().find(|advice| advice.boundary == boundary).unwrap().suit
    }

    fn reasons(brief: &Brief, boundary: Boundary) -> Vec<&'static str> {
        let advice = advise(brief).into_iter().find(|advice| advice.boundary == boundary).unwrap();
        advice.reasons.iter().map(|reason| reason.name).collect()
    }

    #[test]
    fn steady_chat_with_a_data_boundary() {
        let got: Vec<_> = advise(&chat()).iter().map(|advice| (advice.boundary, advice.suit)).collect();
        assert_eq!(
            got,
            [
                (Boundary::Dedicated, Suit::Fits),
                (Boundary::Vm, Suit::Fits),
                (Boundary::Serverless, Suit::Weigh),
                (Boundary::ManagedApi, Suit::Weigh),
                (Boundary::Cluster, Suit::Weigh),
                (Boundary::Container, Suit::Unfit),
            ]
        );
        let serverless = advise(&chat()).into_iter().find(|advice| advice.boundary == Boundary::Serverless).unwrap();
        let words: Vec<_> = serverless.reasons.iter().map(|reason| reason.words(Text::of(Language::En))).collect();
        assert_eq!(
            words,
            [
                "Would suit the 68\u{202f}% of the peak capacity that is idle at mean demand.",
                "A cold start loads 15.2 GB of weights: 1.52 s even at 10 GB/s, above the TTFT limit of 500 ms.",
            ]
        );
    }

    #[test]
    fn each_fact_of_the_brief_moves_what_it_should() {
        type Case = (&'static str, fn(&mut Brief), Boundary, Suit, &'static [&'static str]);
        let cases: [Case; 11] = [
            ("no peak", |b| b.peak_rate = None, Boundary::Dedicated, Suit::Open, &["advice_no_demand"]),
            (
                "a request every half hour",
                |b| (b.mean_rate, b.peak_rate) = (Some(1.0 / 1800.0), Some(1.0)),
                Boundary::Dedicated,
                Suit::Unfit,
                &["advice_sparse", "advice_own_machine", "advice_stands_idle"],
            ),
            (
                "sparse demand stops a VM",
                |b| (b.mean_rate, b.peak_rate) = (Some(1.0 / 1800.0), Some(1.0)),
                Boundary::Vm,
                Suit::Fits,
                &["advice_vm_control", "advice_vm_stop"],
            ),
            (
                "flat demand has nothing idle",
                |b| b.peak_rate = Some(3.0),
                Boundary::Serverless,
                Suit::Unfit,
                &["advice_little_idle", "advice_cold_start"],
            ),
            (
                "a patient limit allows cold starts",
                |b| b.slo.ttft_p95_ms = Some(10_000.0),
                Boundary::Serverless,
                Suit::Fits,
                &["advice_idle_suits"],
            ),
            (
                "no limit, no advice",
                |b| b.slo.ttft_p95_ms = None,
                Boundary::Serverless,
                Suit::Open,
                &["advice_idle_suits", "advice_no_ttft"],
            ),
            (
                "nothing private, nothing pinned",
                |b| {
                    b.data_boundary.clear();
                    b.model.revision.clear();
                },
                Boundary::ManagedApi,
                Suit::Fits,
                &["advice_api_simple"],
            ),
            (
                "an answer to reclaiming",
                |b| {
                    b.data_boundary.clear();
                    b.fallback = "Queue and answer later".into();
                },
                Boundary::Container,
                Suit::Weigh,
                &["advice_reclaim_answered", "advice_disk_of_others"],
            ),
            (
                "no answer to reclaiming",
                |b| b.data_boundary.clear(),
                Boundary::Container,
                Suit::Unfit,
                &["advice_reclaim_open", "advice_disk_of_others"],
            ),
            (
                "larger than one machine",
                |b| b.model.parameters = Some(1_000_000_000_000),
                Boundary::Cluster,
                Suit::Fits,
                &["advice_needs_cluster"],
            ),
            ("size unknown", |b| b.precision = None, Boundary::Cluster, Suit::Open, &["advice_no_weights"]),
        ];
        for (case, change, boundary, want, why) in cases {
            let mut brief = chat();
            change(&mut brief);
            assert_eq!(suit(&brief, boundary), want, "{case}");
            assert_eq!(reasons(&brief, boundary), why, "{case}");
        }
    }

    #[test]
    fn every_reason_has_words_without_holes_in_both_languages() {
        let mut briefs = vec![Brief::default(), chat()];
        let mut other = chat();
        (other.mean_rate, other.peak_rate) = (Some(0.001), Some(1.0));
        other.fallback = "x".repeat(200);
        other.model.parameters = Some(u64::MAX / 1024);
        briefs.push(other);
        for text in Language::ALL.map(Text::of) {
            for reason in briefs.iter().flat_map(advise).flat_map(|advice| advice.reasons) {
                let words = reason.words(text);
                assert!(words != reason.name && !words.contains('{'), "{} {words}", reason.name);
            }
        }
    }
}
