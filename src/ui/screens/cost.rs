//! Step 7: what one accepted answer costs, side by side, each component once.

use egui::Ui;
use num_rational::BigRational;

use crate::app::command::{Command, Screen};
use crate::app::derived::CandidateView;
use crate::app::state::{Project, State};
use crate::domain::billing::Category;
use crate::domain::candidate::Candidate;
use crate::domain::compare::accepted::{Carried, StepChoice, to_f64};
use crate::domain::compare::month::{LineAmount, MonthCost};
use crate::domain::evidence::Kind;
use crate::domain::figure::{Answer, Gap};
use crate::domain::format;
use crate::domain::load::Arrivals;
use crate::domain::money::{Exact, round_to_places};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::badge::{BadgeSize, Mark, badge};
use crate::ui::widgets::{
    Card, Column, FigureUi, Row, Table, bar, caption, columns, empty_state, heading, page_header, segmented, small,
    split, swatch,
};

/// Which cost the large figures show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Thousand,
    Million,
}

/// A candidate with everything its column shows.
#[derive(Clone, Copy)]
struct Offer<'a> {
    candidate: &'a Candidate,
    view: &'a CandidateView,
}

impl Offer<'_> {
    fn cost(&self, view: View) -> &Answer<Exact> {
        match view {
            View::Thousand => &self.view.cost.per_thousand,
            View::Million => &self.view.cost.per_million_tokens,
        }
    }
}

/// Draws the step.
pub fn cost_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.cost;
    let id = egui::Id::unique("cost view");
    let mut shown = ui.data(|data| data.get_temp(id)).unwrap_or(View::Thousand);
    let offers = offers(state, project, shown);
    page_header(ui, &words.title, &finding(&offers, text), |ui| {
        let views = [(View::Thousand, words.view_thousand.as_str()), (View::Million, words.view_million.as_str())];
        if let (false, Some(chosen)) = (offers.is_empty(), segmented(ui, &views, shown)) {
            shown = chosen;
        }
    });
    ui.data_mut(|data| {
        data.insert_temp(id, shown);
    });
    if offers.is_empty() {
        if empty_state(ui, &words.empty, &words.empty_button, &words.empty_then) {
            out.push(Command::Go(Screen::Candidates));
        }
        return;
    }
    let t = tokens(ui);
    ui.horizontal_wrapped(|ui| {
        let title = if shown == View::Thousand { &words.per_thousand_title } else { &words.per_million_title };
        ui.label(Font::Subhead.rich(title));
        caption(ui, &words.accepted_means);
    });
    ui.add_space(t.space.xs);
    cards_ui(ui, &offers, shown, text, out);
    ui.add_space(t.space.m);
    Card::new().tight().show(ui, |ui| table_ui(ui, project, &offers, text, out));
    ui.add_space(t.space.xs);
    caption(ui, &words.never_added);
    ui.add_space(t.space.m);
    Card::new().show(ui, |ui| bars_ui(ui, &offers, text));
    ui.add_space(t.space.xs);
    caption(ui, &words.bill_open);
}

/// Candidates in the order of their cost, those without one last in the order of the plan.
fn offers<'a>(state: &'a State, project: &'a Project, shown: View) -> Vec<Offer<'a>> {
    let mut offers: Vec<Offer<'a>> = state
        .derived
        .candidates
        .iter()
        .filter_map(|view| Some(Offer { candidate: project.plan.candidate(&view.id)?, view }))
        .collect();
    offers.sort_by(|a, b| match (a.cost(shown), b.cost(shown)) {
        (Ok(a), Ok(b)) if a.value.currency == b.value.currency => a.value.amount.cmp(&b.value.amount),
        (Ok(_), Err(_)) => std::cmp::Ordering::Less,
        (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
        _ => std::cmp::Ordering::Equal,
    });
    offers
}

fn money(exact: &Exact) -> String {
    format!("{} {}", exact.show(), exact.currency.code())
}

fn cost_of_work(exact: &Exact) -> String {
    exact.show_significant(4)
}

fn finding(offers: &[Offer<'_>], text: &Text) -> String {
    let words = &text.cost;
    let known: Vec<(&Offer<'_>, &Exact)> =
        offers.iter().filter_map(|offer| Some((offer, &offer.view.cost.per_thousand.as_ref().ok()?.value))).collect();
    let Some((lowest, value)) = known
        .iter()
        .min_by(|(_, a), (_, b)| a.amount.cmp(&b.amount))
        .filter(|(_, first)| known.iter().all(|(_, other)| other.currency == first.currency))
    else {
        return words.none_known.clone();
    };
    let template = if known.len() > 1 { &words.cheapest } else { &words.only_one };
    let value = format!("{} {}", cost_of_work(value), value.currency.code());
    fill(template, &[("candidate", lowest.candidate.name.clone()), ("value", value)])
}

fn cards_ui(ui: &mut Ui, offers: &[Offer<'_>], shown: View, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let lowest = offers.first().and_then(|offer| offer.cost(shown).as_ref().ok()).map(|figure| figure.value.clone());
    // Three columns as a meeting reads them; more candidates go on in the next row.
    for (row_idx, row) in offers.chunks(3).enumerate() {
        if row_idx > 0 {
            ui.add_space(t.space.m);
        }
        columns(ui, t.space.m, [1.0, 1.0, 1.0], |cells| {
            for (idx, (ui, offer)) in cells.iter_mut().zip(row).enumerate() {
                let is_lowest = row_idx == 0 && idx == 0 && lowest.is_some();
                Card::new().selected(is_lowest).min_height(142.0).show(ui, |ui| {
                    card_ui(ui, offer, shown, lowest.as_ref(), is_lowest, text, out);
                });
            }
        });
    }
}

fn card_ui(
    ui: &mut Ui,
    offer: &Offer<'_>,
    shown: View,
    lowest: Option<&Exact>,
    is_lowest: bool,
    text: &Text,
    out: &mut Vec<Command>,
) {
    let words = &text.cost;
    let cost = &offer.view.cost;
    ui.horizontal(|ui| {
        swatch(ui, offer.candidate.series, &offer.candidate.name);
        ui.label(Font::BodyBold.rich(&offer.candidate.name));
        let units = cost.carried.as_ref().map_or(1, |carried| carried.units);
        let rest = if units > 1 {
            format!("{} {}", offer.candidate.short, fill(&words.units, &[("n", units.to_string())]))
        } else {
            offer.candidate.short.clone()
        };
        ui.add(egui::Label::new(Font::Small.rich(rest).color(tokens(ui).color.text_secondary)).truncate());
    });
    let answer = offer.cost(shown);
    let template = if shown == View::Thousand { &words.traced_per_thousand } else { &words.traced_per_million };
    let title = fill(template, &[("candidate", offer.candidate.name.clone())]);
    let unit = answer.as_ref().map_or("", |figure| figure.value.currency.code());
    FigureUi::new(&title).unit(unit).font(Font::Figure).show(ui, text, answer, cost_of_work, out);
    if let Some((low, high)) = answer.as_ref().ok().and_then(|figure| figure.interval.as_ref()) {
        let values = [("low", cost_of_work(low)), ("high", cost_of_work(high))];
        caption(ui, &fill(&words.interval, &values));
    }
    ui.add_space(2.0);
    ui.horizontal_wrapped(|ui| {
        match &offer.view.overall {
            Some(overall) => {
                let mark = Mark::from(overall.worst);
                badge(ui, mark, mark.word(text), BadgeSize::Normal);
            }
            None => {
                small(ui, &words.no_verdict);
            }
        }
        if is_lowest {
            small(ui, &words.lowest);
        } else if let Some(more) = above(answer, lowest) {
            small(ui, &fill(&words.higher_by, &[("percent", more)]));
        }
    });
    if let Some(over) = &cost.over_budget {
        let color = tokens(ui).color.fail;
        ui.label(Font::Small.rich(fill(&words.over_budget, &[("amount", money(over))])).color(color));
    }
    let kind = cost.carried.as_ref().ok().map(|carried| carried.basis.kind).filter(|kind| *kind != Kind::Real);
    if let Some(kind) = kind {
        caption(ui, &fill(&words.demonstration_kind, &[("kind", text.kind(kind).to_owned())]));
    }
}

/// How much more than the lowest, in per cent; nothing where the two cannot be compared.
fn above(answer: &Answer<Exact>, lowest: Option<&Exact>) -> Option<String> {
    let (value, lowest) = (&answer.as_ref().ok()?.value, lowest?);
    (value.currency == lowest.currency).then(|| value.share_above(lowest).map(|share| format::percent(share, 0)))?
}

/// One kind of row of the table.
#[derive(Clone, Copy)]
enum Line {
    Component(Category),
    TotalOne,
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
    Idle,
    Explaining,
    Basis,
}

fn table_ui(ui: &mut Ui, project: &Project, offers: &[Offer<'_>], text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let mut lines: Vec<Line> = Category::ALL
        .into_iter()
        .filter(|category| offers.iter().any(|offer| month(offer).lines.iter().any(|line| line.category == *category)))
        .map(Line::Component)
        .collect();
    lines.extend([
        Line::TotalOne,
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
        Line::Idle,
        Line::Explaining,
        Line::Basis,
    ]);
    let currency = offers.iter().find_map(|offer| currency_of(month(offer))).unwrap_or("");
    let mut heads = vec![Column::left(fill(&words.components, &[("currency", currency.to_owned())]), 1.5)];
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
            let figure = FigureUi::new(&name).interval();
            row.figure(figure, text, &share, |share| format::percent(*share, 2), out);
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

/// A month of one unit by component, one bar a candidate on one scale.
fn bars_ui(ui: &mut Ui, offers: &[Offer<'_>], text: &Text) {
    let words = &text.cost;
    let t = tokens(ui);
    let totals: Vec<(&Offer<'_>, &Exact)> =
        offers.iter().filter_map(|offer| Some((offer, &offer.view.cost.month_total.as_ref().ok()?.value))).collect();
    let Some((_, first)) = totals.first() else {
        small(ui, &words.none_known);
        return;
    };
    let code = first.currency.code();
    heading(ui, Font::Heading, &fill(&words.bars_title, &[("currency", code.to_owned())]));
    ui.add_space(t.space.xs);
    let scale = totals
        .iter()
        .filter(|(_, total)| total.currency == first.currency)
        .map(|(_, total)| total.to_f64())
        .fold(f64::MIN_POSITIVE, f64::max);
    for (offer, total) in totals.iter().filter(|(_, total)| total.currency == first.currency) {
        let name = fill(&words.bar_name, &[("candidate", offer.candidate.name.clone()), ("total", money(total))]);
        split(
            ui,
            |ui| {
                swatch(ui, offer.candidate.series, &offer.candidate.name);
                ui.label(Font::Small.rich(&offer.candidate.name));
            },
            |ui| {
                ui.label(Font::BodyBold.rich(money(total)));
            },
        );
        let size = egui::vec2(ui.available_width(), 14.0);
        bar(ui, size, total.to_f64() / scale, t.series(offer.candidate.series).color, &name);
        ui.add_space(t.space.s);
    }
}
