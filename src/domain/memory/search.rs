//! The smallest configuration that carries the work, and why each smaller one does not.

use super::band::Band;
use super::knobs;
use super::quant::Backend;
use super::rules::CardKind;
use super::serve::{self, Card, Prepared, RunsOut, Setup, Verdict};

/// A card that could be rented, one or several at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer<'a> {
    /// What it is called where it comes from.
    pub name: &'a str,
    /// The card.
    pub card: Card,
    /// Most of them in one machine.
    pub most: u32,
}

/// Cards of one kind with the model split over them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Configuration {
    /// Place of the offer in the list.
    pub offer: usize,
    /// GPUs that a layer is split over.
    pub tp: u32,
    /// Bytes that the work leaves free in the pool of each GPU; `None` when it cannot be known.
    pub free: Option<Band>,
    /// Requests of the work's mix that it carries.
    pub requests: Option<Band>,
    /// Memory of all its GPUs, bytes.
    pub memory: f64,
}

/// Why a configuration does not carry the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhyNot {
    /// The heads cannot be split over so many GPUs.
    Heads,
    /// It does not fit, and what runs out.
    DoesNotFit(RunsOut),
    /// It fits with less than the headroom asked for.
    LessHeadroom,
    /// Too close to call.
    TooClose,
    /// Something decisive is not known.
    NotKnown,
}

impl WhyNot {
    /// Snake-case name, for `Text`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heads => "why_not_heads",
            Self::DoesNotFit(RunsOut::Weights) => "why_not_weights",
            Self::DoesNotFit(RunsOut::Length) => "why_not_length",
            Self::DoesNotFit(RunsOut::Cache | RunsOut::Sequences) => "why_not_cache",
            Self::LessHeadroom => "why_not_headroom",
            Self::TooClose => "why_not_too_close",
            Self::NotKnown => "why_not_known",
        }
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// The configuration with the least memory in all that surely carries the work, with its headroom.
    pub smallest: Option<Configuration>,
    /// Every smaller one, smallest first, with why it does not; all of them when none carries it.
    pub smaller: Vec<(Configuration, WhyNot)>,
}

/// What tensors and layouts of a setup depend on, beside the model.
type Shape = (u32, CardKind, Option<Backend>, u64, u64);

/// Searches the offers with each of these splits; `setup`'s own card and split are not used.
///
/// Smaller means less memory in all, then fewer GPUs.
#[must_use]
pub fn smallest(setup: &Setup, offers: &[Offer], splits: &[u32]) -> Found {
    let mut all: Vec<(f64, u32, usize)> = Vec::with_capacity(offers.len() * splits.len());
    for (idx, offer) in offers.iter().enumerate() {
        let Some(memory) = offer.card.memory else { continue };
        let fitting = splits.iter().filter(|tp| (1..=offer.most.max(1)).contains(*tp));
        all.extend(fitting.map(|tp| (memory.value * f64::from(*tp), *tp, idx)));
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let mut known: Vec<(Shape, Prepared)> = Vec::new();
    let mut found = Found::default();
    let mut of = setup.clone();
    for (memory, tp, idx) in all {
        let Some(offer) = offers.get(idx) else { continue };
        (of.card, of.tp) = (offer.card, tp);
        let (configuration, why) =
            judge(&of, &mut known, Configuration { offer: idx, tp, free: None, requests: None, memory });
        match why {
            None => {
                found.smallest = Some(configuration);
                break;
            }
            Some(why) => found.smaller.push((configuration, why)),
        }
    }
    found
}

fn judge(
    setup: &Setup,
    known: &mut Vec<(Shape, Prepared)>,
    mut configuration: Configuration,
) -> (Configuration, Option<WhyNot>) {
    if !knobs::divides(setup, configuration.tp) {
        return (configuration, Some(WhyNot::Heads));
    }
    let shape =
        (setup.tp, setup.card.kind, setup.kernel(), setup.batched().value.to_bits(), setup.seqs().value.to_bits());
    let at = known.iter().position(|(of, _)| *of == shape).unwrap_or_else(|| {
        known.push((shape, serve::prepare(setup)));
        known.len() - 1
    });
    let Some((_, prepared)) = known.get(at) else { return (configuration, Some(WhyNot::NotKnown)) };
    let prediction = serve::predict_with(setup, prepared);
    (configuration.free, configuration.requests) = (prediction.free, prediction.capacity_requests);
    let why = match prediction.verdict {
        Some(Verdict::Fits) => None,
        Some(Verdict::FitsWithLess) => Some(WhyNot::LessHeadroom),
        Some(Verdict::TooClose) => Some(WhyNot::TooClose),
        Some(Verdict::DoesNotFit) => Some(WhyNot::DoesNotFit(prediction.runs_out.unwrap_or(RunsOut::Weights))),
        None => Some(WhyNot::NotKnown),
    };
    (configuration, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::memory::Catalogue;
    use crate::domain::memory::rules;
    use crate::domain::memory::serve::{Knobs, Work};

    fn offers() -> Vec<Offer<'static>> {
        let rentable = rules::cards().iter().filter(|card| card.is_rentable);
        rentable.map(|card| Offer { name: &card.name, card: Card::from(card), most: 8 }).collect()
    }

    #[test]
    fn the_smallest_that_carries_the_work_and_why_others_do_not() {
        let facts = Catalogue::builtin().find("Qwen/Qwen3-32B").unwrap();
        let setup = Setup {
            knobs: Knobs { max_len: Some(8192), ..Knobs::default() },
            work: Work { lengths: vec![(4096.0, 1.0)], requests: 8.0, headroom: 0.0 },
            ..Setup::new(facts, Card::UNKNOWN)
        };
        let offers = offers();
        let found = smallest(&setup, &offers, &[1, 2, 4, 8]);
        let smallest = found.smallest.unwrap();
        // 61 GiB of weights: no single card below 80 GB carries them with a cache.
        assert!(smallest.memory > 66.0 * 1.074e9 && smallest.memory < 200.0 * 1.074e9, "{smallest:?}");
        assert!(found.smaller.iter().all(|(smaller, _)| smaller.memory <= smallest.memory));
        let one = found.smaller.iter().find(|(smaller, _)| smaller.tp == 1).unwrap();
        assert_eq!(one.1, WhyNot::DoesNotFit(RunsOut::Weights));
    }

    #[test]
    fn an_unknown_model_fits_nowhere_and_says_so() {
        let facts = crate::domain::memory::ModelFacts::default();
        let found = smallest(&Setup::new(&facts, Card::UNKNOWN), &offers(), &[1, 2]);
        assert_eq!(found.smallest, None);
        assert!(found.smaller.iter().all(|(_, why)| *why == WhyNot::NotKnown));
        assert_eq!(found.smaller.len(), 2 * offers().len());
    }

    #[test]
    fn ten_thousand_configurations_are_searched() {
        let facts = Catalogue::builtin().find("meta-llama/Meta-Llama-3.1-405B").unwrap();
        let setup = Setup {
            work: Work { lengths: vec![(4096.0, 1.0)], requests: 1e9, headroom: 0.0 },
            ..Setup::new(facts, Card::UNKNOWN)
        };
        let base = offers();
        let offers: Vec<Offer> = base.iter().cycle().take(2500).copied().collect();
        let found = smallest(&setup, &offers, &[1, 2, 4, 8]);
        assert_eq!((found.smallest, found.smaller.len()), (None, 10_000));
    }
}
