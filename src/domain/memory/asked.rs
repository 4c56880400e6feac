//! What a brief and an offer ask of the memory model: facts, work, card, number formats.

use super::band::Band;
use super::catalogue::Catalogue;
use super::estimate::in_flight_at_peak;
use super::facts::ModelFacts;
use super::quant::{KvFormat, Scheme};
use super::rules;
use super::serve::{Card, Knobs, Setup, Work};
use crate::domain::brief::{Brief, Precision};
use crate::domain::candidate::Candidate;

/// The model's facts: the catalogue's row of the brief's model, where its name selects one, with everything that the
/// brief states in its place.
#[must_use]
pub fn facts(brief: &Brief, catalogue: &Catalogue) -> ModelFacts {
    let model = &brief.model;
    let row = catalogue.find(&model.name);
    let mut facts = row.cloned().unwrap_or_else(|| ModelFacts { model: model.name.clone(), ..ModelFacts::default() });
    for (field, stated) in [
        (&mut facts.layers, model.layers),
        (&mut facts.hidden, model.hidden),
        (&mut facts.heads, model.heads),
        (&mut facts.kv_heads, model.kv_heads),
        (&mut facts.head_dim, model.head_dim),
        (&mut facts.vocab, model.vocab),
    ] {
        *field = stated.or(*field);
    }
    if row.is_none() {
        facts.params_text_computed = model.parameters;
    }
    facts
}

/// The brief's mix of lengths, nine requests of the mean to one of the 95th percentile, none longer than the context;
/// requests in flight at its peak; and headroom as asked.
///
/// Where only one of the lengths is stated it stands alone; where none is, the context does.
#[must_use]
pub fn work(brief: &Brief, headroom: f64) -> Work {
    let context = brief.context_tokens.map_or(f64::INFINITY, f64::from);
    let length = |input: Option<u32>, output: Option<u32>| Some((f64::from(input?) + f64::from(output?)).min(context));
    let mean = length(brief.input_tokens.mean, brief.output_tokens.mean);
    let long = length(brief.input_tokens.p95, brief.output_tokens.p95);
    let lengths = match (mean, long) {
        (Some(mean), Some(long)) => vec![(mean, 0.9), (long, 0.1)],
        (Some(one), None) | (None, Some(one)) => vec![(one, 1.0)],
        (None, None) => brief.context_tokens.map(|tokens| (f64::from(tokens), 1.0)).into_iter().collect(),
    };
    Work { lengths, requests: in_flight_at_peak(brief).map_or(1.0, f64::from), headroom }
}

/// The card of an offer: the row that the promised model's name selects, else the promised memory less what drivers
/// keep for themselves (one to eight percent of what is sold).
#[must_use]
pub fn card(candidate: &Candidate) -> Card {
    let promised = &candidate.promised;
    let named = promised.gpu_model.as_deref().and_then(rules::card);
    match (named, promised.gpu_memory) {
        (Some(row), _) => Card::from(row),
        (None, Some(memory)) => {
            let bytes = memory.bytes();
            Card { memory: Some(Band::new(bytes * 0.97, bytes * 0.92, bytes * 0.995)), ..Card::UNKNOWN }
        }
        (None, None) => Card::UNKNOWN,
    }
}

/// The words that a precision has among stated quantisations.
const fn words(precision: Precision) -> (&'static str, &'static str) {
    match precision {
        Precision::Fp32 => ("", "fp32"),
        Precision::Bf16 => ("bf16", "bf16"),
        Precision::Fp16 => ("fp16", "fp16"),
        Precision::Fp8 => ("fp8", "bf16"),
        Precision::Int8 => ("int8-w8a8", "bf16"),
        Precision::Int4 => ("int4-w4a16-g128", "bf16"),
    }
}

/// A brief served by the newest vLLM on an offer, split over all its GPUs.
#[must_use]
pub fn setup<'a>(brief: &Brief, candidate: &Candidate, facts: &'a ModelFacts, headroom: f64) -> Setup<'a> {
    let base = Setup::new(facts, card(candidate));
    let scheme = brief.precision.map_or_else(
        || base.scheme.clone(),
        |precision| {
            let (quantisation, dtype) = words(precision);
            // Plain words say that nothing is quantised, whatever the facts' own checkpoint is.
            if precision == Precision::Fp32 { Scheme::plain(4.0) } else { Scheme::read(quantisation, dtype, facts) }
        },
    );
    let kv =
        brief.kv_precision.map_or(KvFormat { is_stated: false, ..KvFormat::of(scheme.plain.min(2.0)) }, |precision| {
            KvFormat::of(precision.bytes())
        });
    Setup {
        scheme,
        kv,
        tp: candidate.promised.gpu_count.filter(|count| *count > 0).unwrap_or(1),
        knobs: Knobs { max_len: brief.context_tokens, ..Knobs::default() },
        work: work(brief, headroom),
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::brief::{Lengths, Model};
    use crate::domain::fixture;
    use crate::domain::memory::serve::{Verdict, predict};
    use crate::domain::units::{SizeUnit, StatedSize};

    fn brief() -> Brief {
        Brief {
            model: Model { name: "meta-llama/Llama-3.1-8B-Instruct".to_owned(), ..Model::default() },
            precision: Some(Precision::Bf16),
            context_tokens: Some(8192),
            input_tokens: Lengths { mean: Some(1000), p95: Some(3000) },
            output_tokens: Lengths { mean: Some(200), p95: Some(600) },
            ..Brief::default()
        }
    }

    #[test]
    fn a_brief_and_an_offer_become_a_setup() {
        let brief = brief();
        let facts = facts(&brief, Catalogue::builtin());
        let mut offer = fixture::candidate("c1", Vec::new(), None);
        offer.promised.gpu_count = Some(1);
        offer.promised.gpu_model = Some("NVIDIA L4".to_owned());
        let setup = setup(&brief, &offer, &facts, 0.0);
        assert_eq!(setup.work.lengths, [(1200.0, 0.9), (3600.0, 0.1)]);
        let prediction = predict(&setup);
        assert_eq!(prediction.verdict, Some(Verdict::Fits));
        offer.promised.gpu_model = Some("a card nobody knows".to_owned());
        offer.promised.gpu_memory = Some(StatedSize { number: 12.0, unit: SizeUnit::GiB });
        let prediction = predict(&super::setup(&brief, &offer, &facts, 0.0));
        assert_eq!(prediction.verdict, Some(Verdict::DoesNotFit));
    }

    #[test]
    fn what_the_brief_states_wins() {
        let mut brief = brief();
        brief.model.layers = Some(7);
        assert_eq!(facts(&brief, Catalogue::builtin()).layers, Some(7));
        brief.model = Model { name: "own".to_owned(), parameters: Some(1_000), ..Model::default() };
        let own = facts(&brief, Catalogue::builtin());
        assert_eq!((own.model.as_str(), own.params_text_computed, own.layers), ("own", Some(1_000), None));
    }
}
