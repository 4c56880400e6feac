//! Laws that hold for any input. The seed is fixed, so a failure is found again.

use leasebench::domain::billing::{Category, Component, Per, Rate, Status};
use leasebench::domain::brief::{Brief, Model, Precision, Slo, brief_digest};
use leasebench::domain::candidate::{Candidate, OfferSource, Promised, Term};
use leasebench::domain::compare::month::month_cost;
use leasebench::domain::ids::{CandidateId, ComponentId};
use leasebench::domain::memory::MemoryPlan;
use leasebench::domain::memory::offer::{self, Case};
use leasebench::domain::money::{Money, ratio};
use leasebench::domain::terms::Terms;
use leasebench::domain::units::{SizeUnit, StatedSize};
use leasebench::domain::{interval, stats};
use leasebench::project::edit::Edit;
use leasebench::project::history::History;
use leasebench::project::plan::Plan;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rust_decimal::Decimal;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Runs a law on 256 inputs drawn from a fixed seed.
#[track_caller]
fn holds<S: Strategy>(strategy: S, law: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, rng).run(&strategy, law).unwrap();
}

/// A price with up to four decimals.
fn price() -> impl Strategy<Value = Decimal> {
    (0_i64..10_000_000, 0_u32..=4).prop_map(|(mantissa, scale)| Decimal::new(mantissa, scale))
}

fn component() -> impl Strategy<Value = Component> {
    let per = prop::sample::select(Per::ALL.to_vec());
    let category = prop::sample::select(Category::ALL.to_vec());
    (price(), 0_i64..5_000, per, category).prop_map(|(amount, quantity, per, category)| Component {
        id: ComponentId("b1".into()),
        category,
        label: String::new(),
        status: Status::Priced(Rate { price: Money { amount, ..money() }, per, quantity: Decimal::from(quantity) }),
        when_stopped: Some(false),
        terms: Terms::default(),
    })
}

fn money() -> Money {
    "0 USD".parse().unwrap()
}

fn term() -> Term {
    Term { months: Some(7), ..Term::default() }
}

fn month(billing: &[Component]) -> num_rational::BigRational {
    month_cost(billing, &term(), Decimal::from(730)).total.unwrap().value.amount
}

#[test]
fn cost_scales_with_price_exactly() {
    holds((prop::collection::vec(component(), 1..8), price()), |(billing, factor)| {
        let scaled: Vec<Component> = billing
            .iter()
            .cloned()
            .map(|mut component| {
                if let Status::Priced(rate) = &mut component.status {
                    rate.price.amount *= factor;
                }
                component
            })
            .collect();
        prop_assert_eq!(month(&scaled), month(&billing) * ratio(factor));
        Ok(())
    });
}

#[test]
fn the_order_of_components_does_not_matter() {
    holds(prop::collection::vec(component(), 1..8), |billing| {
        let mut reversed = billing.clone();
        reversed.reverse();
        prop_assert_eq!(month(&billing), month(&reversed));
        let apart = billing.iter().map(|one| month(std::slice::from_ref(one))).reduce(|a, b| a + b).unwrap();
        prop_assert_eq!(month(&billing), apart, "each component counts once");
        Ok(())
    });
}

#[test]
fn a_percentile_lies_in_its_interval() {
    holds(prop::collection::vec(0.0..1e4_f64, 1..2_000), |mut samples| {
        samples.sort_by(f64::total_cmp);
        let at = stats::percentile(&samples, 0.95).unwrap();
        if let Some((low, high)) = interval::percentile(&samples, 0.95) {
            prop_assert!(samples[0] <= low && low <= at && at <= high && high <= samples[samples.len() - 1]);
        }
        Ok(())
    });
}

#[test]
fn a_share_lies_in_its_interval() {
    holds((0_u64..100_000, 1_u64..100_000), |(hits, n)| {
        let hits = hits.min(n);
        let (low, high) = interval::wilson(hits, n).unwrap();
        let share = hits as f64 / n as f64;
        prop_assert!(0.0 <= low && low <= share + 1e-12 && share <= high + 1e-12 && high <= 1.0);
        Ok(())
    });
}

fn candidate(gib: f64, gpus: u32) -> Candidate {
    Candidate {
        id: CandidateId("c1".into()),
        series: 0,
        name: String::new(),
        short: String::new(),
        promised: Promised {
            gpu_count: Some(gpus),
            gpu_memory: Some(StatedSize { number: gib, unit: SizeUnit::GiB }),
            ..Promised::default()
        },
        billing: Vec::new(),
        term: Term::default(),
        source: OfferSource::default(),
    }
}

#[test]
fn memory_adds_up_and_capacity_is_what_fits() {
    let shape = (1_u64..500_000_000_000, 1_u32..128, 1_u32..64, 32_u32..256);
    holds(
        (shape, 8.0..200.0_f64, 1_u32..8, 1_u32..500, 1_u32..131_072),
        |((parameters, layers, heads, dim), gib, gpus, in_flight, context)| {
            let model = Model {
                parameters: Some(parameters),
                layers: Some(layers),
                kv_heads: Some(heads),
                head_dim: Some(dim),
                hidden: Some(heads * dim),
                vocab: Some(50_000),
                ..Model::default()
            };
            let slo = Slo { e2e_p95_ms: Some(1000.0), ..Slo::default() };
            let brief = Brief { model, precision: Some(Precision::Bf16), slo, ..Brief::default() };
            let (plan, candidate) = (MemoryPlan::default(), candidate(gib, gpus));
            let of = |in_flight: u32| {
                // A second each, at so many a second: so many at once.
                let brief =
                    Brief { peak_rate: Some(f64::from(in_flight)), context_tokens: Some(context), ..brief.clone() };
                let case = Case { brief: &brief, plan: &plan, candidate: &candidate, found: None, calibration: None };
                offer::estimate(&case).unwrap().value
            };
            let estimate = of(in_flight);
            let sum = estimate.need().value + estimate.free.value;
            prop_assert!((sum - estimate.limit.value).abs() <= 1e-6 * sum.abs().max(estimate.limit.value));
            prop_assert!(estimate.free.low <= estimate.free.value && estimate.free.value <= estimate.free.high);
            prop_assert!(of(in_flight + 1).free.value < estimate.free.value, "one more request takes memory");
            let capacity = estimate.serving.as_ref().unwrap().capacity;
            prop_assert!(capacity.low <= capacity.value && capacity.value <= capacity.high);
            let fits = capacity.value.floor();
            if (1.0..1e6).contains(&fits) {
                let fits = fits as u32;
                // A block of rounding is not a request.
                let block = 16.0 * estimate.serving.as_ref().unwrap().token_bytes;
                prop_assert!(of(fits).free.value >= -block);
                prop_assert!(of(fits + 1).free.value <= block);
            }
            Ok(())
        },
    );
}

#[test]
fn undo_then_redo_is_nothing() {
    holds(prop::collection::vec("[a-z]{0,6}", 1..20), |names| {
        let mut history = History::default();
        let start = Instant::now();
        let mut plan = Arc::new(Plan::default());
        let mut seen = vec![Arc::clone(&plan)];
        for (idx, name) in names.into_iter().enumerate() {
            // Two seconds apart, so that no two edits are one step.
            let at = start + Duration::from_secs(2 * idx as u64);
            plan = history.edit(&plan, Edit::Rename(name), at);
            seen.push(Arc::clone(&plan));
        }
        for before in seen.iter().rev().skip(1) {
            plan = history.undo(&plan).unwrap();
            prop_assert_eq!(&plan, before);
        }
        for after in seen.iter().skip(1) {
            plan = history.redo(&plan).unwrap();
            prop_assert_eq!(&plan, after);
        }
        Ok(())
    });
}

#[test]
fn a_plan_reads_back_as_it_was_written() {
    let words = "\\PC{0,40}";
    holds(
        (words, words, prop::collection::vec(component(), 0..4), prop::option::of(0.001..1e4_f64)),
        |(name, outcome, billing, rate)| {
            let brief = Brief { outcome, mean_rate: rate, ..Brief::default() };
            let mut candidate = candidate(80.0, 1);
            candidate.billing = billing;
            let plan = Plan { name, brief, candidates: vec![candidate], ..Plan::default() };
            let text = ron::ser::to_string_pretty(&plan, ron::ser::PrettyConfig::new()).unwrap();
            let back: Plan = ron::from_str(&text).unwrap();
            prop_assert_eq!(brief_digest(&back.brief), brief_digest(&plan.brief));
            prop_assert_eq!(back, plan);
            Ok(())
        },
    );
}
