//! Laws of the engine that hold for any input. The seed is fixed, so a failure is found again.

use leasebench::domain::cost::{self, Answer, Q};
use num_bigint::BigInt;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Runs a law on 128 inputs drawn from a fixed seed.
#[track_caller]
fn holds<S: Strategy>(strategy: S, law: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[11; 32]);
    let config = Config { cases: 128, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, rng).run(&strategy, law).unwrap();
}

/// A component whose price is `{p}` times a factor: text with the price to be filled in.
fn shape() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "rate: \"{p} per hour\"",
        "rate: \"{p} per hour\", step: \"1 min\"",
        "rate: \"{p} per hour\", step: \"1 h\", minimum: \"2 h\"",
        "rate: \"{p} per GB-month\", quantity: \"200 GB\", month: \"real\"",
        "rate: \"{p} per GB-month\", quantity: \"200 GB\", month: \"720 h\"",
        "rate: \"{p} per month\", month: \"days\"",
        "rate: \"{p} per month\", month: \"capped 5 h\"",
        "rate: \"{p} per GB\", driver: used(\"out\"), allowance: (amount: \"30 GB\")",
        "rate: \"{p} once\", on: \"2026-10-03\"",
    ])
}

fn price() -> impl Strategy<Value = String> {
    (0_u32..1_000_000).prop_map(|cents| format!("{}.{:04}", cents / 10_000, cents % 10_000))
}

/// Components, then minutes that a machine ran on each of five days and gigabytes that it sent.
type World = (Vec<(&'static str, String)>, Vec<(u32, u32)>);

fn world() -> impl Strategy<Value = World> {
    (prop::collection::vec((shape(), price()), 1..6), prop::collection::vec((1_u32..1000, 0_u32..60), 5))
}

fn case(components: &[(String, String)], days: &[(u32, u32)], questions: &str) -> String {
    let components: Vec<String> = components
        .iter()
        .enumerate()
        .map(|(idx, (shape, price))| format!("(id: \"c{idx}\", {})", shape.replace("{p}", price)))
        .collect();
    let sessions: Vec<String> = days
        .iter()
        .enumerate()
        .map(|(idx, (minutes, _))| format!("(from: \"2026-10-{:02}T03:00\", lasts: \"{minutes} min\")", 30 - idx))
        .rev()
        .collect();
    let usage: Vec<String> = days
        .iter()
        .enumerate()
        .map(|(idx, (_, gb))| {
            let day = 30 - idx;
            format!("(meter: \"out\", resource: \"vm\", quantity: \"{gb} GB\", from: \"2026-10-{day:02}T03:00\", to: \"2026-10-{day:02}T04:00\")")
        })
        .collect();
    format!(
        "(id: \"t\", currency: \"USD\", zone: \"Europe/Berlin\", components: [{}], resources: [(id: \"vm\", sessions: [{}])], \
         usage: [{}], questions: [{questions}])",
        components.join(", "),
        sessions.join(", "),
        usage.join(", ")
    )
}

fn answers(text: &str) -> Vec<Answer> {
    let case = cost::read_case(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    cost::answer(&case).unwrap().answers.into_iter().map(|one| one.answer).collect()
}

fn number(answer: &Answer) -> Q {
    match answer {
        Answer::Number(value) => value.clone(),
        other => panic!("{other}"),
    }
}

fn owned(components: &[(&'static str, String)]) -> Vec<(String, String)> {
    components.iter().map(|(shape, price)| ((*shape).to_owned(), price.clone())).collect()
}

const ALL: &str = "(name: \"all\", ask: amount())";

#[test]
fn cost_scales_with_price() {
    holds((world(), 2_u32..9), |((components, days), factor)| {
        let components = owned(&components);
        let scaled: Vec<_> = components
            .iter()
            .map(|(shape, price)| {
                let digits: u64 = price.replace('.', "").parse().unwrap();
                let scaled = digits * u64::from(factor);
                (shape.clone(), format!("{}.{:04}", scaled / 10_000, scaled % 10_000))
            })
            .collect();
        let one = number(&answers(&case(&components, &days, ALL))[0]);
        let other = number(&answers(&case(&scaled, &days, ALL))[0]);
        prop_assert_eq!(one * Q::from_integer(BigInt::from(factor)), other);
        Ok(())
    });
}

#[test]
fn the_order_of_components_changes_nothing() {
    holds(world(), |(components, days)| {
        let mut components = owned(&components);
        let one = answers(&case(&components, &days, ALL));
        components.reverse();
        prop_assert_eq!(one, answers(&case(&components, &days, ALL)));
        Ok(())
    });
}

#[test]
fn the_days_of_a_range_add_up_to_it() {
    holds(world(), |(components, days)| {
        let parts: Vec<String> =
            (1..=31).map(|day| format!("(name: \"{day}\", ask: amount(day: \"2026-10-{day:02}\"))")).collect();
        let november = "(name: \"later\", ask: amount(from: \"2026-11-01\", to: \"2026-12-01\"))";
        let questions = format!("{ALL}, {}, {november}", parts.join(", "));
        let got = answers(&case(&owned(&components), &days, &questions));
        let sum = got[1..].iter().map(number).fold(Q::from_integer(BigInt::from(0)), |sum, one| sum + one);
        prop_assert_eq!(number(&got[0]), sum);
        Ok(())
    });
}

#[test]
fn a_session_cut_in_two_states_costs_the_same() {
    holds((shape(), price(), 2_u32..1000), |(shape, price, minutes)| {
        let text = |sessions: &str| {
            format!(
                "(id: \"t\", currency: \"USD\", zone: \"UTC\", components: [(id: \"c\", states: {{\"*\": \"billed\"}}, {})], \
                 resources: [(id: \"vm\", sessions: [{sessions}])], usage: [(meter: \"out\", quantity: \"40 GB\")], \
                 questions: [{ALL}])",
                shape.replace("{p}", &price)
            )
        };
        let whole = text(&format!("(from: \"2026-10-31T20:00\", lasts: \"{minutes} min\")"));
        let cut = text(&format!(
            "(from: \"2026-10-31T20:00\", pieces: [(lasts: \"1 min\"), (lasts: \"{} min\", state: \"busy\")])",
            minutes - 1
        ));
        prop_assert_eq!(answers(&whole), answers(&cut));
        Ok(())
    });
}

#[test]
fn an_unknown_never_lowers_a_total() {
    holds(world(), |(components, days)| {
        let components = owned(&components);
        let known = number(&answers(&case(&components, &days, ALL))[0]);
        let mut more = components;
        more.push(("status: unknown".to_owned(), String::new()));
        let got = answers(&case(&more, &days, ALL));
        let Answer::None(none) = &got[0] else { panic!("{}", got[0]) };
        prop_assert_eq!(none.at_least.clone(), Some(known));
        Ok(())
    });
}
