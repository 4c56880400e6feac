//! What if: sliders beside the record. What they say lives in the window's memory and in no file.

use std::sync::Arc;

use egui::Ui;

use super::{cost_of_work, money};
use crate::app::command::Command;
use crate::app::state::{Project, State};
use crate::domain::candidate::Candidate;
use crate::domain::compare::accepted::CandidateCost;
use crate::domain::compare::tell::Teller;
use crate::domain::compare::whatif::{Assumed, Offered, WhatIf, what_if};
use crate::domain::text::{Text, fill};
use crate::project::plan::Plan;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Card, Field, FigureUi, caption, heading, slider, small, split, swatch};

/// The card.
pub(super) fn what_if_ui(ui: &mut Ui, state: &State, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let plan = &project.plan;
    let id = egui::Id::unique("cost what if");
    let mut change: WhatIf = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let known = |id: &_| plan.candidate(id).is_some();
    let cheapest = || super::offers(state, project, super::View::default()).first().map(|one| one.candidate.id.clone());
    change.candidate =
        change.candidate.filter(known).or_else(|| state.view.candidate.clone().filter(known)).or_else(cheapest);
    let Some(candidate) = change.candidate.as_ref().and_then(|id| plan.candidate(id)) else { return };
    Card::new().show(ui, |ui| {
        head_ui(ui, &mut change, text);
        sliders_ui(ui, state, project, candidate, &mut change, text);
        if change.is_changed() {
            results_ui(ui, state, project, &change, text, out);
        } else {
            caption(ui, &words.whatif_note);
        }
    });
    ui.data_mut(|data| {
        data.insert_temp(id, change);
    });
}

fn head_ui(ui: &mut Ui, change: &mut WhatIf, text: &Text) {
    let words = &text.cost;
    let t = tokens(ui);
    let changed = change.is_changed();
    split(
        ui,
        |ui| {
            heading(ui, Font::Heading, &words.whatif);
            if changed {
                let mark = Font::Caption.rich(format!(" {} ", words.not_record));
                ui.label(mark.color(t.color.inconclusive).background_color(t.color.inconclusive_soft));
            }
        },
        |ui| {
            if Button::ghost(&words.reset).small().enabled(changed, "").show(ui).clicked() {
                *change = WhatIf { candidate: change.candidate.clone(), ..WhatIf::default() };
            }
        },
    );
}

fn sliders_ui(ui: &mut Ui, state: &State, project: &Project, candidate: &Candidate, change: &mut WhatIf, text: &Text) {
    let words = &text.cost;
    let brief = &project.plan.brief;
    let named = |template: &str| fill(template, &[("candidate", candidate.name.clone())]);
    if let Some(mean) = brief.mean_rate.filter(|mean| *mean > 0.0) {
        let mut value = change.mean_rate.unwrap_or(mean);
        let step = if mean >= 1.0 { 0.1 } else { 0.01 };
        if slider(ui, "whatif.rate", &words.whatif_rate, "req/s", step..=mean * 4.0, step, &mut value) {
            change.mean_rate = moved(value, mean);
        }
    }
    if project.plan.candidates.len() > 1 {
        let choices: Vec<_> =
            project.plan.candidates.iter().map(|one| (Some(one.id.clone()), one.name.as_str())).collect();
        let mut chosen = Some(candidate.id.clone());
        if Field::new("whatif.candidate", &words.whatif_about).small().choice(ui, &choices, &mut chosen) {
            // What was said of one candidate is not said of another.
            *change = WhatIf { candidate: chosen, mean_rate: change.mean_rate, ..WhatIf::default() };
            return;
        }
    }
    let mut percent = f64::from(change.price_percent.unwrap_or(100));
    if slider(ui, "whatif.price", &named(&words.whatif_price), "%", 50.0..=150.0, 1.0, &mut percent) {
        change.price_percent = Some(whole(percent)).filter(|percent| *percent != 100);
    }
    let months = candidate.term.months.filter(|months| *months > 0);
    let mut value = f64::from(change.months.or(months).unwrap_or(1));
    if slider(ui, "whatif.months", &named(&words.whatif_months), &words.whatif_months_unit, 1.0..=36.0, 1.0, &mut value)
    {
        change.months = Some(whole(value)).filter(|value| Some(*value) != months);
    }
    let share = state.derived.candidate(&candidate.id).and_then(|view| view.cost.carried.as_ref().ok());
    if let Some(share) = share.map(|carried| carried.share.value) {
        let mut value = (change.accepted_share.unwrap_or(share) * 1e4).round() / 1e2;
        if slider(ui, "whatif.share", &named(&words.whatif_share), "%", 1.0..=100.0, 0.5, &mut value) {
            change.accepted_share = moved(value / 100.0, share);
        }
    }
}

/// The value, unless it is that of the record.
fn moved(value: f64, record: f64) -> Option<f64> {
    ((value - record).abs() > 1e-9).then_some(value)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sliders of small whole numbers")]
fn whole(value: f64) -> u32 {
    value.round().max(0.0) as u32
}

fn results_ui(ui: &mut Ui, state: &State, project: &Project, change: &WhatIf, text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let plan = &project.plan;
    let t = tokens(ui);
    let offers: Vec<(&Candidate, &CandidateCost, Offered<'_>)> = state
        .derived
        .candidates
        .iter()
        .filter_map(|view| {
            let candidate = plan.candidate(&view.id)?;
            Some((candidate, &view.cost, (candidate, view.runs.as_slice())))
        })
        .collect();
    let offered: Vec<Offered<'_>> = offers.iter().map(|(.., offered)| *offered).collect();
    let assumed =
        remembered(ui, project, change, || what_if(&plan.brief, &offered, plan.demonstration, &plan.cost, change));
    ui.add_space(t.space.xs);
    for ((candidate, record, _), cost) in offers.iter().zip(&assumed.costs) {
        ui.horizontal_wrapped(|ui| {
            swatch(ui, candidate.series, &candidate.name);
            small(ui, &candidate.name);
            let title = fill(&words.whatif_row, &[("candidate", candidate.name.clone())]);
            let unit = cost.per_thousand.as_ref().map_or("", |figure| figure.value.currency.code());
            FigureUi::new(&title).unit(unit).font(Font::BodyBold).show(ui, text, &cost.per_thousand, cost_of_work, out);
            if let Ok(figure) = &record.per_thousand {
                caption(ui, &fill(&words.whatif_record, &[("value", cost_of_work(&figure.value))]));
            }
            if let (Ok(carried), Ok(month)) = (&cost.carried, &cost.month_total) {
                let values = [("n", carried.units.to_string()), ("month", money(&month.value))];
                caption(ui, &fill(&words.whatif_units, &values));
            }
        });
    }
    if let Ok(of) = &assumed.break_even {
        let teller = Teller { text, candidates: &plan.candidates, declared: &plan.cost };
        caption(ui, &teller.lowest_paragraph(of));
    }
}

/// What was computed last, and from what.
#[derive(Clone)]
struct Remembered {
    change: WhatIf,
    plan: Arc<Plan>,
    evidence_revision: u64,
    assumed: Arc<Assumed>,
}

/// The figures for a change, computed when it, the plan or the records are not those of the last frame.
fn remembered(ui: &Ui, project: &Project, change: &WhatIf, compute: impl FnOnce() -> Assumed) -> Arc<Assumed> {
    let id = egui::Id::unique("cost what if figures");
    let last: Option<Remembered> = ui.data(|data| data.get_temp(id));
    let is_same = |last: &Remembered| {
        last.change == *change
            && Arc::ptr_eq(&last.plan, &project.plan)
            && last.evidence_revision == project.evidence_revision
    };
    if let Some(last) = last.filter(is_same) {
        return last.assumed;
    }
    let assumed = Arc::new(compute());
    let (change, plan, evidence_revision) = (change.clone(), Arc::clone(&project.plan), project.evidence_revision);
    let remembered = Remembered { change, plan, evidence_revision, assumed: Arc::clone(&assumed) };
    ui.data_mut(|data| {
        data.insert_temp(id, remembered);
    });
    assumed
}
