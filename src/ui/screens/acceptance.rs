//! Step 8: what is still open. Five stages, criteria that can fail, a verdict each, and what would settle it.

use egui::Ui;

use crate::app::command::{Command, Layer, Screen};
use crate::app::derived::{CandidateView, passed};
use crate::app::state::{Project, State};
use crate::domain::acceptance::defaults::default_criteria;
use crate::domain::acceptance::judge::Standing;
use crate::domain::acceptance::show;
use crate::domain::acceptance::{Comparison, Criterion, Judged, Metric, Stage, Waiver, Why};
use crate::domain::candidate::Candidate;
use crate::domain::figure::Origin;
use crate::domain::format;
use crate::domain::text::{Text, fill};
use crate::project::edit::Edit;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{
    AgainstLimit, BadgeSize, Button, Card, Chip, Column, Field, Mark, Table, against_limit, caption, columns, dialog,
    dialog_buttons, empty_state, heading, key_value, mark, page_header, rule, small, split, tick, verdict_badge,
};

/// The candidate the screen is about: the selected one, else the decided, else the first.
fn shown<'a>(state: &'a State, project: &'a Project) -> Option<(&'a Candidate, &'a CandidateView)> {
    let id = state
        .view
        .candidate
        .as_ref()
        .or(project.plan.decision.candidate.as_ref())
        .filter(|id| project.plan.candidate(id).is_some())
        .or_else(|| project.plan.candidates.first().map(|candidate| &candidate.id))?;
    Some((project.plan.candidate(id)?, state.derived.candidate(id)?))
}

/// Draws the step.
pub fn acceptance_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.acceptance;
    let shown = shown(state, project);
    page_header(ui, &words.title, &finding(shown, text), |ui| {
        if !project.plan.criteria.is_empty()
            && Button::secondary(&words.restore_defaults).hover(&words.add_missing).show(ui).clicked()
        {
            out.push(set_defaults(project));
        }
    });
    let Some((candidate, view)) = shown else {
        if empty_state(ui, &words.no_candidates, &words.no_candidates_button, &words.no_candidates_then) {
            out.push(Command::Go(Screen::Candidates));
        }
        return;
    };
    if project.plan.criteria.is_empty() {
        if empty_state(ui, &words.empty, &words.empty_button, &words.empty_then) {
            out.push(set_defaults(project));
        }
        return;
    }
    let t = tokens(ui);
    chips_ui(ui, state, project, candidate, text, out);
    ui.add_space(t.space.m);
    stages_ui(ui, project, view, text);
    ui.add_space(t.space.m);
    Card::new().tight().show(ui, |ui| table_ui(ui, state, project, candidate, view, text, out));
}

/// The defaults that follow from the brief; waivers stay with the criteria that stay.
fn set_defaults(project: &Project) -> Command {
    let mut criteria = default_criteria(&project.plan.brief);
    for criterion in &mut criteria {
        let before =
            project.plan.criteria.iter().find(|old| old.metric == criterion.metric && old.words == criterion.words);
        if let Some(before) = before {
            criterion.waivers.clone_from(&before.waivers);
        }
    }
    Command::Edit(Edit::PutCriteria(criteria))
}

fn finding(shown: Option<(&Candidate, &CandidateView)>, text: &Text) -> String {
    let words = &text.acceptance;
    let Some((candidate, view)) = shown else { return words.no_candidates.clone() };
    let Some(overall) = &view.overall else { return words.empty.clone() };
    let (n_passed, total) = passed(overall);
    let values = [
        ("candidate", candidate.name.clone()),
        ("passed", n_passed.to_string()),
        ("waived", overall.count(Standing::Waived).to_string()),
        ("failed", overall.count(Standing::Fail).to_string()),
        ("open", (total - n_passed - overall.count(Standing::Waived)).to_string()),
        ("total", total.to_string()),
    ];
    let template = if overall.is_accepted() {
        &words.accepted
    } else if overall.count(Standing::Fail) > 0 {
        &words.failing
    } else if overall.count(Standing::NotTested) == total {
        &words.untested
    } else {
        &words.open
    };
    fill(template, &values)
}

fn chips_ui(ui: &mut Ui, state: &State, project: &Project, shown: &Candidate, text: &Text, out: &mut Vec<Command>) {
    ui.horizontal_wrapped(|ui| {
        for candidate in &project.plan.candidates {
            let Some(overall) = state.derived.candidate(&candidate.id).and_then(|view| view.overall.as_ref()) else {
                continue;
            };
            let (n_passed, total) = passed(overall);
            let values = [("passed", n_passed.to_string()), ("total", total.to_string())];
            let rest = fill(&text.acceptance.pass_of, &values);
            let chip =
                Chip::new(&candidate.name).rest(&rest).series(candidate.series).selected(candidate.id == shown.id);
            if chip.show(ui).clicked() {
                out.push(Command::SelectCandidate(Some(candidate.id.clone())));
            }
        }
    });
}

/// The criteria of a stage with their verdicts, in the order of the plan.
fn of_stage<'a>(
    project: &'a Project,
    view: &'a CandidateView,
    stage: Stage,
) -> impl Iterator<Item = (&'a Criterion, &'a Judged)> {
    project.plan.criteria.iter().zip(&view.judged).filter(move |(criterion, _)| criterion.stage == stage)
}

fn stages_ui(ui: &mut Ui, project: &Project, view: &CandidateView, text: &Text) {
    let t = tokens(ui);
    columns(ui, t.space.s, [1.3, 1.0, 1.2, 1.0, 1.0], |cells| {
        for ((ui, stage), number) in cells.iter_mut().zip(Stage::ALL).zip(1..) {
            let judged: Vec<&Judged> = of_stage(project, view, stage).map(|(_, judged)| judged).collect();
            let n_passed = judged.iter().filter(|judged| Standing::of(judged) == Standing::Pass).count();
            Card::new().min_height(58.0).show(ui, |ui| {
                let values = [("passed", n_passed.to_string()), ("total", judged.len().to_string())];
                split(
                    ui,
                    |ui| {
                        caption(ui, &number.to_string());
                        ui.label(Font::Subhead.rich(text.stage(stage)));
                    },
                    |ui| caption(ui, &fill(&text.acceptance.stage_of, &values)),
                );
                ui.horizontal_wrapped(|ui| {
                    ui.spacing_mut().item_spacing.x = t.space.xs;
                    for judged in &judged {
                        let shape = Mark::of(judged);
                        mark(ui, shape, t.size.verdict, shape.word(text));
                    }
                });
            });
        }
    });
}

fn table_ui(
    ui: &mut Ui,
    state: &State,
    project: &Project,
    candidate: &Candidate,
    view: &CandidateView,
    text: &Text,
    out: &mut Vec<Command>,
) {
    let words = &text.acceptance;
    let rows: Vec<(usize, &Criterion, &Judged)> = Stage::ALL
        .into_iter()
        .zip(1..)
        .flat_map(|(stage, number)| {
            of_stage(project, view, stage)
                .enumerate()
                .map(move |(idx, (criterion, judged))| (if idx == 0 { number } else { 0 }, criterion, judged))
        })
        .collect();
    let selected = rows.iter().position(|(_, criterion, _)| state.view.criterion.as_ref() == Some(&criterion.id));
    let heads = [
        Column::left("", -14.0),
        Column::left(&words.criterion, 2.4),
        Column::left(&words.must_be, 1.0),
        Column::left(&words.measured, 1.3),
        Column::right(&words.samples, 0.7),
        Column::left(&words.verdict, -126.0),
        Column::right(&text.common.evidence, -96.0),
    ];
    let response = Table::new("acceptance", &heads).clickable(selected).show(ui, rows.len(), |row| {
        let Some((number, criterion, judged)) = rows.get(row.idx) else { return };
        row.muted(&if *number > 0 { number.to_string() } else { String::new() });
        row.text(show::statement(criterion, text));
        row.secondary(&show::must_be(criterion, judged.threshold, text));
        match judged.value {
            Some(value) => {
                let shown = show::value(criterion.metric, value, text);
                let interval = judged
                    .interval
                    .filter(|(low, high)| low < high)
                    .map(|interval| show::interval(criterion.metric, interval));
                row.marked(text, Origin::Measured, &format!("{shown} {}", interval.unwrap_or_default()));
            }
            None => row.muted(&words.no_evidence),
        }
        match judged.samples {
            Some(samples) => row.secondary(&format::count(samples)),
            None => row.muted("0"),
        }
        let shape = Mark::of(judged);
        row.badge(shape, shape.word(text));
        row.evidence(&judged.evidence, &words.no_evidence, out);
    });
    if let Some((_, criterion, _)) = response.clicked.and_then(|idx| rows.get(idx)) {
        out.push(Command::SelectCandidate(Some(candidate.id.clone())));
        out.push(Command::SelectCriterion(Some(criterion.id.clone())));
    }
}

/// The selected criterion with its verdict for the candidate on screen.
fn selected(state: &State) -> Option<(&Candidate, &Criterion, &Judged)> {
    let project = state.project.as_ref()?;
    let (candidate, view) = shown(state, project)?;
    let id = state.view.criterion.as_ref()?;
    let idx = project.plan.criteria.iter().position(|criterion| criterion.id == *id)?;
    Some((candidate, project.plan.criteria.get(idx)?, view.judged.get(idx)?))
}

/// Whether a criterion is selected.
#[must_use]
pub fn has_inspector(state: &State) -> bool {
    selected(state).is_some()
}

/// Why the verdict of the selected criterion is what it is, and what would settle it.
pub fn inspector_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some((candidate, criterion, judged)) = selected(state) else { return };
    let words = &text.acceptance;
    let t = tokens(ui);
    heading(ui, Font::Heading, show::statement(criterion, text));
    caption(ui, &format!("{} · {}", candidate.name, text.stage(criterion.stage)));
    ui.add_space(t.space.s);
    verdict_badge(ui, text, Mark::of(judged), BadgeSize::Big);
    ui.add_space(t.space.xs);
    small(ui, &show::why(judged.verdict, &judged.why, text));
    if let (Some(value), Some(limit)) = (judged.value, judged.threshold)
        && !matches!(criterion.metric, Metric::GpuModel | Metric::Attested)
    {
        let limit_shown = show::value(criterion.metric, limit, text);
        let limit_words = fill(&words.limit_words, &[("limit", limit_shown.clone())]);
        let value_shown = show::value(criterion.metric, value, text);
        let name = fill(&words.against_name, &[("value", value_shown), ("limit", limit_shown)]);
        against_limit(
            ui,
            AgainstLimit {
                value,
                interval: judged.interval,
                limit,
                at_most: criterion.comparison == Comparison::AtMost,
                mark: judged.verdict.into(),
                limit_words: &limit_words,
                name: &name,
            },
        );
    }
    facts_ui(ui, criterion, judged, text, out);
    settle_ui(ui, criterion, judged, text, out);
    waivers_ui(ui, criterion, candidate, state, text);
    rule(ui);
    if Button::link(&words.remove).show(ui).clicked() {
        out.push(Command::SelectCriterion(None));
        out.push(Command::Edit(Edit::RemoveCriterion(criterion.id.clone())));
    }
}

fn facts_ui(ui: &mut Ui, criterion: &Criterion, judged: &Judged, text: &Text, out: &mut Vec<Command>) {
    let words = &text.acceptance;
    if let Some(value) = judged.value {
        key_value(ui, &words.value, |ui| {
            ui.label(Font::Body.rich(show::value(criterion.metric, value, text)));
        });
    }
    if let Some(interval) = judged.interval.filter(|(low, high)| low < high) {
        key_value(ui, &words.interval, |ui| {
            ui.label(Font::Body.rich(show::interval(criterion.metric, interval)));
        });
    }
    key_value(ui, &words.must_be, |ui| {
        ui.label(Font::Body.rich(show::must_be(criterion, judged.threshold, text)));
    });
    if let Some(samples) = judged.samples {
        key_value(ui, &words.samples, |ui| {
            ui.label(Font::Body.rich(format::count(samples)));
        });
    }
    key_value(ui, &text.common.evidence, |ui| {
        if judged.evidence.is_empty() {
            caption(ui, &words.no_evidence);
        }
        for id in judged.evidence.iter().take(3) {
            crate::ui::widgets::citation(ui, id, out);
        }
    });
}

fn settle_ui(ui: &mut Ui, criterion: &Criterion, judged: &Judged, text: &Text, out: &mut Vec<Command>) {
    let words = &text.acceptance;
    let t = tokens(ui);
    if judged.verdict == crate::domain::acceptance::Verdict::Pass {
        return;
    }
    ui.add_space(t.space.m);
    ui.label(Font::Subhead.rich(&words.settle));
    let is_attested = criterion.metric == Metric::Attested;
    let by_load = criterion.stage == Stage::Load || criterion.stage == Stage::Functional;
    match &judged.why {
        Why::NoThreshold => {
            small(ui, &words.settle_brief);
            if Button::secondary(&words.go_brief).show(ui).clicked() {
                out.push(Command::Go(Screen::Brief));
            }
        }
        _ if is_attested => {
            small(ui, &words.settle_attest);
            if Button::primary(&words.attest).show(ui).clicked() {
                out.push(Command::Show(Layer::Attest));
            }
        }
        why => {
            match why {
                Why::FewSamples { have, need } => {
                    let values = [("have", format::count(*have)), ("need", format::count(*need))];
                    small(ui, &fill(&words.settle_samples, &values));
                }
                _ => {
                    small(ui, if by_load { &words.settle_run } else { &words.settle_probe });
                }
            }
            let (label, screen) =
                if by_load { (&words.go_load, Screen::Load) } else { (&words.go_hosts, Screen::Hosts) };
            if Button::secondary(label).show(ui).clicked() {
                out.push(Command::Go(screen));
            }
        }
    }
    ui.add_space(t.space.xs);
    if Button::secondary(&words.waive).show(ui).clicked() {
        out.push(Command::Show(Layer::Waive));
    }
}

fn waivers_ui(ui: &mut Ui, criterion: &Criterion, candidate: &Candidate, state: &State, text: &Text) {
    let words = &text.acceptance;
    let today = state.now.date_naive();
    for waiver in criterion.waivers.iter().filter(|waiver| waiver.candidate == candidate.id) {
        ui.add_space(tokens(ui).space.m);
        ui.horizontal(|ui| {
            mark(ui, Mark::Waived, tokens(ui).size.verdict, &text.common.waived);
            ui.label(Font::Subhead.rich(&words.waivers));
            if waiver.until < today {
                caption(ui, &words.expired);
            }
        });
        let values = [
            ("by", waiver.by.clone()),
            ("reason", waiver.reason.clone()),
            ("until", waiver.until.format("%Y-%m-%d").to_string()),
        ];
        small(ui, &fill(&words.waived_by, &values));
    }
}

/// What is typed into the waiver and attestation dialogs; widget memory.
#[derive(Debug, Clone, Default)]
struct Draft {
    by: String,
    words: String,
    until: Option<chrono::NaiveDate>,
    holds_not: bool,
}

/// The dialog that waives the selected criterion.
pub fn waive_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some((candidate, criterion, _)) = selected(state) else { return };
    let words = &text.acceptance;
    let id = egui::Id::unique("waive draft");
    let mut draft: Draft = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let mut done = false;
    dialog(ui, "waive", &words.waive_title, out, |ui, out| {
        small(ui, &format!("{} · {}", show::statement(criterion, text), candidate.name));
        small(ui, &words.waive_intro);
        Field::new("waive who", &words.waive_who).text(ui, &mut draft.by);
        Field::new("waive reason", &words.waive_reason).lines(ui, 3, &mut draft.words);
        Field::new("waive until", &words.waive_until).date(ui, text, &mut draft.until);
        let ready = !draft.by.trim().is_empty() && !draft.words.trim().is_empty() && draft.until.is_some();
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&words.waive_do).enabled(ready, &words.waive_needs).show(ui).clicked()
                && let Some(until) = draft.until
            {
                let waiver = Waiver {
                    candidate: candidate.id.clone(),
                    by: draft.by.trim().to_owned(),
                    reason: draft.words.trim().to_owned(),
                    until,
                    given_at: state.now,
                };
                out.push(Command::Edit(Edit::Waive(criterion.id.clone(), Box::new(waiver))));
                out.push(Command::CloseTop);
                done = true;
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
        });
    });
    keep_draft(ui, id, draft, done);
}

/// The dialog that attests the selected criterion.
pub fn attest_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some((candidate, criterion, _)) = selected(state) else { return };
    let words = &text.acceptance;
    let id = egui::Id::unique("attest draft");
    let mut draft: Draft = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let mut done = false;
    dialog(ui, "attest", &words.attest_title, out, |ui, out| {
        small(ui, &format!("{} · {}", show::statement(criterion, text), candidate.name));
        small(ui, &words.attest_intro);
        Field::new("attest who", &text.decision.sign_who).text(ui, &mut draft.by);
        Field::new("attest note", &words.attest_note).lines(ui, 4, &mut draft.words);
        tick(ui, &words.attest_holds_not, &mut draft.holds_not);
        let ready = !draft.by.trim().is_empty() && !draft.words.trim().is_empty();
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&words.attest_do).enabled(ready, &words.attest_note).show(ui).clicked() {
                out.push(Command::Attest {
                    criterion: criterion.id.clone(),
                    candidate: candidate.id.clone(),
                    by: draft.by.trim().to_owned(),
                    note: draft.words.trim().to_owned(),
                    holds: !draft.holds_not,
                });
                out.push(Command::CloseTop);
                done = true;
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
        });
    });
    keep_draft(ui, id, draft, done);
}

fn keep_draft(ui: &Ui, id: egui::Id, draft: Draft, done: bool) {
    ui.data_mut(|data| {
        if done {
            data.remove::<Draft>(id);
        } else {
            data.insert_temp(id, draft);
        }
    });
}
