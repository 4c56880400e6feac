//! The Memory step: kinds of work, settings, a serving log over the prediction, calibration.

use std::time::Duration;

use egui::{Key, Modifiers, Role};
use egui_kittest::kittest::Queryable;
use leasebench::app::command::{Command, Layer, Screen};
use leasebench::domain::memory::MemoryWork;
use leasebench::domain::text::{Language, Text};

use super::{Setup, TestWindow, looks, plans, window};

/// High enough for the whole step: a click finds only what is drawn.
const SIZE: [f32; 2] = [1440.0, 2600.0];

const LOG: &str = include_str!("../../captures/engine_log/vllm_0_26_moe_a100.log");

fn open(language: Language) -> TestWindow {
    let commands = vec![Command::Go(Screen::Memory)];
    window(Setup { language, size: SIZE, plan: Some(plans::with_candidates()), commands, ..Setup::default() })
}

fn memory(window: &TestWindow) -> leasebench::domain::memory::MemoryPlan {
    window.harness.state().app().state().project.as_ref().unwrap().plan.memory.clone()
}

fn press(window: &mut TestWindow, words: &str) {
    window.harness.get_by_role_and_label(Role::Button, words).click();
    window.harness.run_ok();
}

fn retype(window: &mut TestWindow, label: &str, typed: &str) {
    window.harness.get_by_role_and_label(Role::TextInput, label).focus();
    window.harness.run_ok();
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    window.harness.get_by_role_and_label(Role::TextInput, label).type_text(typed);
    window.harness.run_ok();
    window.harness.key_press(Key::Enter);
    window.harness.run_ok();
}

#[test]
fn every_kind_of_work_is_drawn_and_is_an_edit() {
    for (language, theme) in looks() {
        let text = Text::of(language);
        let commands = vec![Command::Go(Screen::Memory)];
        let plan = Some(plans::with_candidates());
        let mut window = window(Setup { language, theme, size: SIZE, plan, commands });
        for work in MemoryWork::ALL.into_iter().rev() {
            press(&mut window, text.name(work.key()));
            assert_eq!(memory(&window).work, work);
        }
    }
}

#[test]
fn settings_reach_the_plan_and_what_is_no_setting_stays_typed() {
    let mut window = open(Language::En);
    let words = &Text::of(Language::En).memory;
    retype(&mut window, &words.max_sequences, "64");
    retype(&mut window, &words.utilisation, "0.8");
    retype(&mut window, &words.quantisation, "awq-int4-g128");
    let plan = memory(&window);
    assert_eq!(
        (plan.max_sequences, plan.utilisation, plan.quantisation.as_str()),
        (Some(64), Some(0.8), "awq-int4-g128")
    );
    retype(&mut window, &words.utilisation, "1.8");
    assert_eq!(memory(&window).utilisation, Some(0.8), "a share above one is no share");
    retype(&mut window, &words.quantisation, "exl9");
    assert!(window.harness.query_by_label(&words.quantisation_wrong).is_some());
}

#[test]
fn a_name_of_the_catalogue_brings_its_facts() {
    let mut window = open(Language::En);
    let words = &Text::of(Language::En).memory;
    retype(&mut window, &words.model, "meta-llama/meta-llama-3.1-8");
    let offered = "meta-llama/Meta-Llama-3.1-8B";
    window.harness.get_by_role_and_label(Role::Link, offered).click();
    window.harness.run_ok();
    let brief = &window.harness.state().app().state().project.as_ref().unwrap().plan.brief;
    assert_eq!((brief.model.name.as_str(), brief.model.layers, brief.model.vocab), (offered, Some(32), Some(128_256)));
}

#[test]
fn a_serving_log_is_laid_over_the_prediction_and_calibrates_it() {
    // The engine's banner of block characters is no text; the harness refuses what no font has.
    let log: String = LOG.chars().filter(char::is_ascii).collect();
    for language in Language::ALL {
        let text = Text::of(language);
        let words = &text.memory;
        let mut window = open(language);
        assert!(window.harness.query_by_label(&words.against_none).is_some());
        press(&mut window, &words.import_log);
        window.harness.get_by_role_and_label(Role::MultilineTextInput, &words.log_text).focus();
        window.harness.run_ok();
        window.harness.get_by_role_and_label(Role::MultilineTextInput, &words.log_text).type_text(&log);
        window.harness.run_ok();
        press(&mut window, &text.hosts.paste_read);
        window.step_until("the log", Duration::from_secs(20), |harness| {
            let app = harness.state().app();
            app.state().derived.candidates.iter().any(|view| !view.logs.is_empty())
        });
        assert!(!window.harness.state().app().state().view.layers.contains(&Layer::ImportLog));
        assert!(window.harness.query_by_label(&words.against_none).is_none());
        let free = |window: &TestWindow| {
            window.harness.state().app().state().derived.candidates[0].memory.as_ref().unwrap().value.free
        };
        let before = free(&window);
        press(&mut window, &words.calibrate);
        assert!(memory(&window).calibrated_by.is_some());
        assert_ne!(free(&window), before);
        press(&mut window, &words.uncalibrate);
        assert_eq!((memory(&window).calibrated_by, free(&window)), (None, before));
    }
}
