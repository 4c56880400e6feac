//! The frame of the window: steps, language, theme, keys, palette, dialogs.

use egui::{Key, Modifiers, Role};
use egui_kittest::kittest::{NodeT, Queryable};
use leasebench::app::command::{Command, Layer, Screen, ThemeChoice};
use leasebench::domain::text::{Language, Text};
use leasebench::project::edit::Edit;
use leasebench::project::plan::Plan;

use super::{Setup, TestWindow, looks, window};

fn open(language: Language) -> TestWindow {
    window(Setup { language, plan: Some(Plan { name: "Support chat".into(), ..Plan::default() }), ..Setup::default() })
}

#[test]
fn every_step_of_an_empty_project_is_drawn_in_both_languages_themes_and_sizes() {
    for (language, theme) in looks() {
        for size in [[1440.0, 900.0], [1280.0, 800.0], [1100.0, 760.0]] {
            for plan in [None, Some(Plan { demonstration: true, ..Plan::default() })] {
                let mut window = window(Setup { language, theme, size, plan, ..Setup::default() });
                for screen in Screen::ALL {
                    window.harness.state_mut().app_mut().command(Command::Go(screen));
                    window.harness.run_ok();
                }
                for layer in [
                    Layer::Keys,
                    Layer::Settings,
                    Layer::OpenProject,
                    Layer::SaveAs,
                    Layer::Report,
                    Layer::ExportCsv,
                    Layer::Jobs,
                    Layer::Palette,
                ] {
                    window.harness.state_mut().app_mut().command(Command::Show(layer));
                    window.harness.run_ok();
                    window.harness.key_press(Key::Escape);
                    window.harness.run_ok();
                    assert!(
                        window.harness.state().app().state().view.layers.is_empty(),
                        "{layer:?} stays open after Esc"
                    );
                }
            }
        }
    }
}

#[test]
fn the_language_switches_by_its_button_and_back() {
    let mut window = open(Language::En);
    let harness = &mut window.harness;
    harness.get_by_role_and_label(Role::Button, "Brief");
    harness.get_by_role_and_label(Role::Button, "中文").click();
    harness.run_ok();
    harness.get_by_role_and_label(Role::Button, "需求书");
    assert!(harness.query_by_role_and_label(Role::Button, "Brief").is_none());
    harness.get_by_role_and_label(Role::Button, "EN").click();
    harness.run_ok();
    harness.get_by_role_and_label(Role::Button, "Brief");
}

#[test]
fn theme_and_text_size_change_by_button_and_key() {
    let mut window = open(Language::En);
    let text = Text::of(Language::En);
    window.harness.get_by_label(&text.shell.switch_to_dark).click();
    window.harness.run_ok();
    assert_eq!(window.harness.state().app().state().settings.theme, ThemeChoice::Dark);
    assert!(window.harness.ctx.global_style().visuals.dark_mode);
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::Plus);
    window.harness.run_ok();
    assert!((window.harness.state().app().state().settings.text_size - 1.1).abs() < 1e-6);
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::Num0);
    window.harness.run_ok();
    assert!((window.harness.state().app().state().settings.text_size - 1.0).abs() < 1e-6);
}

#[test]
fn steps_are_reached_by_click_and_by_number() {
    let mut window = open(Language::En);
    window.harness.get_by_role_and_label(Role::Button, "Candidates").click();
    window.harness.run_ok();
    assert_eq!(window.screen(), Screen::Candidates);
    for (key, screen) in [(Key::Num1, Screen::Brief), (Key::Num5, Screen::Load), (Key::Num9, Screen::Decision)] {
        window.harness.key_press_modifiers(Modifiers::COMMAND, key);
        window.harness.run_ok();
        assert_eq!(window.screen(), screen);
    }
}

#[test]
fn the_palette_finds_a_step_by_its_words_and_says_why_a_command_cannot_run() {
    let mut window = open(Language::En);
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
    window.harness.run_ok();
    window.harness.event(egui::Event::Text("hos".into()));
    window.harness.run_ok();
    window.harness.get_by_role_and_label(Role::ListBoxOption, "Hosts");
    window.harness.key_press(Key::Enter);
    window.harness.run_ok();
    assert_eq!(window.screen(), Screen::Hosts);
    assert!(window.harness.state().app().state().view.layers.is_empty());
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::K);
    window.harness.run_ok();
    window.harness.event(egui::Event::Text("redo".into()));
    window.harness.run_ok();
    let redo = window.harness.get_by_role_and_label(Role::ListBoxOption, "Redo");
    assert!(redo.accesskit_node().is_disabled());
    window.harness.key_press(Key::Enter);
    window.harness.run_ok();
    assert_eq!(
        window.harness.state().app().state().view.layers,
        [Layer::Palette],
        "a command that cannot run closes nothing"
    );
}

#[test]
fn the_start_screen_begins_a_project_and_leaving_asks_about_it() {
    let mut window = window(Setup::default());
    let text = Text::of(Language::En);
    window.harness.get_by_role_and_label(Role::Button, &text.shell.start_brief).click();
    window.harness.run_ok();
    assert!(
        window.harness.state().app().state().project.as_ref().is_some_and(|project| !project.unsaved()),
        "nothing was written yet"
    );
    window.harness.state_mut().app_mut().command(Command::Edit(Edit::Rename("Chat".into())));
    window.harness.state_mut().app_mut().command(Command::Quit);
    window.harness.run_ok();
    window.harness.get_by_label(&text.shell.quit_title);
    window.harness.get_by_role_and_label(Role::Button, &text.shell.quit_anyway).click();
    window.harness.run_ok();
    assert!(window.harness.state().app().state().quit);
}

#[test]
fn a_project_is_saved_into_a_typed_path_and_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat");
    let mut window = open(Language::En);
    let text = Text::of(Language::En);
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::S);
    window.harness.run_ok();
    window.harness.get_by_role_and_label(Role::TextInput, &text.shell.save_as_path).focus();
    window.harness.run_ok();
    window.harness.event(egui::Event::Text(path.display().to_string()));
    window.harness.run_ok();
    window.harness.key_press(Key::Enter);
    window.step_until("the save", std::time::Duration::from_secs(20), |harness| {
        harness.state().app().state().project.as_ref().is_some_and(|project| !project.unsaved())
    });
    assert!(path.join("project.ron").is_file());
    window.harness.state_mut().app_mut().command(Command::New);
    window.harness.state_mut().app_mut().command(Command::Show(Layer::OpenProject));
    window.harness.run_ok();
    window.harness.get_by_role_and_label(Role::TextInput, &text.shell.open_path).focus();
    window.harness.run_ok();
    window.harness.event(egui::Event::Text(path.display().to_string()));
    window.harness.run_ok();
    window.harness.get_by_role_and_label(Role::Button, &text.common.open).click();
    window.step_until("the project", std::time::Duration::from_secs(20), |harness| {
        harness.state().app().state().project.as_ref().is_some_and(|project| project.plan.name == "Support chat")
    });
}

#[test]
fn f6_walks_through_the_parts_of_the_window() {
    let mut window = open(Language::En);
    let text = Text::of(Language::En);
    for name in [&text.shell.steps, &text.shell.content, &text.shell.jobs_panel, &text.shell.steps] {
        window.harness.key_press(Key::F6);
        window.harness.run_ok();
        assert!(window.harness.get_by_role_and_label(Role::Pane, name).is_focused(), "{name}");
    }
}

#[test]
fn half_typed_text_stays_in_its_field_and_its_error_stands_under_it() {
    let mut harness =
        egui_kittest::Harness::builder().with_context_setup(leasebench::ui::theme::install).build_ui_state(
            |ui, price: &mut Option<leasebench::domain::money::Money>| {
                let text = Text::of(Language::En);
                leasebench::ui::widgets::Field::new("price", "Price").money(
                    ui,
                    text,
                    iso_currency::Currency::USD,
                    price,
                );
            },
            None,
        );
    let type_in = |harness: &mut egui_kittest::Harness<'_, _>, words: &str| {
        harness.get_by_role_and_label(Role::TextInput, "Price").focus();
        harness.run_ok();
        harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        harness.event(egui::Event::Text(words.to_owned()));
        harness.run_ok();
        harness.key_press(Key::Enter);
        harness.run_ok();
    };
    type_in(&mut harness, "cheap");
    harness.get_by_label_contains("is not an amount");
    assert_eq!(harness.get_by_role_and_label(Role::TextInput, "Price").value().unwrap(), "cheap");
    assert_eq!(*harness.state(), None);
    type_in(&mut harness, "1,150.50");
    assert_eq!(harness.state().as_ref().unwrap().to_string(), "1150.50 USD");
    assert!(harness.query_by_label_contains("is not an amount").is_none());
}
