//! Step 4: hosts are added, changed and removed by name; outputs are pasted; what was found stands beside its promise.

use std::path::Path;
use std::time::Duration;

use egui::{Key, Modifiers, Role};
use egui_kittest::kittest::Queryable;
use leasebench::app::command::{Command, Layer, Screen, ThemeChoice};
use leasebench::domain::candidate::{Boundary, Candidate, OfferSource, Promised, Term};
use leasebench::domain::host::{Auth, Host, Reach, SshTarget};
use leasebench::domain::ids::{CandidateId, HostId};
use leasebench::domain::text::{Language, Text, fill};
use leasebench::domain::units::{SizeUnit, StatedSize};
use leasebench::engine::job::OutputSource;
use leasebench::project::plan::Plan;

use super::{Setup, TestWindow, looks, window};

fn candidate(series: u8, name: &str, promised: Promised) -> Candidate {
    Candidate {
        id: CandidateId(format!("c{}", series + 1)),
        series,
        name: name.into(),
        short: "8×H100".into(),
        promised,
        billing: Vec::new(),
        term: Term::default(),
        source: OfferSource::default(),
    }
}

fn host(id: &str, name: &str, candidate: Option<&str>, reach: Reach) -> Host {
    Host {
        id: HostId(id.into()),
        candidate: candidate.map(|id| CandidateId(id.into())),
        name: name.into(),
        reach,
        pinned_key: None,
        note: String::new(),
    }
}

fn promised() -> Promised {
    Promised {
        boundary: Some(Boundary::Dedicated),
        gpu_model: Some("H100".into()),
        gpu_count: Some(8),
        gpu_memory: Some(StatedSize { number: 80.0, unit: SizeUnit::GB }),
        driver: Some("580".into()),
        vcpu: Some(208),
        disk: Some(StatedSize { number: 30_700.0, unit: SizeUnit::GB }),
        disk_kind: Some("NVMe".into()),
        ipv4: Some(true),
        region: Some("EU".into()),
        ..Promised::default()
    }
}

pub fn plan() -> Plan {
    Plan {
        name: "Support chat".into(),
        candidates: vec![
            candidate(0, "Candidate A", promised()),
            candidate(1, "Candidate B", Promised { gpu_count: Some(2), ..Promised::default() }),
        ],
        hosts: vec![
            host("h1", "gpu-a1", Some("c1"), Reach::Pasted),
            host(
                "h2",
                "gpu-b1",
                Some("c2"),
                Reach::Ssh(SshTarget {
                    address: "gpu-b1.example".into(),
                    user: Some("ubuntu".into()),
                    jump: Some("bastion".into()),
                    ..SshTarget::default()
                }),
            ),
            host("h3", "this computer", None, Reach::ThisComputer),
        ],
        ..Plan::default()
    }
}

fn read(probe: &'static str, file: &str) -> Command {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(probe).join(file);
    Command::ReadOutput {
        host: HostId("h1".into()),
        probe,
        source: OutputSource::Text(std::fs::read_to_string(path).unwrap()),
        exit: Some(0),
    }
}

/// The step with these outputs read for the first host.
pub fn opened(language: Language, theme: ThemeChoice, size: [f32; 2], reads: &[(&'static str, &str)]) -> TestWindow {
    let commands = vec![Command::Go(Screen::Hosts), Command::SelectHost(Some(HostId("h1".into())))];
    let mut window = window(Setup { language, theme, size, plan: Some(plan()), commands });
    for (probe, file) in reads {
        window.harness.state_mut().app_mut().command(read(probe, file));
    }
    let want = reads.len();
    window.step_until("the outputs", Duration::from_secs(60), |harness| {
        let state = harness.state().app().state();
        state.project.as_ref().unwrap().evidence.len() == want && state.jobs.is_empty()
    });
    window
}

const H100: [(&str, &str); 4] = [
    ("gpu_detail", "h100x8_570_86.xml"),
    ("topology", "b200x8_16nics_ansi.txt"),
    ("cpu", "h100x8_kvm.txt"),
    ("dcgm_diag", "r3_row_remap_pending_cut.txt"),
];

fn type_into(window: &mut TestWindow, label: &str, words: &str) {
    window.harness.get_by_role_and_label(Role::TextInput, label).focus();
    window.harness.run_ok();
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    window.harness.event(egui::Event::Text(words.to_owned()));
    window.harness.run_ok();
}

fn press(window: &mut TestWindow, label: &str) {
    window.harness.get_by_role_and_label(Role::Button, label).click();
    window.harness.run_ok();
}

fn hosts(window: &TestWindow) -> Vec<Host> {
    window.harness.state().app().state().project.as_ref().unwrap().plan.hosts.clone()
}

#[test]
fn an_empty_step_offers_the_one_thing_that_changes_it() {
    for language in Language::ALL {
        let text = Text::of(language);
        let commands = vec![Command::Go(Screen::Hosts)];
        let plan = Plan { name: "Chat".into(), ..Plan::default() };
        let mut window = window(Setup { language, plan: Some(plan), commands, ..Setup::default() });
        window.harness.get_by_label(&text.hosts.empty);
        press(&mut window, &text.hosts.empty_button);
        window.harness.get_by_role_and_label(Role::Heading, &text.hosts.add_title);
    }
}

#[test]
fn a_typed_host_becomes_one_edit_that_can_be_taken_back() {
    let text = Text::of(Language::En);
    let mut window = opened(Language::En, ThemeChoice::Light, [1440.0, 900.0], &[]);
    press(&mut window, &text.hosts.add);
    type_into(&mut window, &text.hosts.address, "-oProxyCommand=x");
    window.harness.get_by_label(&text.hosts.address_wrong);
    type_into(&mut window, &text.hosts.address, "203.0.113.7");
    type_into(&mut window, &text.hosts.port, "2222");
    type_into(&mut window, &text.hosts.user, "root");
    press(&mut window, &text.hosts.auth_key);
    type_into(&mut window, &text.hosts.key_file, "/keys/rental");
    press(&mut window, &text.hosts.add_button);
    let added = hosts(&window).pop().unwrap();
    let want = Host {
        id: HostId("h4".into()),
        candidate: None,
        name: "203.0.113.7".into(),
        reach: Reach::Ssh(SshTarget {
            address: "203.0.113.7".into(),
            port: Some(2222),
            user: Some("root".into()),
            auth: Auth::KeyFile("/keys/rental".into()),
            jump: None,
        }),
        pinned_key: None,
        note: String::new(),
    };
    assert_eq!(added, want);
    let state = window.harness.state().app().state();
    assert_eq!(state.view.host, Some(want.id), "the new host is on screen");
    assert!(state.view.layers.is_empty());
    window.harness.state_mut().app_mut().command(Command::Undo);
    window.harness.run_ok();
    assert_eq!(hosts(&window), plan().hosts);
}

#[test]
fn a_host_is_changed_and_removed() {
    let text = Text::of(Language::ZhHans);
    let mut window = opened(Language::ZhHans, ThemeChoice::Dark, [1280.0, 800.0], &[]);
    window.harness.get_by_label_contains("gpu-b1 ").click();
    window.harness.run_ok();
    press(&mut window, &text.hosts.edit);
    type_into(&mut window, &text.hosts.name, "gpu-b2");
    press(&mut window, &text.common.save);
    assert_eq!(hosts(&window)[1].name, "gpu-b2");
    assert_eq!(hosts(&window)[1].reach, plan().hosts[1].reach);
    press(&mut window, &text.common.remove);
    let names: Vec<String> = hosts(&window).into_iter().map(|host| host.name).collect();
    assert_eq!(names, ["gpu-a1", "this computer"]);
}

#[test]
fn a_pasted_output_is_read_and_compared_and_its_failure_loses_nothing() {
    let text = Text::of(Language::En);
    let mut window = opened(Language::En, ThemeChoice::Light, [1440.0, 900.0], &[]);
    press(&mut window, &text.hosts.paste);
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/gpu_detail/h100x8_570_86.xml");
    press(&mut window, &text.hosts.paste_file);
    type_into(&mut window, &text.hosts.paste_path, "/no/such/file");
    press(&mut window, &text.hosts.paste_read);
    window.step_until("the failure", Duration::from_secs(30), |harness| {
        harness.state().app().state().last_ended.is_some()
    });
    // The card stands in the screen, and its remedy opens the dialog with what was typed.
    let remedies = window.harness.get_all_by_role_and_label(Role::Button, &text.hosts.paste).count();
    assert_eq!(remedies, 2);
    window.harness.get_all_by_role_and_label(Role::Button, &text.hosts.paste).last().unwrap().click();
    window.harness.run_ok();
    let path = window.harness.get_by_role_and_label(Role::TextInput, &text.hosts.paste_path);
    assert_eq!(path.value().unwrap(), "/no/such/file");
    type_into(&mut window, &text.hosts.paste_path, &capture.display().to_string());
    press(&mut window, &text.hosts.paste_read);
    window.step_until("the record", Duration::from_secs(60), |harness| {
        let state = harness.state().app().state();
        state.jobs.is_empty() && !state.project.as_ref().unwrap().evidence.is_empty()
    });
    window.harness.get_by_label(&format!("gpu-a1 {}", text.hosts.chip_one_mismatch));
    window.harness.get_by_label("570.86.15");
}

#[test]
fn findings_matrix_and_rows_are_all_there_in_both_languages() {
    for (language, theme) in looks() {
        let text = Text::of(language);
        let mut window = opened(language, theme, [1440.0, 900.0], &H100);
        window.harness.get_by_label_contains(&fill(&text.hosts.chip_mismatches, &[("n", "2".into())]));
        window.harness.get_by_label_contains("mlx5_4, PXB");
        window.harness.get_by_label("GPU 3 has uncorrectable memory errors and row remappings are pending");
        window.harness.get_by_label(&fill(&text.hosts.show_all, &[("n", "15".into())])).click();
        window.harness.run_ok();
        window.harness.get_by_label(text.name("region"));
        press(&mut window, &text.hosts.matrix);
        assert!(window.harness.query_by_label_contains("mlx5_4, PXB").is_none());
        assert!(window.harness.get_all_by_label("NV18").count() >= 56);
    }
}

#[test]
fn only_chosen_probes_are_asked() {
    let text = Text::of(Language::En);
    let mut window = opened(Language::En, ThemeChoice::Light, [1440.0, 900.0], &[]);
    window.harness.state_mut().app_mut().command(Command::SelectHost(Some(HostId("h3".into()))));
    window.harness.run_ok();
    press(&mut window, &text.hosts.choose_probes);
    for probe in leasebench::probe::DEFAULT.iter().filter(|id| **id != "os") {
        window.harness.get_by_role_and_label(Role::CheckBox, text.probe(probe)).click();
        window.harness.run_ok();
    }
    press(&mut window, &fill(&text.hosts.ask_chosen, &[("n", "1".into())]));
    window.step_until("the answer", Duration::from_secs(60), |harness| {
        let state = harness.state().app().state();
        state.jobs.is_empty() && state.last_ended.is_some()
    });
    let state = window.harness.state().app().state();
    assert_eq!(state.project.as_ref().unwrap().evidence.len(), 1);
    window.harness.get_by_label(&text.hosts.probe_again);
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_the_hosts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures");
    std::fs::create_dir_all(&folder).unwrap();
    for (language, theme) in [(Language::En, ThemeChoice::Dark), (Language::ZhHans, ThemeChoice::Light)] {
        let save = |window: &mut TestWindow, name: &str| {
            window.harness.run_ok();
            let path = folder.join(format!("hosts-{name}-{}-{theme:?}.png", language.tag()));
            window.harness.render().unwrap().save(path).unwrap();
        };
        let mut shown = opened(language, theme, [1440.0, 1250.0], &H100);
        save(&mut shown, "h100");
        let text = Text::of(language);
        press(&mut shown, &text.hosts.matrix);
        save(&mut shown, "matrix");
        shown.harness.state_mut().app_mut().command(Command::Show(Layer::PasteOutput));
        save(&mut shown, "paste");
        shown.harness.state_mut().app_mut().command(Command::CloseTop);
        shown.harness.state_mut().app_mut().command(Command::SelectHost(Some(HostId("h2".into()))));
        save(&mut shown, "silent");
        press(&mut shown, &text.hosts.choose_probes);
        save(&mut shown, "choose");
        shown.harness.key_press(Key::Escape);
        press(&mut shown, &text.hosts.edit);
        save(&mut shown, "edit");
        for (name, file) in [
            ("v100", "v100x8_rented_nic.txt"),
            ("pix", "pcie4_pxb_pix.txt"),
            ("sys", "rtx4090x8_all_sys.txt"),
            ("mp", "topo_mp_x8_12nics.txt"),
        ] {
            if language == Language::En {
                let mut shown = opened(language, theme, [1280.0, 800.0], &[("topology", file)]);
                save(&mut shown, name);
            }
        }
    }
}
