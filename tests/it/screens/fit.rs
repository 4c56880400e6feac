//! What stands on a screen stands beside its neighbours, not on them, in the smallest window that must work; and what a
//! job asks is answered by the keys that its dialog names.

use std::path::Path;
use std::time::Duration;

use egui::accesskit::Role;
use egui::{Key, Modifiers, Rect, pos2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use leasebench::app::command::{Command, Screen, ThemeChoice};
use leasebench::domain::failure::FailureKind;
use leasebench::domain::host::{Host, Reach, SshTarget};
use leasebench::domain::ids::HostId;
use leasebench::domain::text::Language;
use leasebench::engine::event::Outcome;
use leasebench::project::edit::Edit;
use leasebench::project::plan::Plan;

use super::super::sshd::Sshd;
use super::{Setup, TestWindow, window};

const LONG: Duration = Duration::from_secs(60);
/// The smallest window that must work.
const SMALL: [f32; 2] = [1280.0, 800.0];

/// The sample project with one edit that is not saved.
fn sample(language: Language, folder: &Path) -> TestWindow {
    let setup = Setup { language, theme: ThemeChoice::Light, size: SMALL, ..Setup::default() };
    let mut window = super::sample(setup, folder);
    let name = "Support chat, practice comparison".to_owned();
    window.harness.state_mut().app_mut().command(Command::Edit(Edit::Rename(format!("{name}."))));
    window.harness.run_ok();
    window
}

/// Names of labels and buttons in `area` that lie on each other or reach beyond it at the right.
fn crowded(window: &TestWindow, area: Rect) -> Vec<String> {
    let mut shown: Vec<(Rect, String)> = Vec::new();
    for role in [Role::Label, Role::Button] {
        for node in window.harness.query_all_by_role(role) {
            let name = node.accesskit_node().value().or_else(|| node.accesskit_node().label()).unwrap_or_default();
            let rect = node.rect();
            // What is scrolled out of the area is clipped there.
            if !name.is_empty()
                && rect.top() >= area.top()
                && rect.bottom() <= area.bottom()
                && rect.left() >= area.left()
            {
                shown.push((rect, name));
            }
        }
    }
    let mut found = Vec::new();
    for (idx, (rect, name)) in shown.iter().enumerate() {
        if rect.right() > area.right() {
            found.push(format!("{name:?} ends at {}", rect.right()));
        }
        for (other, other_name) in &shown[idx + 1..] {
            let both = rect.intersect(*other);
            let nested = rect.contains_rect(*other) || other.contains_rect(*rect);
            if both.width() > 2.0 && both.height() > 2.0 && !nested {
                found.push(format!("{name:?} lies on {other_name:?}"));
            }
        }
    }
    found
}

#[test]
fn nothing_lies_on_its_neighbour_in_the_smallest_window() {
    let mut found = Vec::new();
    for language in Language::ALL {
        let folder = tempfile::tempdir().unwrap();
        let mut window = sample(language, folder.path());
        let bar = Rect::from_min_max(pos2(0.0, 0.0), pos2(SMALL[0], 48.0));
        let content = Rect::from_min_max(pos2(224.0, 48.0), pos2(SMALL[0], SMALL[1] - 36.0));
        for screen in Screen::ALL {
            window.harness.state_mut().app_mut().command(Command::Go(screen));
            window.harness.run_ok();
            for area in [bar, content] {
                let crowded = crowded(&window, area);
                found.extend(crowded.into_iter().map(|what| format!("{language:?} {screen:?}: {what}")));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn escape_refuses_an_unknown_host_key_and_no_other_key_works_under_the_question() {
    let sshd = Sshd::start();
    let target = SshTarget {
        address: "127.0.0.1".into(),
        port: Some(sshd.port()),
        user: Some(sshd.get("LB_SSH_USER").into()),
        ..SshTarget::default()
    };
    let id = HostId("h1".into());
    let host = Host {
        id: id.clone(),
        candidate: None,
        name: "gpu-a".into(),
        reach: Reach::Ssh(target),
        pinned_key: None,
        note: String::new(),
    };
    let plan = Plan { name: "Chat".into(), hosts: vec![host], ..Plan::default() };
    let commands = vec![Command::Go(Screen::Hosts), Command::Probe { host: id, probes: Vec::new() }];
    let mut window = window(Setup { plan: Some(plan.clone()), commands, ..Setup::default() });
    window.step_until("the question", LONG, |harness| {
        harness.state().app().state().jobs.iter().any(|job| job.question.is_some())
    });
    window.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    window.harness.run_ok();
    assert_eq!(
        window.harness.state().app().state().project.as_ref().unwrap().plan.as_ref(),
        &plan,
        "undo waits for the answer"
    );
    window.harness.key_press(Key::Escape);
    window.step_until("the end", LONG, |harness| harness.state().app().state().jobs.is_empty());
    let ended = window.harness.state().app().state().last_ended.as_ref().unwrap();
    assert!(
        matches!(&ended.outcome, Outcome::Failed(failure) if failure.kind == FailureKind::HostKeyUnknown),
        "{:?}",
        ended.outcome
    );
}
