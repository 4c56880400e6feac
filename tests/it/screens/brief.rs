//! Step 1, pressed and read.

use std::path::Path;

use egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use leasebench::app::command::{Command, Layer};
use leasebench::domain::brief::{AcceptRule, Brief};
use leasebench::domain::text::{Language, Text};

use super::{Setup, TestWindow, looks, plans, window};

fn open(brief: Brief) -> TestWindow {
    window(Setup { plan: Some(plans::with_brief(brief)), ..Setup::default() })
}

fn brief(window: &TestWindow) -> Brief {
    window.harness.state().app().state().project.as_ref().unwrap().plan.brief.clone()
}

/// Writes into the field with this label and leaves it.
pub fn fill(window: &mut TestWindow, label: &str, words: &str) {
    let harness = &mut window.harness;
    harness.get_by_role_and_label(Role::TextInput, label).focus();
    harness.run_ok();
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::A);
    harness.run_ok();
    harness.get_by_role_and_label(Role::TextInput, label).type_text(words);
    harness.run_ok();
    harness.key_press(egui::Key::Tab);
    harness.run_ok();
}

pub fn press(window: &mut TestWindow, role: Role, label: &str) {
    // What a person cannot see cannot be pressed.
    window.harness.get_by_role_and_label(role, label).scroll_to_me();
    window.harness.run_ok();
    window.harness.get_by_role_and_label(role, label).click();
    window.harness.run_ok();
}

#[test]
fn what_is_typed_becomes_the_brief_in_both_languages_and_themes() {
    for (language, theme) in looks() {
        let plan = Some(plans::with_brief(Brief::default()));
        let mut window = window(Setup { language, theme, plan, ..Setup::default() });
        let text = Text::of(language);
        fill(&mut window, text.name("outcome"), "Answer 云 questions");
        fill(&mut window, text.name("peak_rate"), "8");
        fill(&mut window, &text.brief.output_p95, "1,560");
        fill(&mut window, text.name("slo_error_share"), "0.7");
        fill(&mut window, text.name("budget_month"), "1,500.00");
        let got = brief(&window);
        assert_eq!(got.outcome, "Answer 云 questions");
        assert_eq!((got.peak_rate, got.output_tokens.p95), (Some(8.0), Some(1560)));
        assert!((got.slo.error_share.unwrap() - 0.007).abs() < 1e-12);
        assert_eq!(got.budget_month.unwrap().to_string(), "1500.00 USD");
        window.harness.state_mut().app_mut().command(Command::Undo);
        assert_eq!(brief(&window).budget_month, None);
    }
}

#[test]
fn bad_input_says_so_under_the_field_and_loses_nothing() {
    let mut window = open(plans::full_brief());
    let before = brief(&window);
    for (label, words, error) in [
        ("Peak arrival rate", "eight", "\"eight\" is not a number"),
        ("Context length", "0", "Must be between 1 and 100,000,000"),
        ("Error rate, at most", "200", "Must be between 0 and 100"),
        ("Month counted as", "900", "Must be between 1 and 744"),
        ("Budget a month", "cheap", "\"cheap\" is not an amount"),
    ] {
        fill(&mut window, label, words);
        assert!(window.harness.query_by_label(error).is_some(), "{error}");
        let field = window.harness.get_by_role_and_label(Role::TextInput, label);
        assert_eq!(field.value().as_deref(), Some(words), "half-typed text is kept");
        assert_eq!(brief(&window), before, "{label}");
    }
}

#[test]
fn the_main_action_leads_to_the_first_open_field() {
    let mut window = open(plans::open_brief());
    press(&mut window, Role::Button, "Fix 2 open fields");
    assert!(window.harness.get_by_role_and_label(Role::TextInput, "Golden prompts").is_focused());
    press(&mut window, Role::Link, "Fill in Shut-down rule");
    assert!(window.harness.get_by_role_and_label(Role::TextInput, "Shut-down rule").is_focused());
    fill(&mut window, "Golden prompts", "60");
    fill(&mut window, "Shut-down rule", "Ends on 31 March");
    assert!(window.harness.query_by_label("Every field can fail a test.").is_some());
    assert!(window.harness.query_by_label("Fix 1 open field").is_none(), "nothing to do, no main action");
}

#[test]
fn an_empty_brief_begins_with_the_outcome() {
    let mut window = open(Brief::default());
    assert!(window.harness.query_by_label("No work described yet. Start with the outcome.").is_some());
    press(&mut window, Role::Button, "Start with the outcome");
    assert!(window.harness.get_by_role_and_label(Role::TextInput, "Outcome").is_focused());
    assert!(window.harness.query_by_label("Runtime 1, model not stated").is_some(), "the picture says what is missing");
    press(&mut window, Role::Link, "Show all 16");
    assert!(window.harness.query_by_label("Fill in Owner").is_some());
}

#[test]
fn the_acceptance_rule_is_chosen_and_filled() {
    let mut window = open(plans::full_brief());
    press(&mut window, Role::ComboBox, "Accepted output");
    press(&mut window, Role::Button, "Long enough");
    assert_eq!(brief(&window).acceptance, AcceptRule::MinChars(1));
    fill(&mut window, "Length, at least", "40");
    assert_eq!(brief(&window).acceptance, AcceptRule::MinChars(40));
    press(&mut window, Role::ComboBox, "Accepted output");
    press(&mut window, Role::Button, "Holds a text");
    assert!(window.harness.query_by_label("An empty text accepts everything").is_some());
    fill(&mut window, "Text that the answer holds", "</answer>");
    assert_eq!(brief(&window).acceptance, AcceptRule::Contains("</answer>".into()));
}

#[test]
fn the_six_layers_say_what_the_brief_says() {
    let mut window = open(plans::full_brief());
    press(&mut window, Role::Button, "Six layers");
    let runtime = "Qwen2.5-7B-Instruct @ a09a354, BF16";
    assert!(window.harness.query_by_label(runtime).is_some());
    assert!(window.harness.query_by_label("ML platform team · Ends on 31 March").is_some());
}

/// Draws until no job runs.
fn settle(window: &mut TestWindow) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while window.harness.state().app().busy() {
        assert!(std::time::Instant::now() < until, "a job hangs");
        window.harness.step();
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    window.harness.run_ok();
}

fn import(window: &mut TestWindow, file: &Path) {
    fill(window, "Path of the file", file.to_str().unwrap());
    press(window, Role::Button, "Read");
    settle(window);
}

#[test]
fn facts_of_the_model_come_from_a_typed_path() {
    let folder = tempfile::tempdir().unwrap();
    let (bad, good) = (folder.path().join("bad.json"), folder.path().join("config.json"));
    std::fs::write(&bad, "[1, 2").unwrap();
    let config = r#"{"model_type": "gemma2", "num_hidden_layers": 26, "hidden_size": 2304, "num_attention_heads": 8,
        "num_key_value_heads": 4, "head_dim": 256}"#;
    std::fs::write(&good, config).unwrap();
    let mut window = open(Brief::default());
    settle(&mut window);
    press(&mut window, Role::Button, "Read model file…");
    import(&mut window, &bad);
    let layers = || vec![Layer::ImportModel];
    assert_eq!(window.harness.state().app().state().view.layers, layers(), "the dialog stays, with the path in it");
    assert!(window.harness.query_all_by_label_contains("Could not read the model's facts").next().is_some());
    import(&mut window, &good);

    assert!(window.harness.state().app().state().view.layers.is_empty());
    let model = brief(&window).model;
    assert_eq!((model.layers, model.kv_heads, model.head_dim, model.parameters), (Some(26), Some(4), Some(256), None));
    assert!(window.harness.query_by_label_contains("does not state vocab").is_some(), "what is left is said");
    press(&mut window, Role::Link, "Dismiss");
    assert!(window.harness.query_by_label_contains("does not state vocab").is_none());
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, brief) in [("open", plans::open_brief()), ("empty", Brief::default())] {
        for (language, theme) in looks() {
            let plan = Some(plans::with_brief(brief.clone()));
            let size = if language == Language::En { [1440.0, 900.0] } else { [1280.0, 800.0] };
            let mut window = window(Setup { language, theme, size, plan, ..Setup::default() });
            let file = format!("brief-{name}-{theme:?}-{}.png", language.tag()).to_lowercase();
            window.harness.render().unwrap().save(folder.join(file)).unwrap();
        }
    }
}
