//! The large figures: what a thousand accepted requests cost on each candidate, cheapest first.

use egui::Ui;

use super::{Load, Of, Offer, View, cost_of_work, money};
use crate::app::command::Command;
use crate::domain::evidence::Kind;
use crate::domain::figure::Answer;
use crate::domain::format;
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::badge::{BadgeSize, Mark, badge};
use crate::ui::widgets::{Card, FigureUi, caption, columns, small, swatch};

pub(super) fn cards_ui(ui: &mut Ui, offers: &[Offer<'_>], shown: View, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let lowest = offers.first().and_then(|offer| offer.cost(shown).as_ref().ok()).map(|figure| figure.value.clone());
    // Three columns as a meeting reads them; more candidates go on in the next row.
    for (row_idx, row) in offers.chunks(3).enumerate() {
        if row_idx > 0 {
            ui.add_space(t.space.m);
        }
        // Cards of a row are as high as the highest was in the last frame.
        let ids: Vec<&str> = row.iter().map(|offer| offer.candidate.id.as_str()).collect();
        let key = egui::Id::unique(("cost cards", ids, shown.of, shown.load, ui.available_width().to_bits()));
        let highest: f32 = ui.data(|data| data.get_temp(key)).unwrap_or(142.0);
        let mut needed = highest;
        columns(ui, t.space.m, [1.0, 1.0, 1.0], |cells| {
            for (idx, (ui, offer)) in cells.iter_mut().zip(row).enumerate() {
                let is_lowest = row_idx == 0 && idx == 0 && lowest.is_some();
                let card = Card::new().selected(is_lowest).min_height(highest).show(ui, |ui| {
                    card_ui(ui, offer, shown, lowest.as_ref(), is_lowest, text, out);
                });
                needed = needed.max(card.response.rect.height());
            }
        });
        if needed > highest + 0.5 {
            ui.data_mut(|data| data.insert_temp(key, needed));
            ui.ctx().request_repaint();
        }
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
        let rest = if units > 1 && shown.load == Load::Brief {
            format!("{} {}", offer.candidate.short, fill(&words.units, &[("n", units.to_string())]))
        } else {
            offer.candidate.short.clone()
        };
        ui.add(egui::Label::new(Font::Small.rich(rest).color(tokens(ui).color.text_secondary)).truncate());
    });
    let answer = offer.cost(shown);
    let template = if shown.of == Of::Thousand { &words.traced_per_thousand } else { &words.traced_per_million };
    let mut title = fill(template, &[("candidate", offer.candidate.name.clone())]);
    if shown.load == Load::Full {
        title = fill(&words.traced_full, &[("title", title)]);
    }
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
            if shown.load == Load::Brief {
                small(ui, &words.lowest);
            }
        } else if let Some(more) = above(answer, lowest) {
            small(ui, &fill(&words.higher_by, &[("percent", more)]));
        }
    });
    if let Some(over) = cost.over_budget.as_ref().filter(|_| shown.load == Load::Brief) {
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
