//! The strip at the foot: the newest job with its bar and its end, or what ended last; what is kept.

use egui::{Align, Layout, Sense, Ui, UiBuilder, Vec2, vec2};

use super::keys;
use crate::app::command::{Command, Layer};
use crate::app::state::{Job, JobWhat, State};
use crate::domain::format::{clock, count};
use crate::domain::text::{Text, fill};
use crate::engine::event::Outcome;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Mark, icons, mark, progress};

pub(super) fn strip_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let rect = ui.max_rect();
    ui.painter().hline(rect.x_range(), rect.top() + 0.5, t.hairline());
    keys::anchor(ui, keys::Part::Jobs, &text.shell.jobs_panel);
    let inner = rect.shrink2(vec2(t.space.l, 0.0));
    let mut right = ui.new_child(
        UiBuilder::new().id_salt("strip right").max_rect(inner).layout(Layout::right_to_left(Align::Center)),
    );
    kept(&mut right, state, text);
    let mut left = inner;
    left.max.x = right.min_rect().left() - t.space.l;
    let mut left = ui
        .new_child(UiBuilder::new().id_salt("strip left").max_rect(left).layout(Layout::left_to_right(Align::Center)));
    left.spacing_mut().item_spacing.x = t.space.m;
    match state.jobs.last() {
        Some(job) => running(&mut left, job, state, text, out),
        None => idle(&mut left, state, text),
    }
}

fn idle(ui: &mut Ui, state: &State, text: &Text) {
    let t = tokens(ui);
    icon(ui, icons::CHECK);
    ui.label(Font::Small.rich(&text.shell.no_jobs).color(t.color.text_secondary));
    if let Some(ended) = &state.last_ended {
        let outcome = match &ended.outcome {
            Outcome::Done => &text.shell.outcome_done,
            Outcome::Cancelled => &text.shell.outcome_cancelled,
            Outcome::Failed(_) => &text.shell.outcome_failed,
        };
        let form = if ended.kept > 0 { &text.shell.last_job_kept } else { &text.shell.last_job };
        let words = fill(
            form,
            &[
                ("name", job_name(&ended.what, state, text)),
                ("outcome", outcome.clone()),
                ("time", ended.at.format("%H:%M").to_string()),
                ("kept", count(ended.kept)),
            ],
        );
        ui.add(egui::Label::new(Font::Small.rich(words).color(t.color.text_muted)).truncate());
    }
}

fn running(ui: &mut Ui, job: &Job, state: &State, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    mark(ui, Mark::Running, t.size.verdict, &text.shell.mark_running);
    let name = job_name(&job.what, state, text);
    ui.label(Font::Subhead.rich(&name));
    if let Some(share) = job.progress.share {
        progress(ui, 220.0, share, &format!("{name} {:.0} %", share * 100.0));
    }
    ui.add(egui::Label::new(Font::Small.rich(job_times(job, text)).color(t.color.text_secondary)).truncate());
    if Button::secondary(&text.shell.stop).small().hover(&text.shell.stop_and_keep).show(ui).clicked() {
        out.push(Command::Stop(job.id));
    }
    let more = state.jobs.len().saturating_sub(1);
    if more > 0 && Button::link(&fill(&text.shell.more_jobs, &[("n", more.to_string())])).show(ui).clicked() {
        out.push(Command::Show(Layer::Jobs));
    }
}

/// Step, elapsed, planned and left of a job.
pub(super) fn job_times(job: &Job, text: &Text) -> String {
    let progress = &job.progress;
    let times = match progress.planned_secs {
        Some(planned) => fill(
            &text.shell.time_left,
            &[
                ("elapsed", clock(progress.elapsed_secs)),
                ("planned", clock(planned)),
                ("left", clock((planned - progress.elapsed_secs).max(0.0))),
            ],
        ),
        None => fill(&text.shell.elapsed, &[("elapsed", clock(progress.elapsed_secs))]),
    };
    let step = match job.what {
        JobWhat::Probe(_) if progress.step.is_empty() => &text.hosts.connecting,
        JobWhat::Probe(_) => text.probe(&progress.step),
        _ => progress.step.as_str(),
    };
    if step.is_empty() { times } else { format!("{step} · {times}") }
}

fn kept(ui: &mut Ui, state: &State, text: &Text) {
    let t = tokens(ui);
    let shell = &text.shell;
    let (words, symbol) = match &state.project {
        None => (shell.offline.clone(), icons::WIFI_SLASH),
        Some(project) => {
            let n = project.evidence.len() as u64;
            if project.altered.is_empty() {
                (
                    fill(if n == 1 { &shell.evidence_ok_one } else { &shell.evidence_ok }, &[("n", count(n))]),
                    icons::SEAL_CHECK,
                )
            } else {
                (
                    fill(&shell.evidence_altered, &[("n", count(n)), ("altered", project.altered.len().to_string())]),
                    icons::WARNING,
                )
            }
        }
    };
    ui.label(Font::Small.rich(words).color(t.color.text_secondary));
    icon(ui, symbol);
    if let Some(job) = state.jobs.last().filter(|job| job.progress.kept > 0) {
        ui.add_space(t.space.m);
        ui.label(
            Font::Small
                .rich(fill(&shell.kept_so_far, &[("n", count(job.progress.kept))]))
                .color(t.color.text_secondary),
        );
        icon(ui, icons::HARD_DRIVES);
    }
}

fn icon(ui: &mut Ui, icon: char) {
    let (rect, _) = ui.allocate_exact_size(Vec2::splat(16.0), Sense::hover());
    icons::paint(ui.painter(), rect.center(), icon, 16.0, tokens(ui).color.text_secondary);
}

/// The name of a job in words.
pub(super) fn job_name(what: &JobWhat, state: &State, text: &Text) -> String {
    let plan = state.project.as_ref().map(|project| &project.plan);
    let host = |id| plan.and_then(|plan| plan.host(id)).map_or_else(|| id.to_string(), |host| host.name.clone());
    match what {
        JobWhat::Probe(id) => fill(&text.shell.job_probe, &[("host", host(id))]),
        JobWhat::Read(id) => fill(&text.shell.job_read, &[("host", host(id))]),
        JobWhat::ReadLog(id) => {
            let name =
                plan.and_then(|plan| plan.candidate(id)).map_or_else(|| id.to_string(), |found| found.name.clone());
            fill(&text.shell.job_read_log, &[("candidate", name)])
        }
        JobWhat::Load(Some(id)) => {
            let name = plan
                .and_then(|plan| plan.candidate(id))
                .map_or_else(|| id.to_string(), |candidate| candidate.name.clone());
            fill(&text.shell.job_load, &[("candidate", name)])
        }
        JobWhat::Load(None) => text.shell.job_load_any.clone(),
        JobWhat::Files => text.shell.job_files.clone(),
        JobWhat::Dialog => text.shell.job_dialog.clone(),
    }
}
