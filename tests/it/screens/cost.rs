//! Step 7, pressed and read on the sample project: practice runs of three offers.

use std::path::Path;

use egui::Key;
use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use leasebench::app::command::{Command, Layer, Screen};
use leasebench::domain::billing::Status;
use leasebench::domain::compare::breakeven::Who;
use leasebench::domain::compare::declared::{ApiOffer, CostPlan};
use leasebench::domain::compare::tell::Teller;
use leasebench::domain::text::{Language, Text};
use leasebench::project::edit::Edit;
use leasebench::project::plan::Plan;

use super::brief::{fill, press};
use super::pictures::picture;
use super::{Setup, TestWindow, looks};

/// Room for the whole screen: what is scrolled away cannot be pressed.
const WHOLE: [f32; 2] = [1440.0, 2600.0];

/// The sample project, at the Cost step.
fn sample(setup: Setup, folder: &Path) -> TestWindow {
    let mut window = super::sample(setup, folder);
    window.harness.state_mut().app_mut().command(Command::Go(Screen::Cost));
    window.harness.run_ok();
    window
}

fn api() -> CostPlan {
    let api = ApiOffer {
        name: "Token API".into(),
        input: "0.20 USD".parse().ok(),
        output: "0.60 USD".parse().ok(),
        ..ApiOffer::default()
    };
    CostPlan { api: Some(api), ranges: Vec::new(), rates: Vec::new() }
}

fn edit(window: &mut TestWindow, edit: Edit) {
    window.harness.state_mut().app_mut().command(Command::Edit(edit));
    window.harness.run_ok();
}

fn plan(window: &TestWindow) -> Plan {
    (*window.harness.state().app().state().project.as_ref().unwrap().plan).clone()
}

fn says(window: &TestWindow, words: &str) -> bool {
    window.harness.query_all_by_label_contains(words).next().is_some()
}

/// The value of the large figure of a candidate, as a screen reader says it.
fn figures(window: &TestWindow, what: &str) -> Vec<String> {
    window.harness.query_all_by_label_contains(what).filter_map(|node| node.accesskit_node().label()).collect()
}

fn trace(window: &TestWindow) -> (String, String) {
    let trace = window.harness.state().app().state().view.trace.clone().unwrap();
    (trace.title, trace.formula)
}

#[test]
fn every_card_is_there_in_both_languages_and_themes() {
    for (language, theme) in looks() {
        let folder = tempfile::tempdir().unwrap();
        let mut window = sample(Setup { language, theme, size: WHOLE, ..Setup::default() }, folder.path());
        edit(&mut window, Edit::PutCost(Box::new(api())));
        let words = &Text::of(language).cost;
        for heading in [&words.parts_title, &words.whatif, &words.tornado] {
            assert!(
                window.harness.query_by_role_and_label(Role::Heading, heading).is_some(),
                "{language:?}: {heading}"
            );
        }
        for label in [&words.units_row, &words.utilisation, &words.whatif_note, &words.hybrid_shape, &words.stopped_day]
        {
            assert!(says(&window, label), "{language:?}: {label}");
        }
        let n = figures(&window, &words.stopped_day).len();
        assert!(n >= 3, "a day when stopped for each of the three: {n}");
    }
}

#[test]
fn the_toggle_shows_the_cost_at_full_load() {
    for language in Language::ALL {
        let folder = tempfile::tempdir().unwrap();
        let mut window = sample(Setup { language, size: WHOLE, ..Setup::default() }, folder.path());
        let text = Text::of(language);
        let state = window.harness.state().app().state();
        let cost = &state.derived.candidates[2].cost;
        let figure = |answer: &leasebench::domain::figure::Answer<leasebench::domain::money::Exact>| {
            answer.as_ref().unwrap().value.show_significant(4)
        };
        let (brief, full) = (figure(&cost.per_thousand), figure(&cost.full_use_per_thousand));
        let million = figure(&cost.full_use_per_million);
        assert_ne!(brief, full);
        let title =
            leasebench::domain::text::fill(&text.cost.traced_per_thousand, &[("candidate", "Candidate C".into())]);
        assert!(says(&window, &format!("{title} {brief} USD")), "{language:?}");
        press(&mut window, Role::Button, &text.cost.load_full);
        let title = leasebench::domain::text::fill(&text.cost.traced_full, &[("title", title)]);
        assert!(says(&window, &format!("{title} {full} USD")), "{language:?}");
        assert!(says(&window, &text.cost.full_use_note));
        press(&mut window, Role::Button, &text.cost.view_million);
        assert!(says(&window, &format!("{million} USD")), "{language:?}");
        press(&mut window, Role::Button, &text.cost.load_brief);
        assert!(!says(&window, &text.cost.full_use_note));
    }
}

#[test]
fn sliders_change_what_is_shown_and_never_the_plan() {
    for language in Language::ALL {
        let folder = tempfile::tempdir().unwrap();
        let mut window = sample(Setup { language, size: WHOLE, ..Setup::default() }, folder.path());
        let words = &Text::of(language).cost;
        let before = plan(&window);
        let derived = window.harness.state().app().state().derived.break_even.clone();
        assert!(!says(&window, &words.not_record));
        window.harness.get_by_role_and_label(Role::Slider, &words.whatif_rate).focus();
        window.harness.run_ok();
        for _ in 0..26 {
            window.harness.key_press(Key::ArrowRight);
        }
        window.harness.run_ok();
        assert!(says(&window, &words.not_record), "{language:?}");
        // Twice the mean and the peak: C needs two units, each at what one cost before.
        let row = leasebench::domain::text::fill(&words.whatif_row, &[("candidate", "Candidate C".into())]);
        let unit = window.harness.state().app().state().derived.candidates[2].cost.per_thousand.clone().unwrap();
        let want = format!("{row} {} USD", unit.value.show_significant(4));
        assert!(says(&window, &want), "{want}: {:?}", figures(&window, &row));
        assert!(says(&window, "719.60 USD"), "two units a month");
        assert_eq!(plan(&window), before, "the plan is as it was");
        assert_eq!(window.harness.state().app().state().derived.break_even, derived, "and so is the record");
        press(&mut window, Role::Button, &words.reset);
        assert!(!says(&window, &words.not_record));
        assert!(figures(&window, &row).is_empty());
    }
}

#[test]
fn an_api_is_declared_compared_and_removed() {
    for (language, theme) in looks() {
        let folder = tempfile::tempdir().unwrap();
        let mut window = sample(Setup { language, theme, size: WHOLE, ..Setup::default() }, folder.path());
        let text = Text::of(language);
        let words = &text.cost;
        press(&mut window, Role::Link, &words.api_edit);
        fill(&mut window, &words.api_name, "Token API");
        fill(&mut window, &words.api_input, "two");
        let keep = window.harness.get_by_role_and_label(Role::Button, &words.api_keep);
        assert!(keep.accesskit_node().is_disabled(), "no price, nothing to keep");
        fill(&mut window, &words.api_input, "0.20");
        fill(&mut window, &words.api_output, "0.60 USD");
        press(&mut window, Role::Button, &words.api_keep);
        assert_eq!(plan(&window).cost, api());
        let state = window.harness.state().app().state();
        let of = state.derived.break_even.clone().unwrap();
        let plan_now = plan(&window);
        let teller = Teller { text, candidates: &plan_now.candidates, declared: &plan_now.cost };
        assert!(of.pairs.iter().any(|pair| pair.crossings.len() == 1 && pair.lower == Who::Api), "{:?}", of.pairs);
        for pair in &of.pairs {
            assert!(says(&window, &teller.pair(pair, &of.up_to)), "{}", teller.pair(pair, &of.up_to));
        }
        assert!(says(&window, &teller.lowest_paragraph(&of)));
        let (at, _) = of.nearest_change().unwrap();
        let derived = &text.common.derived;
        press(&mut window, Role::Button, &format!("{} {}, {derived}", words.break_even, teller.demand(&at.value)));
        assert_eq!(trace(&window), (words.break_even.clone(), "cost_lower(n) = cost_higher(n)".into()));
        window.harness.key_press(Key::Escape);
        window.harness.run_ok();
        press(&mut window, Role::Link, &words.api_edit);
        press(&mut window, Role::Button, &words.api_remove);
        assert_eq!(plan(&window).cost, CostPlan::default());
    }
}

#[test]
fn a_part_without_a_price_says_from_where_on_it_matters_and_takes_a_range() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = sample(Setup { size: WHOLE, ..Setup::default() }, folder.path());
    let words = &Text::of(Language::En).cost;
    let mut candidate = plan(&window).candidates[2].clone();
    let line = candidate.billing.iter_mut().find(|line| line.status == Status::NotApplicable).unwrap();
    line.status = Status::Unknown;
    edit(&mut window, Edit::PutCandidate(Box::new(candidate)));
    let state = window.harness.state().app().state();
    let open = state.derived.sensitivity.as_ref().unwrap().open.clone();
    let [open] = open.as_slice() else { panic!("one part: {open:?}") };
    let above = open.reverses_above.as_ref().unwrap();
    assert!(says(&window, &format!("reverses above {} USD a month", above.show())));
    assert!(says(&window, "4 priced, 0 included, 1 unknown"), "{:?}", figures(&window, "unknown"));
    fill(&mut window, &words.range_low, "10");
    fill(&mut window, &words.range_high, "5000");
    press(&mut window, Role::Button, &words.range_set);
    let ranges = plan(&window).cost.ranges;
    let [range] = ranges.as_slice() else { panic!("one range") };
    assert_eq!((range.low.to_string(), range.high.to_string()), ("10 USD".into(), "5000 USD".into()));
    let of = window.harness.state().app().state().derived.sensitivity.clone().unwrap();
    assert!(of.open.is_empty() && of.swings.first().unwrap().reverses(), "{:?}", of.swings);
    assert!(says(&window, "Alone enough to put Candidate B below Candidate C"));
    let forget = figures(&window, "Forget the range of");
    press(&mut window, Role::Link, forget.first().unwrap());
    assert!(plan(&window).cost.ranges.is_empty());
}

#[test]
fn utilisation_follows_and_is_traced() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = sample(Setup { size: WHOLE, ..Setup::default() }, folder.path());
    let words = &Text::of(Language::En).cost;
    for (label, formula) in [
        (&words.utilisation, "mean_rate ÷ (units × capacity_per_sec)"),
        (&words.units_row, "ceil(peak_rate ÷ step_rate)"),
    ] {
        let found = figures(&window, &format!("Candidate C, {label}"));
        press(&mut window, Role::Button, found.first().unwrap());
        assert_eq!(trace(&window).1, formula);
        window.harness.key_press(Key::Escape);
        window.harness.run_ok();
    }
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_the_cost() {
    for (language, theme) in looks() {
        for (name, size) in
            [("cost-whole", [1440.0, 2000.0]), ("cost-small", [1280.0, 1700.0]), ("cost-wide", [1920.0, 1500.0])]
        {
            let folder = tempfile::tempdir().unwrap();
            let mut window = sample(Setup { language, theme, size, ..Setup::default() }, folder.path());
            picture(&mut window, &format!("{name}-plain"), language, theme);
            edit(&mut window, Edit::PutCost(Box::new(api())));
            let mut candidate = plan(&window).candidates[1].clone();
            candidate.billing.last_mut().unwrap().status = Status::Unknown;
            edit(&mut window, Edit::PutCandidate(Box::new(candidate)));
            let text = Text::of(language);
            let slider = window.harness.get_by_role_and_label(Role::Slider, &text.cost.whatif_rate);
            slider.focus();
            window.harness.run_ok();
            for _ in 0..8 {
                window.harness.key_press(Key::ArrowRight);
            }
            window.harness.run_ok();
            picture(&mut window, name, language, theme);
            window.harness.state_mut().app_mut().command(Command::Show(Layer::ManagedApi));
            picture(&mut window, &format!("{name}-api"), language, theme);
        }
    }
}
