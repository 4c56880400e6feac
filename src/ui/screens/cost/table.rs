//! Components counted once, then what was accepted, then the rows that explain.

use egui::Ui;
use num_rational::BigRational;

use super::{Offer, cost_of_work, money};
use crate::app::command::Command;
use crate::app::state::Project;
use crate::domain::billing::Category;
use crate::domain::compare::accepted::{Carried, StepChoice, to_f64};
use crate::domain::compare::month::{LineAmount, MonthCost};
use crate::domain::figure::{Answer, Gap};
use crate::domain::format;
use crate::domain::load::Arrivals;
use crate::domain::money::{Exact, round_to_places};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Column, FigureUi, Row, Table};

/// One kind of row of the table.
#[derive(Clone, Copy)]
enum Line {
    Component(Category),
    TotalOne,
    Units,
    TotalAll,
    StoppedDay,
    Arriving,
    Share,
    Accepted,
    TokensEach,
    PerRequest,
    PerThousand,
    PerMillion,
    FullUse,
    Utilisation,
    Idle,
    Explaining,
    Basis,
}

pub(super) fn table_ui(ui: &mut Ui, project: &Project, offers: &[Offer<'_>], text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let mut lines: Vec<Line> = Category::ALL
        .into_iter()
        .filter(|category| offers.iter().any(|offer| month(offer).lines.iter().any(|line| line.category == *category)))
        .map(Line::Component)
        .collect();
    lines.extend([
        Line::TotalOne,
        Line::Units,
        Line::TotalAll,
        Line::StoppedDay,
        Line::Arriving,
        Line::Share,
        Line::Accepted,
        Line::TokensEach,
        Line::PerRequest,
        Line::PerThousand,
        Line::PerMillion,
        Line::FullUse,
        Line::Utilisation,
        Line::Idle,
        Line::Explaining,
        Line::Basis,
    ]);
    let currency = offers.iter().find_map(|offer| currency_of(month(offer))).unwrap_or("");
    let mut heads = vec![Column::left(fill(&words.components, &[("currency", currency.to_owned())]), 1.7)];
    heads.extend(
        offers.iter().map(|offer| Column::right(&offer.candidate.name, 1.0).candidate(offer.candidate.series, "")),
    );
    let rate = project.plan.brief.mean_rate.map(format::short).unwrap_or_else(|| text.common.not_stated.clone());
    Table::new("cost table", &heads).show(ui, lines.len(), |row| {
        let Some(line) = lines.get(row.idx).copied() else { return };
        head_cell(row, line, offers, &rate, text);
        for offer in offers {
            cell(row, line, offer, text, out);
        }
    });
}

fn month<'a>(offer: &Offer<'a>) -> &'a MonthCost {
    &offer.view.cost.month
}

fn currency_of(month: &MonthCost) -> Option<&'static str> {
    month.lines.iter().find_map(|line| match &line.amount {
        LineAmount::Priced(amount) | LineAmount::Unspread(amount) => Some(amount.currency.code()),
        _ => None,
    })
}

fn head_cell(row: &mut Row<'_>, line: Line, offers: &[Offer<'_>], rate: &str, text: &Text) {
    let words = &text.cost;
    let hours = offers.first().map(|offer| month(offer).month_hours.to_string()).unwrap_or_default();
    match line {
        Line::Component(category) => row.text(text.category(category)),
        Line::TotalOne => row.strong(&fill(&words.total_one, &[("hours", hours)])),
        Line::Units => row.text(&words.units_row),
        Line::Utilisation => row.secondary(&words.utilisation),
        Line::TotalAll => row.strong(&fill(&words.total_all, &[("hours", hours)])),
        Line::StoppedDay => row.secondary(&words.stopped_day),
        Line::Arriving => row.text(&fill(&words.arriving, &[("rate", rate.to_owned())])),
        Line::Share => row.text(&words.accepted_share),
        Line::Accepted => row.text(&words.accepted),
        Line::TokensEach => row.text(&words.tokens_each),
        Line::PerRequest => row.text(&words.per_request),
        Line::PerThousand => row.strong(&words.per_thousand),
        Line::PerMillion => row.strong(&words.per_million),
        Line::FullUse => row.secondary(&words.full_use),
        Line::Idle => row.secondary(&words.idle),
        Line::Explaining => row.secondary(&words.explaining),
        Line::Basis => row.secondary(&words.basis),
    }
}

fn cell(row: &mut Row<'_>, line: Line, offer: &Offer<'_>, text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let cost = &offer.view.cost;
    let title = |template: &str| format!("{}, {template}", offer.candidate.name);
    let carried = cost.carried.as_ref();
    match line {
        Line::Component(category) => component_cell(row, month(offer), category, text),
        Line::TotalOne => {
            let name = title(&words.total_one);
            match (&month(offer).total, &month(offer).lower_bound) {
                (Err(_), Some(bound)) => row.muted(&fill(&words.lower_bound, &[("amount", money(bound))])),
                (total, _) => figure(row, &name, Font::BodyBold, total, Exact::show, text, out),
            }
        }
        Line::TotalAll => {
            figure(row, &title(&words.total_all), Font::BodyBold, &cost.month_total, Exact::show, text, out)
        }
        Line::StoppedDay => {
            figure(row, &title(&words.stopped_day), Font::Body, &month(offer).stopped_day, Exact::show, text, out);
        }
        Line::PerRequest => {
            figure(row, &title(&words.per_request), Font::Body, &cost.per_request, cost_of_work, text, out);
        }
        Line::PerThousand => {
            figure(row, &title(&words.per_thousand), Font::BodyBold, &cost.per_thousand, cost_of_work, text, out);
        }
        Line::PerMillion => {
            figure(row, &title(&words.per_million), Font::BodyBold, &cost.per_million_tokens, cost_of_work, text, out);
        }
        Line::FullUse => {
            figure(row, &title(&words.full_use), Font::Body, &cost.full_use_per_thousand, cost_of_work, text, out);
        }
        _ => match carried {
            Ok(carried) => carried_cell(row, line, offer, carried, text, out),
            Err(gap) => gap_cell(row, gap, text),
        },
    }
}

fn carried_cell(
    row: &mut Row<'_>,
    line: Line,
    offer: &Offer<'_>,
    carried: &Carried,
    text: &Text,
    out: &mut Vec<Command>,
) {
    let words = &text.cost;
    let title = |template: &str| format!("{}, {template}", offer.candidate.name);
    match line {
        Line::Arriving => {
            figure(row, &title(&words.arriving), Font::Body, &carried.requests_month, whole, text, out);
        }
        Line::Share => {
            let share = Ok(carried.share.clone());
            let name = title(&words.accepted_share);
            row.figure(FigureUi::new(&name), text, &share, |share| format::percent(*share, 2), out);
        }
        Line::Accepted => {
            figure(row, &title(&words.accepted), Font::Body, &carried.accepted_month, whole, text, out);
        }
        Line::TokensEach => figure(
            row,
            &title(&words.tokens_each),
            Font::Body,
            &carried.tokens_per_request,
            |tokens| format::short(*tokens),
            text,
            out,
        ),
        Line::Units => {
            let units = Ok(carried.units_figure.clone());
            figure(row, &title(&words.units_row), Font::Body, &units, |units| units.to_string(), text, out);
        }
        Line::Utilisation => match &carried.utilisation {
            Some(used) => {
                let used = Ok(used.clone());
                figure(
                    row,
                    &title(&words.utilisation),
                    Font::Body,
                    &used,
                    |share| format::percent(*share, 1),
                    text,
                    out,
                );
            }
            None => row.muted(&text.common.not_stated),
        },
        Line::Idle => match &carried.explaining.idle {
            Some(idle) => row.secondary(&format!("{} {}", idle.text(), idle.unit())),
            None => row.muted(&text.common.not_stated),
        },
        Line::Explaining => {
            let why = &carried.explaining;
            let values = [
                ("late", why.late.text().to_owned()),
                ("rejected", why.rejected.text().to_owned()),
                ("failed", why.failed.text().to_owned()),
                ("cut", why.cut.text().to_owned()),
                ("sent", why.sent.text().to_owned()),
            ];
            row.secondary(&fill(&words.explaining_value, &values));
        }
        _ => row.muted(&basis_words(carried, text)),
    }
}

/// Which step the numbers stand on, in words.
fn basis_words(carried: &Carried, text: &Text) -> String {
    let words = &text.cost;
    let basis = &carried.basis;
    let level =
        if basis.arrivals == Arrivals::Concurrency { &words.basis_level_in_flight } else { &words.basis_level_rate };
    let level = fill(level, &[("level", basis.level.to_string())]);
    let template = match basis.choice {
        StepChoice::AtPeak => &words.basis_at_peak,
        StepChoice::AbovePeak => &words.basis_above_peak,
        StepChoice::HighestWithinSlo => &words.basis_highest,
    };
    fill(template, &[("level", level)])
}

fn component_cell(row: &mut Row<'_>, month: &MonthCost, category: Category, text: &Text) {
    let words = &text.cost;
    let amounts: Vec<String> = month
        .lines
        .iter()
        .filter(|line| line.category == category)
        .map(|line| match &line.amount {
            LineAmount::Priced(amount) => amount.show(),
            LineAmount::Unspread(amount) => fill(&words.apart, &[("amount", money(amount))]),
            LineAmount::Included => words.included.clone(),
            LineAmount::Unknown => words.unknown.clone(),
            LineAmount::NotApplicable => words.not_applicable.clone(),
        })
        .collect();
    let is_priced =
        month.lines.iter().any(|line| line.category == category && matches!(line.amount, LineAmount::Priced(_)));
    match (amounts.is_empty(), is_priced) {
        (true, _) => row.muted(&text.report.not_in_offer),
        (false, true) => row.text(&amounts.join(" + ")),
        (false, false) => row.muted(&amounts.join(" + ")),
    }
}

fn figure<T>(
    row: &mut Row<'_>,
    title: &str,
    font: Font,
    answer: &Answer<T>,
    write: impl Fn(&T) -> String,
    text: &Text,
    out: &mut Vec<Command>,
) {
    match answer {
        Ok(_) => row.figure(FigureUi::new(title).font(font), text, answer, write, out),
        Err(gap) => gap_cell(row, gap, text),
    }
}

/// Why there is no value, shortened in the cell and whole on hover.
fn gap_cell(row: &mut Row<'_>, gap: &Gap, text: &Text) {
    let words = text.gap(gap);
    row.cell(&words, |ui| {
        let color = tokens(ui).color.text_muted;
        ui.add(egui::Label::new(Font::Small.rich(&words).color(color)).truncate()).on_hover_text(&words);
    });
}

fn whole(n: &BigRational) -> String {
    let rounded = round_to_places(n, 0);
    if to_f64(n).is_finite() { format::group_thousands(&rounded) } else { rounded }
}
