//! Step 3, pressed and read.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use leasebench::app::command::{Command, Layer, Screen, ThemeChoice};
use leasebench::domain::billing::{Category, Component, Per, Status};
use leasebench::domain::candidate::Candidate;
use leasebench::domain::ids::CandidateId;
use leasebench::domain::questions::letter;
use leasebench::domain::text::{Language, Text};
use leasebench::project::plan::Plan;

use super::brief::{fill, press};
use super::{Setup, TestWindow, looks, plans, window};

fn open(plan: Plan) -> TestWindow {
    window(Setup { plan: Some(plan), commands: vec![Command::Go(Screen::Candidates)], ..Setup::default() })
}

fn plan(window: &TestWindow) -> Plan {
    (*window.harness.state().app().state().project.as_ref().unwrap().plan).clone()
}

fn candidate(window: &TestWindow, id: &str) -> Candidate {
    plan(window).candidate(&CandidateId(id.into())).unwrap().clone()
}

fn layers(window: &TestWindow) -> Vec<Layer> {
    window.harness.state().app().state().view.layers.clone()
}

fn says(window: &TestWindow, words: &str) -> bool {
    window.harness.query_all_by_label_contains(words).next().is_some()
}

#[test]
fn the_empty_step_adds_the_first_offer() {
    for (language, theme) in looks() {
        let text = Text::of(language);
        let plan = Some(plans::with_brief(plans::full_brief()));
        let commands = vec![Command::Go(Screen::Candidates)];
        let mut window = window(Setup { language, theme, plan, commands, ..Setup::default() });
        assert!(says(&window, &text.candidates.empty));
        press(&mut window, Role::Button, &text.candidates.add);
        assert_eq!(layers(&window), [Layer::Candidate]);
        fill(&mut window, text.name("gpu_model"), "H200 云");
        fill(&mut window, &text.candidates.label_gpu_memory, "141 GB");
        press(&mut window, Role::Button, &text.candidates.done);
        assert_eq!(layers(&window), []);
        let added = candidate(&window, "c1");
        assert_eq!(added.promised.gpu_model.as_deref(), Some("H200 云"));
        assert_eq!(added.promised.gpu_memory.unwrap().to_string(), "141 GB");
        assert!(says(&window, "H200 云"));
    }
}

#[test]
fn the_line_under_the_title_is_the_finding() {
    let mut window = open(plans::with_candidates());
    // C needs no term, D has two parts without a price.
    assert!(says(&window, "3 of 4 offers are fully priced."), "{:?}", window.harness);
    window.harness.state_mut().app_mut().command(Command::SelectCandidate(Some(CandidateId("c4".into()))));
    window.harness.run_ok();
    assert!(says(&window, "Candidate D has 2 unpriced parts"));
    assert!(says(&window, "It stays out of the cost comparison until then."));
}

#[test]
fn what_is_not_stated_stands_out_and_its_cell_opens_the_field() {
    let mut window = open(plans::with_candidates());
    press(&mut window, Role::Cell, "Candidate D, Can be taken back, not stated");
    assert_eq!(layers(&window), [Layer::Candidate]);
    assert!(window.harness.get_by_role_and_label(Role::ComboBox, "Can be taken back").is_focused());
    press(&mut window, Role::ComboBox, "Can be taken back");
    press(&mut window, Role::Button, "no");
    assert_eq!(candidate(&window, "c4").term.reclaimable, Some(false));
    window.harness.key_press(egui::Key::Escape);
    window.harness.run_ok();
    assert!(says(&window, "Candidate D, Can be taken back, no"));
}

#[test]
fn a_head_selects_and_shows_that_billing() {
    let mut window = open(plans::with_candidates());
    assert!(says(&window, "Billing of Candidate A"));
    press(&mut window, Role::ColumnHeader, "Candidate B");
    assert!(says(&window, "Billing of Candidate B"));
    // 1,150 + 60 + 90 over six months.
    press(&mut window, Role::Button, "Candidate B, Month of 730 h 1,225.00 USD, Derived");
    let trace = window.harness.state().app().state().view.trace.clone().unwrap();
    assert_eq!((trace.value.as_str(), trace.formula.as_str()), ("1,225.00 USD", "Σ components"));
    assert_eq!(trace.inputs.len(), 3);
}

#[test]
fn a_component_is_added_changed_and_removed() {
    let mut window = open(plans::with_candidates());
    press(&mut window, Role::Link, "Add component…");
    press(&mut window, Role::ComboBox, "What it pays for");
    press(&mut window, Role::Button, "Snapshots");
    fill(&mut window, "Provider's words for it", "Daily backup");
    fill(&mut window, "Price of one unit", "0.05");
    fill(&mut window, "Units needed", "500");
    press(&mut window, Role::Button, "Keep");
    let backup = |window: &TestWindow| candidate(window, "c1").billing.get(3).cloned();
    let added = backup(&window).unwrap();
    assert_eq!((added.category, added.label.as_str()), (Category::Snapshot, "Daily backup"));
    let Status::Priced(rate) = &added.status else { panic!("{added:?}") };
    assert_eq!((rate.price.to_string(), rate.per, rate.quantity), ("0.05 USD".into(), Per::GbMonth, 500.into()));
    press(&mut window, Role::Row, "Daily backup, per GB-month × 500 0.05 not stated");
    press(&mut window, Role::ComboBox, "Price");
    press(&mut window, Role::Button, "Not stated");
    press(&mut window, Role::Button, "Keep");
    assert_eq!(backup(&window).unwrap().status, Status::Unknown);
    press(&mut window, Role::Row, "Daily backup, Snapshots not stated not stated");
    // Edits of one candidate within a second are one step; removing shall be a step of its own here.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    press(&mut window, Role::Button, "Remove component");
    assert_eq!(backup(&window), None);
    window.harness.state_mut().app_mut().command(Command::Undo);
    assert!(backup(&window).is_some(), "removing can be undone");
}

#[test]
fn a_bad_price_says_so_and_is_not_kept() {
    let mut window = open(plans::with_candidates());
    let before: Vec<Component> = candidate(&window, "c1").billing;
    press(&mut window, Role::Row, "GPU VM, per hour 2.89 no");
    fill(&mut window, "Price of one unit", "two dollars");
    assert!(says(&window, "\"two dollars\" is not an amount"));
    assert!(window.harness.get_by_role_and_label(Role::Button, "Keep").accesskit_node().is_disabled());
    let field = window.harness.get_by_role_and_label(Role::TextInput, "Price of one unit");
    assert_eq!(field.value().as_deref(), Some("two dollars"));
    fill(&mut window, "Price of one unit", "3.10 EUR");
    press(&mut window, Role::Button, "Cancel");
    assert_eq!(candidate(&window, "c1").billing, before);
}

#[test]
fn two_currencies_have_no_month_and_say_why() {
    let mut window = open(plans::with_candidates());
    press(&mut window, Role::Row, "Boot volume, per month 60.00 billed");
    fill(&mut window, "Price of one unit", "55 EUR");
    press(&mut window, Role::Button, "Keep");
    assert!(says(&window, "Candidate A has no month total"));
    assert!(says(&window, "EUR"));
}

#[test]
fn a_pasted_offer_is_kept_word_for_word() {
    let mut window = open(plans::with_candidates());
    press(&mut window, Role::Button, "Paste an offer…");
    let words = "8x H100 SXM, 19.60/h\n云主机";
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text of the offer").focus();
    window.harness.run_ok();
    window.harness.event(egui::Event::Paste(words.into()));
    window.harness.run_ok();
    fill(&mut window, "Who said it", "quote 17");
    press(&mut window, Role::Button, "Keep");
    let added = candidate(&window, "c5");
    assert_eq!((added.name.as_str(), added.series), ("Candidate E", 4));
    assert_eq!((added.source.text.as_str(), added.source.who.as_str()), (words, "quote 17"));
    assert_eq!(layers(&window), [Layer::Candidate], "its fields are filled in beside the text");
}

#[test]
fn a_candidate_is_removed_and_comes_back() {
    let mut window = open(plans::with_candidates());
    press(&mut window, Role::Button, "Edit Candidate A…");
    press(&mut window, Role::Button, "Remove Candidate A");
    assert_eq!(plan(&window).candidates.len(), 3);
    assert!(says(&window, "Billing of Candidate B"), "the next one is shown");
    window.harness.state_mut().app_mut().command(Command::Undo);
    window.harness.run_ok();
    assert_eq!(plan(&window), plans::with_candidates());
}

#[test]
fn questions_are_copied_in_either_language() {
    let mut window = open(plans::with_candidates());
    press(&mut window, Role::ColumnHeader, "Candidate D");
    let offer = candidate(&window, "c4");
    for (button, language) in [("Copy in English", Language::En), ("Copy in Chinese", Language::ZhHans)] {
        window.harness.get_by_role_and_label(Role::Button, button).scroll_to_me();
        window.harness.run_ok();
        window.harness.get_by_role_and_label(Role::Button, button).click();
        let mut copied = None;
        for _ in 0..4 {
            window.harness.step();
            for command in &window.harness.output().platform_output.commands {
                if let egui::OutputCommand::CopyText(words) = command {
                    copied = Some(words.clone());
                }
            }
        }
        assert_eq!(copied, Some(letter(&offer, Text::of(language))));
    }
}

#[test]
fn every_boundary_has_its_advice() {
    let window = open(plans::with_candidates());
    for words in ["Dedicated machine", "Serverless", "Managed API", "Requests come all month, 2.6 a second on average."]
    {
        assert!(says(&window, words), "{words}");
    }
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures");
    std::fs::create_dir_all(&folder).unwrap();
    for (language, theme) in looks() {
        let size = if theme == ThemeChoice::Light { [1440.0, 900.0] } else { [1280.0, 800.0] };
        for (name, layer, id) in
            [("table", None, "c2"), ("edit", Some(Layer::Candidate), "c4"), ("offer", Some(Layer::PasteOffer), "c1")]
        {
            let mut commands =
                vec![Command::Go(Screen::Candidates), Command::SelectCandidate(Some(CandidateId(id.into())))];
            commands.extend(layer.map(Command::Show));
            let plan = Some(plans::with_candidates());
            let mut window = window(Setup { language, theme, size, plan, commands });
            let file = format!("candidates-{name}-{theme:?}-{}.png", language.tag()).to_lowercase();
            window.harness.render().unwrap().save(folder.join(&file)).unwrap();
            if layer.is_none() {
                press(&mut window, Role::Link, &Text::of(language).candidates.add_component);
                window.harness.render().unwrap().save(folder.join(file.replace("table", "component"))).unwrap();
            }
        }
    }
}
