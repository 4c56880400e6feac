//! Step 5: is it holding, and is the test itself sound. A running test live, or a finished one the same way.

mod panel;
mod setup;

use std::sync::Arc;

use egui::Ui;

use crate::app::command::{Command, Layer};
use crate::app::state::{Job, JobWhat, Project, State};
use crate::domain::evidence::Kind;
use crate::domain::format;
use crate::domain::ids::CandidateId;
use crate::domain::load::RunEnd;
use crate::domain::seen::Run;
use crate::domain::text::{Text, fill};
use crate::ui::theme::tokens;
use crate::ui::widgets::{Button, Chip, empty_state, icons, page_header};

pub use setup::setup_ui;

/// Draws the step.
pub fn load_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.load;
    let job = state.jobs.iter().rev().find(|job| matches!(job.what, JobWhat::Load(_)));
    let chosen_id = egui::Id::unique("load chosen run");
    let chosen = ui.data(|data| data.get_temp(chosen_id));
    let run =
        chosen.and_then(|id| state.derived.run(&id)).or_else(|| state.derived.runs.last()).filter(|_| job.is_none());
    page_header(ui, &words.title, &finding(state, project, job, run, text), |ui| match job {
        Some(job) => {
            if Button::destructive(&words.stop_and_keep).icon(icons::STOP).key("Ctrl .").show(ui).clicked() {
                out.push(Command::Stop(job.id));
            }
        }
        None => actions_ui(ui, project, text, out),
    });
    match (job, run) {
        (Some(job), _) => panel::live_ui(ui, project, job, text, out),
        (None, Some(run)) => {
            runs_ui(ui, state, project, run, chosen_id, text);
            ui.add_space(tokens(ui).space.s);
            panel::run_ui(ui, run, text, out);
        }
        (None, None) => {
            if empty_state(ui, &words.empty, &words.empty_button, &words.empty_then) {
                out.push(Command::Show(Layer::LoadSetup));
            }
        }
    }
}

fn actions_ui(ui: &mut Ui, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let words = &text.load;
    match &project.plan.load {
        Some(setup) => {
            if Button::primary(&words.start).icon(icons::PLAY).show(ui).clicked() {
                out.push(if setup.ask_api_key { Command::Show(Layer::LoadSetup) } else { Command::StartLoad(None) });
            }
            if Button::secondary(&words.setup_button).show(ui).clicked() {
                out.push(Command::Show(Layer::LoadSetup));
            }
        }
        None => {
            if Button::primary(&words.setup_button).show(ui).clicked() {
                out.push(Command::Show(Layer::LoadSetup));
            }
        }
    }
    if Button::secondary(&words.try_it).icon(icons::FLASK).hover(&words.try_hint).show(ui).clicked() {
        out.push(Command::TryPractice);
    }
}

/// The name of a candidate, or that there is none.
pub(super) fn candidate_name(project: &Project, id: Option<&CandidateId>, text: &Text) -> String {
    id.and_then(|id| project.plan.candidate(id))
        .map_or_else(|| text.load.no_candidate.clone(), |candidate| candidate.name.clone())
}

fn finding(state: &State, project: &Project, job: Option<&Job>, run: Option<&Arc<Run>>, text: &Text) -> String {
    let words = &text.load;
    if let Some(Job { what: JobWhat::Load(candidate), progress, .. }) = job {
        let (step, steps) = progress.step.split_once('/').unwrap_or(("1", "1"));
        let arrivals = progress.load.as_ref().map(|load| load.point.arrivals);
        let values = [
            ("candidate", candidate_name(project, candidate.as_ref(), text)),
            ("arrivals", arrivals.map(|arrivals| text.arrivals(arrivals).to_owned()).unwrap_or_default()),
            ("step", step.to_owned()),
            ("steps", steps.to_owned()),
        ];
        return fill(&words.running, &values);
    }
    let Some(run) = run else {
        return if state.derived.runs.is_empty() { words.empty.clone() } else { words.no_setup.clone() };
    };
    let (sent, completed) = run
        .points
        .iter()
        .fold((0_u64, 0_u64), |(s, c), p| (s + u64::from(p.counts.sent), c + u64::from(p.counts.completed)));
    let values = [
        ("candidate", candidate_name(project, run.record.candidate.as_ref(), text)),
        ("at", format::moment(&run.record.taken_at)),
        ("sent", format::count(sent)),
        ("completed", format::count(completed)),
    ];
    let template = match (run.is_valid(), run.ended) {
        (false, _) => &words.finding_invalid,
        (true, RunEnd::Done) => &words.finding_valid,
        (true, RunEnd::Stopped | RunEnd::Interrupted) => &words.finding_unfinished,
    };
    let mut sentence = fill(template, &values);
    // A run that did not end as planned says so before its figures.
    if run.ended != RunEnd::Done {
        sentence = format!("{} · {sentence}", text.run_end(run.ended));
    }
    match run.kind() {
        Kind::Real => sentence,
        kind => {
            let kind = fill(&words.finding_kind, &[("kind", text.kind(kind).to_owned())]);
            format!("{kind} · {sentence}")
        }
    }
}

/// Every run as a chip, newest first.
fn runs_ui(ui: &mut Ui, state: &State, project: &Project, shown: &Arc<Run>, chosen: egui::Id, text: &Text) {
    if state.derived.runs.len() < 2 {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        for run in state.derived.runs.iter().rev().take(12) {
            let candidate = run.record.candidate.as_ref().and_then(|id| project.plan.candidate(id));
            let name = candidate.map_or_else(|| text.load.no_candidate.clone(), |candidate| candidate.name.clone());
            let mut rest = run.record.taken_at.format("%m-%d %H:%M").to_string();
            if run.kind() != Kind::Real {
                rest = format!("{rest} {}", text.kind(run.kind()));
            }
            if run.ended != RunEnd::Done {
                rest = format!("{rest} {}", text.run_end(run.ended));
            }
            let mut chip = Chip::new(&name).rest(&rest).selected(run.id == shown.id);
            if let Some(candidate) = candidate {
                chip = chip.series(candidate.series);
            }
            if chip.show(ui).clicked() {
                ui.data_mut(|data| {
                    data.insert_temp(chosen, run.id.clone());
                });
            }
        }
    });
}
