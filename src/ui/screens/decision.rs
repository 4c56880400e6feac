//! Step 9: what is signed, and why. The side-by-side table a meeting looks at, the decision record, the signatures.

use egui::Ui;

use crate::app::command::{Command, Layer, Screen};
use crate::app::derived::CandidateView;
use crate::app::state::{Project, State};
use crate::domain::candidate::Candidate;
use crate::domain::compare::accepted::Carried;
use crate::domain::decision::{Action, Decision, Signature};
use crate::domain::figure::{Figure, Origin};
use crate::domain::format;
use crate::domain::memory::GIB;
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::project::edit::Edit;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{
    BadgeSize, Button, Card, Chip, Column, Field, FigureUi, Mark, Row, Table, caption, columns, dialog, dialog_buttons,
    empty_state, heading, icon_button, icons, mark, page_header, rule, small, split, tally, verdict_badge,
};

/// A candidate with everything its column shows.
#[derive(Clone, Copy)]
struct Offer<'a> {
    candidate: &'a Candidate,
    view: &'a CandidateView,
}

fn offers<'a>(state: &'a State, project: &'a Project) -> Vec<Offer<'a>> {
    state
        .derived
        .candidates
        .iter()
        .filter_map(|view| Some(Offer { candidate: project.plan.candidate(&view.id)?, view }))
        .collect()
}

/// Draws the step.
pub fn decision_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.decision;
    page_header(ui, &words.title, &finding(state, project, text), |ui| {
        if Button::secondary(&words.present).icon(icons::PRESENTATION_CHART).key("F5").show(ui).clicked() {
            out.push(Command::Show(Layer::Presentation));
        }
        if Button::secondary(&words.report).icon(icons::FILE_TEXT).show(ui).clicked() {
            out.push(Command::Show(Layer::Report));
        }
    });
    let offers = offers(state, project);
    if offers.is_empty() {
        if empty_state(ui, &words.empty, &words.empty_button, &words.empty_then) {
            out.push(Command::Go(Screen::Candidates));
        }
        return;
    }
    let t = tokens(ui);
    columns(ui, t.space.m, [1.0, -372.0], |[left, right]| {
        Card::new().tight().show(left, |ui| table_ui(ui, project, &offers, text, out));
        left.add_space(t.space.s);
        let values = [("first", words.follow.clone()), ("second", words.kinds.clone())];
        caption(left, &fill(&text.common.two_sentences, &values));
        Card::new().show(right, |ui| record_ui(ui, project, text, out));
        right.add_space(t.space.m);
        Card::new().show(right, |ui| sign_off_ui(ui, state, project, text, out));
    });
}

/// What is decided, in one sentence without the signatures.
#[must_use]
pub fn sentence(project: &Project, text: &Text) -> String {
    let words = &text.decision;
    let decision = &project.plan.decision;
    let name = decision.candidate.as_ref().and_then(|id| project.plan.candidate(id)).map(|c| c.name.clone());
    match (decision.action, name) {
        (None, _) => words.nothing_decided.clone(),
        (Some(Action::Reject), None) => words.rejected.clone(),
        (Some(action), name) => {
            let values = [("action", text.action(action).to_owned()), ("candidate", name.unwrap_or_default())];
            fill(if decision.condition.is_empty() { &words.decided } else { &words.decided_condition }, &values)
        }
    }
}

fn finding(state: &State, project: &Project, text: &Text) -> String {
    let n_signed = state.derived.decision.n_signed;
    let signed = if n_signed == 0 {
        text.decision.signatures_open.clone()
    } else {
        fill(&text.decision.signed, &[("n", n_signed.to_string())])
    };
    fill(&text.common.two_sentences, &[("first", sentence(project, text)), ("second", signed)])
}

#[derive(Clone, Copy)]
enum Line {
    Acceptance,
    Cost,
    Month,
    Highest,
    Ttft,
    Memory,
    Promises,
    Term,
}

const LINES: [Line; 8] =
    [Line::Acceptance, Line::Cost, Line::Month, Line::Highest, Line::Ttft, Line::Memory, Line::Promises, Line::Term];

fn table_ui(ui: &mut Ui, project: &Project, offers: &[Offer<'_>], text: &Text, out: &mut Vec<Command>) {
    let words = &text.decision;
    let t = tokens(ui);
    let decided = project.plan.decision.candidate.as_ref();
    let mut heads = vec![Column::left("", 1.2)];
    heads.extend(offers.iter().map(|offer| {
        Column::right(&offer.candidate.name, 1.0)
            .candidate(offer.candidate.series, &offer.candidate.short)
            .selected(decided == Some(&offer.candidate.id))
    }));
    let response = Table::new("decision", &heads).row_height(t.size.row_roomy).show(ui, LINES.len(), |row| {
        let Some(line) = LINES.get(row.idx).copied() else { return };
        let budget = project.plan.brief.budget_month.map(|money| {
            let exact = Exact::from(money);
            format!("{} {}", exact.show(), exact.currency.code())
        });
        match line {
            Line::Acceptance => row.strong(&words.acceptance),
            Line::Cost => row.strong(&words.cost_thousand),
            Line::Month => match budget {
                Some(budget) => row.long_text(&fill(&words.month_budget, &[("budget", budget)])),
                None => row.long_text(&words.month),
            },
            Line::Highest => row.long_text(&words.highest),
            Line::Ttft => row.long_text(&words.ttft_at_peak),
            Line::Memory => row.long_text(&words.memory_free),
            Line::Promises => row.long_text(&words.promises),
            Line::Term => row.long_text(&words.term),
        }
        for offer in offers {
            cell(row, line, offer, text, out);
        }
    });
    if let Some(offer) = response.head_clicked.and_then(|idx| idx.checked_sub(1)).and_then(|idx| offers.get(idx)) {
        let decision = Decision { candidate: Some(offer.candidate.id.clone()), ..project.plan.decision.clone() };
        out.push(Command::Edit(Edit::PutDecision(Box::new(decision))));
    }
}

fn cell(row: &mut Row<'_>, line: Line, offer: &Offer<'_>, text: &Text, out: &mut Vec<Command>) {
    let words = &text.decision;
    let cost = &offer.view.cost;
    let title = |words: &str| format!("{}, {words}", offer.candidate.name);
    match line {
        Line::Acceptance => acceptance_cell(row, offer, text),
        Line::Cost => {
            let name = title(&words.cost_thousand);
            let unit = cost.per_thousand.as_ref().map_or("", |figure| figure.value.currency.code());
            let figure = FigureUi::new(&name).font(Font::FigureM).unit(unit);
            row.figure(figure, text, &cost.per_thousand, |cost| cost.show_significant(4), out);
        }
        Line::Month => {
            let name = title(&words.month);
            let unit = cost.month_total.as_ref().map_or("", |figure| figure.value.currency.code());
            let mut figure = FigureUi::new(&name).unit(unit);
            if cost.over_budget.is_some() {
                figure = figure.color(tokens(row.ui()).color.fail);
            }
            row.figure(figure, text, &cost.month_total, Exact::show, out);
        }
        Line::Highest | Line::Ttft => match &cost.carried {
            Ok(carried) if matches!(line, Line::Highest) => {
                let name = title(&words.highest);
                let capacity = Ok(carried.capacity_per_sec.clone());
                row.figure(FigureUi::new(&name).unit("req/s"), text, &capacity, |rate| format::short(*rate), out);
            }
            Ok(carried) => match ttft_p95(offer, carried) {
                Some(secs) => {
                    let name = title(&words.ttft_at_peak);
                    let figure = Ok(Figure::measured(secs, vec![carried.basis.evidence.clone()]));
                    row.figure(FigureUi::new(&name), text, &figure, |secs| format::latency(*secs), out);
                }
                None => row.muted(&text.common.no_data),
            },
            Err(gap) => row.muted(&text.gap(gap)),
        },
        Line::Memory => {
            let name = title(&words.memory_free);
            let is_short = offer.view.memory.as_ref().is_ok_and(|figure| figure.value.free.value < 0.0);
            let mut figure = FigureUi::new(&name).unit("GiB");
            if is_short {
                figure = figure.color(tokens(row.ui()).color.fail);
            }
            row.figure(figure, text, &offer.view.memory, |memory| format::fixed(memory.free.value / GIB, 1), out);
        }
        Line::Promises => promises_cell(row, offer, text),
        Line::Term => row.marked(text, Origin::Declared, &term_words(offer.candidate, text)),
    }
}

fn acceptance_cell(row: &mut Row<'_>, offer: &Offer<'_>, text: &Text) {
    let Some(overall) = &offer.view.overall else {
        row.muted(&text.decision.no_criteria);
        return;
    };
    let worst = Mark::from(overall.worst);
    row.cell(worst.word(text), |ui| {
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 2.0;
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                verdict_badge(ui, text, worst, BadgeSize::Normal);
                let counts: Vec<(Mark, usize)> = overall
                    .tally
                    .iter()
                    .rev()
                    .filter(|(_, n)| *n > 0)
                    .map(|(standing, n)| (Mark::from(*standing), *n))
                    .collect();
                tally(ui, text, &counts);
            });
        });
    });
}

fn promises_cell(row: &mut Row<'_>, offer: &Offer<'_>, text: &Text) {
    let words = &text.decision;
    let n_mismatches = offer.view.n_mismatches();
    let is_probed = offer.view.promises.iter().any(|promise| !promise.evidence.is_empty());
    match (is_probed, n_mismatches) {
        (false, _) => row.muted(&words.none_found),
        (true, 0) => row.cell(&words.all_match, |ui| {
            ui.label(Font::Body.rich(&words.all_match));
            mark(ui, Mark::Pass, tokens(ui).size.verdict, &text.common.pass);
        }),
        (true, n) => {
            let shown = fill(&words.mismatches, &[("n", n.to_string())]);
            row.cell(&shown, |ui| {
                ui.label(Font::Body.rich(&shown));
                mark(ui, Mark::Fail, tokens(ui).size.verdict, &text.common.fail);
            });
        }
    }
}

/// TTFT p95 of the step that the cost stands on.
fn ttft_p95(offer: &Offer<'_>, carried: &Carried) -> Option<f64> {
    let run = offer.view.runs.iter().find(|run| run.id == carried.basis.evidence)?;
    run.points.get(carried.basis.step_idx)?.ttft?.p95
}

fn term_words(candidate: &Candidate, text: &Text) -> String {
    let words = &text.decision;
    let term = match candidate.term.months {
        None => text.common.not_stated.clone(),
        Some(0) => words.term_hourly.clone(),
        Some(months) => fill(&words.term_months, &[("n", months.to_string())]),
    };
    match candidate.term.reclaimable {
        Some(true) => format!("{term}{}{}", text.common.list_comma, words.term_reclaimable),
        Some(false) | None => term,
    }
}

fn record_ui(ui: &mut Ui, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let words = &text.decision;
    let t = tokens(ui);
    let mut decision = project.plan.decision.clone();
    split(
        ui,
        |ui| {
            heading(ui, Font::Heading, &words.record);
        },
        |ui| {
            let draft = fill(&words.draft, &[("revision", project.revision.to_string())]);
            caption(ui, &draft);
        },
    );
    ui.add_space(t.space.xs);
    ui.horizontal_wrapped(|ui| {
        for action in Action::ALL {
            let chosen = decision.action == Some(action);
            if Chip::new(text.action(action)).selected(chosen).tick().show(ui).clicked() {
                decision.action = if chosen { None } else { Some(action) };
            }
        }
    });
    ui.add_space(t.space.s);
    let mut choices = vec![(None, words.no_candidate.as_str())];
    choices.extend(project.plan.candidates.iter().map(|c| (Some(c.id.clone()), c.name.as_str())));
    Field::new("decision candidate", &words.candidate).choice(ui, &choices, &mut decision.candidate);
    ui.add_space(t.space.s);
    ui.label(Font::Subhead.rich(&words.reasons));
    let mut removed = None;
    for (idx, reason) in decision.reasons.iter().enumerate() {
        ui.horizontal(|ui| {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if icon_button(ui, icons::X, &words.remove_reason, true).clicked() {
                    removed = Some(idx);
                }
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    ui.add(egui::Label::new(Font::Small.rich(format!("· {reason}"))).wrap());
                });
            });
        });
    }
    if let Some(idx) = removed {
        decision.reasons.remove(idx);
    }
    new_reason_ui(ui, &mut decision, text);
    ui.add_space(t.space.s);
    Field::new("decision condition", &words.condition).text(ui, &mut decision.condition);
    Field::new("decision due", &words.condition_due).date(ui, text, &mut decision.condition_due);
    columns(ui, t.space.s, [1.0, 1.0], |[owner, date]| {
        Field::new("decision owner", &words.owner).text(owner, &mut decision.owner);
        Field::new("decision date", &words.date).date(date, text, &mut decision.date);
    });
    if decision != project.plan.decision {
        out.push(Command::Edit(Edit::PutDecision(Box::new(decision))));
    }
}

/// A field for one more reason; it is added by the button, or by Enter.
fn new_reason_ui(ui: &mut Ui, decision: &mut Decision, text: &Text) {
    let words = &text.decision;
    let id = egui::Id::unique("decision new reason");
    let mut draft: String = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    Field::new("decision reason", &words.add_reason).hint(&words.reason_new).hide_label().text(ui, &mut draft);
    let entered = ui.memory(|memory| memory.had_focus_last_frame(Field::id("decision reason")))
        && ui.input(|input| input.key_pressed(egui::Key::Enter));
    let is_ready = !draft.trim().is_empty();
    let clicked = Button::link(&words.add_reason).enabled(is_ready, &words.reason_new).show(ui).clicked();
    if is_ready && (clicked || entered) {
        decision.reasons.push(draft.trim().to_owned());
        draft.clear();
    }
    ui.data_mut(|data| {
        data.insert_temp(id, draft);
    });
}

fn sign_off_ui(ui: &mut Ui, state: &State, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let words = &text.decision;
    let t = tokens(ui);
    heading(ui, Font::Heading, &words.sign_off);
    ui.add_space(t.space.xs);
    if project.plan.decision.signatures.is_empty() {
        small(ui, &words.nobody_signed);
    }
    for signature in &project.plan.decision.signatures {
        let is_current = signature.plan_digest == state.derived.decision.digest;
        split(
            ui,
            |ui| {
                let shape = if is_current { Mark::Pass } else { Mark::Stale };
                mark(ui, shape, t.size.verdict, shape.word(text));
                ui.label(Font::Small.rich(format!("{}{}{}", signature.by, text.common.list_comma, signature.role)));
            },
            |ui| {
                let values = [("at", format::moment(&signature.at)), ("revision", signature.revision.to_string())];
                caption(ui, &fill(&words.signed_at, &values));
            },
        );
        if !is_current {
            caption(ui, &words.signed_other);
        }
    }
    rule(ui);
    let ready = project.plan.decision.action.is_some();
    if Button::primary(&words.sign).enabled(ready, &words.nothing_decided).show(ui).clicked() {
        out.push(Command::Show(Layer::Sign));
    }
}

/// The dialog in which a person signs the plan as it stands.
pub fn sign_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.decision;
    let id = egui::Id::unique("sign draft");
    let mut draft: (String, String) = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    dialog(ui, "sign", &words.sign_title, out, |ui, out| {
        ui.label(Font::BodyBold.rich(sentence(project, text)));
        for reason in &project.plan.decision.reasons {
            small(ui, &format!("· {reason}"));
        }
        if !project.plan.decision.condition.is_empty() {
            small(ui, &project.plan.decision.condition);
        }
        small(ui, &fill(&words.sign_intro, &[("revision", project.revision.to_string())]));
        Field::new("sign who", &words.sign_who).text(ui, &mut draft.0);
        Field::new("sign role", &words.sign_role).text(ui, &mut draft.1);
        let ready = !draft.0.trim().is_empty() && !draft.1.trim().is_empty();
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&words.sign_do).enabled(ready, &words.sign_needs).show(ui).clicked() {
                let mut decision = project.plan.decision.clone();
                decision.signatures.push(Signature {
                    by: draft.0.trim().to_owned(),
                    role: draft.1.trim().to_owned(),
                    at: state.now,
                    revision: project.revision,
                    plan_digest: state.derived.decision.digest.clone(),
                });
                out.push(Command::Edit(Edit::PutDecision(Box::new(decision))));
                out.push(Command::CloseTop);
                draft = Default::default();
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
        });
    });
    ui.data_mut(|data| {
        data.insert_temp(id, draft);
    });
}
