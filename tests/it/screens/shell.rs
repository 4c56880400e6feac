//! The frame of the window: steps, language, theme, keys, palette, dialogs.

use egui::{Key, Modifiers, Role};
use egui_kittest::kittest::{NodeT, Queryable};
use leasebench::app::command::{Command, Layer, Screen, ThemeChoice};
use leasebench::domain::text::{Language, Text, fill};
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
    window.harness.get_by_role_and_label(Role::Heading, &text.shell.quit_title);
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

/// A plan with one candidate and a host whose outputs are pasted.
fn with_pasted_host() -> Plan {
    use leasebench::domain::host::{Host, Reach};
    use leasebench::domain::ids::HostId;
    let host = Host {
        id: HostId("h1".into()),
        candidate: None,
        name: "gpu-a1".into(),
        reach: Reach::Pasted,
        pinned_key: None,
        note: String::new(),
    };
    Plan { name: "Support chat".into(), hosts: vec![host], ..Plan::default() }
}

/// A window with one record, read from a pasted list of GPUs.
fn with_record(language: Language, theme: ThemeChoice) -> (TestWindow, leasebench::domain::ids::EvidenceId) {
    use leasebench::engine::job::OutputSource;
    let mut window = window(Setup { language, theme, plan: Some(with_pasted_host()), ..Setup::default() });
    let output = "GPU 0: NVIDIA L4 (UUID: GPU-00000000-0000-0000-0000-000000000001)\nexport HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz\n\u{1b}[31mred\u{1b}[0m\n";
    window.harness.state_mut().app_mut().command(Command::ReadOutput {
        host: leasebench::domain::ids::HostId("h1".into()),
        probe: "gpu_list",
        source: OutputSource::Text(output.into()),
        exit: Some(0),
    });
    window.step_until("the record", std::time::Duration::from_secs(20), |harness| {
        harness.state().app().state().project.as_ref().is_some_and(|project| !project.evidence.is_empty())
    });
    let id = window.harness.state().app().state().project.as_ref().unwrap().evidence.keys().next().unwrap().clone();
    (window, id)
}

fn traced(id: &leasebench::domain::ids::EvidenceId) -> Command {
    use leasebench::app::command::Traced;
    use leasebench::domain::figure::{Figure, Input, Origin};
    let share = Input {
        formula: "completed ÷ sent",
        inputs: vec![Input::leaf("completed", "7,047", "", Origin::Measured).on([id.clone()])],
        ..Input::leaf("accepted_share", "97.88", "%", Origin::Derived { from_measured: true })
    };
    let figure = Figure::derived(
        "0.1832",
        "monthly_cost ÷ accepted_share",
        vec![Input::leaf("monthly_cost", "1,225.00", "USD", Origin::Declared), share.on([id.clone()])],
    );
    Command::Trace(Box::new(Traced {
        title: "Candidate B, cost of 1,000 accepted".into(),
        value: "0.1832 USD".into(),
        interval: "[0.1826, 0.1839]".into(),
        origin: figure.origin,
        formula: figure.formula.into(),
        inputs: figure.inputs,
        evidence: figure.evidence,
    }))
}

#[test]
fn a_number_is_followed_to_its_record_and_raw_output() {
    let text = Text::of(Language::En);
    for (language, theme) in looks() {
        let (mut window, id) = with_record(language, theme);
        window.harness.state_mut().app_mut().command(traced(&id));
        window.harness.run_ok();
        window.harness.get_by_label_contains("GPU 0: NVIDIA L4");
        assert!(
            window.harness.query_by_label_contains("hf_abcdefghijklmnop").is_none(),
            "a secret is masked before it is kept"
        );
        window.harness.get_by_label_contains("\\x1b[31mred");
        if language == Language::En {
            window.harness.get_by_role_and_label(Role::Button, &text.shell.copy_citation).click();
            window.harness.step();
            let copied = window
                .harness
                .output()
                .platform_output
                .commands
                .iter()
                .any(|command| *command == egui::OutputCommand::CopyText(id.cite()));
            assert!(copied, "the citation is on the clipboard");
        }
        window.harness.key_press(Key::Escape);
        window.harness.run_ok();
        assert!(window.harness.state().app().state().view.trace.is_none(), "Esc closes the drawer");
    }
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn drawer_pictures() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures");
    std::fs::create_dir_all(&folder).unwrap();
    for (language, theme) in looks() {
        let (mut window, id) = with_record(language, theme);
        window.harness.state_mut().app_mut().command(traced(&id));
        window.harness.run_ok();
        window
            .harness
            .render()
            .unwrap()
            .save(folder.join(format!("shell-drawer-{theme:?}-{}.png", language.tag())))
            .unwrap();
    }
}

#[test]
fn a_chart_is_written_as_numbers_and_as_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    for (language, theme) in looks() {
        let text = Text::of(language);
        let plan = super::plans::with_candidates();
        let commands = vec![Command::Go(Screen::Memory)];
        // High enough for the chart to be on screen: a click finds only what is drawn.
        let size = [1440.0, 2400.0];
        let mut window = window(Setup { language, theme, size, plan: Some(plan), commands });
        let title = text.memory.plot_title.clone();
        let export = fill(&text.common.export_chart, &[("title", title.clone())]);
        for (kind, name, begins) in
            [("CSV", "a.csv", format!("{},", text.name("axis_in_flight"))), ("SVG", "a.svg", "<svg".into())]
        {
            window.harness.get_by_role_and_label(Role::Button, &export).click();
            window.harness.run_ok();
            window.harness.get_by_role_and_label(Role::Button, kind).click();
            window.harness.run_ok();
            let path = folder.path().join(format!("{}-{name}", text.memory.title));
            let field = window.harness.get_by_role_and_label(Role::TextInput, &text.shell.csv_path);
            field.focus();
            window.harness.run_ok();
            window.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
            let field = window.harness.get_by_role_and_label(Role::TextInput, &text.shell.csv_path);
            field.type_text(&path.display().to_string());
            window.harness.run_ok();
            window.harness.get_by_role_and_label(Role::Button, &text.shell.write).click();
            window.step_until("the file", std::time::Duration::from_secs(20), |_| path.exists());
            let written = std::fs::read_to_string(&path).unwrap();
            assert!(written.starts_with(&begins), "{written:.80}");
            assert!(kind == "CSV" || written.contains(&title), "{written:.400}");
        }
    }
}
