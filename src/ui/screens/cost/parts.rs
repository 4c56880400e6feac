//! What a month consists of, one stacked bar a candidate on one scale, what is covered, and what goes on when stopped.

use egui::{Color32, Rect, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};

use super::{Offer, money};
use crate::app::command::Command;
use crate::domain::billing::Category;
use crate::domain::compare::month::{LineAmount, MonthCost, MonthLine};
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, Tokens, tokens};
use crate::ui::widgets::badge::dashed_rect;
use crate::ui::widgets::states::legend;
use crate::ui::widgets::{Card, FigureUi, caption, heading, px, rule, split, swatch};

/// The card.
pub(super) fn parts_ui(ui: &mut Ui, offers: &[Offer<'_>], text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let t = tokens(ui);
    Card::new().show(ui, |ui| {
        heading(ui, Font::Heading, &words.parts_title);
        let is_there = |category: &Category| {
            offers
                .iter()
                .any(|offer| month(offer).lines.iter().any(|line| line.category == *category && priced(line).is_some()))
        };
        let there: Vec<Category> = Category::ALL.into_iter().filter(is_there).collect();
        let entries: Vec<(Color32, &str)> =
            there.iter().map(|category| (color(t, *category), text.category(*category))).collect();
        legend(ui, &entries);
        // Bars of one currency share a scale; another currency has its own, since nothing says how they compare.
        for (idx, offer) in offers.iter().enumerate() {
            if idx > 0 {
                rule(ui);
            }
            let scale = offers
                .iter()
                .map(month)
                .filter(|other| sum(other).map(|(code, _)| code) == sum(month(offer)).map(|(code, _)| code))
                .filter_map(|other| sum(other).map(|(_, sum)| sum))
                .fold(f64::MIN_POSITIVE, f64::max);
            offer_ui(ui, offer, scale, text, out);
        }
    });
}

fn month<'a>(offer: &Offer<'a>) -> &'a MonthCost {
    &offer.view.cost.month
}

fn priced(line: &MonthLine) -> Option<&Exact> {
    match &line.amount {
        LineAmount::Priced(amount) => Some(amount),
        _ => None,
    }
}

/// Currency and length of a month's bar.
fn sum(month: &MonthCost) -> Option<(&'static str, f64)> {
    let code = month.lines.iter().find_map(priced)?.currency.code();
    let same = month.lines.iter().filter_map(priced).filter(|amount| amount.currency.code() == code);
    Some((code, same.map(Exact::to_f64).sum()))
}

fn color(t: &Tokens, category: Category) -> Color32 {
    match category {
        Category::Accelerator => t.color.mem_weights,
        Category::Host => t.color.mem_rt,
        Category::Storage => t.color.mem_kv,
        Category::Snapshot => t.color.mem_kv.gamma_multiply(0.55),
        Category::Network => t.color.mem_act,
        Category::Support => t.color.mem_rt.gamma_multiply(0.55),
        Category::OneOff => t.color.text_muted,
    }
}

fn offer_ui(ui: &mut Ui, offer: &Offer<'_>, scale: f64, text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let month = month(offer);
    split(
        ui,
        |ui| {
            swatch(ui, offer.candidate.series, &offer.candidate.name);
            ui.label(Font::Subhead.rich(&offer.candidate.name));
            let coverage = &month.coverage;
            let values = [
                ("priced", coverage.priced.to_string()),
                ("included", coverage.included.to_string()),
                ("unknown", coverage.unknown.to_string()),
            ];
            caption(ui, &fill(&words.coverage, &values));
        },
        |ui| match (&month.total, &month.lower_bound) {
            (Err(_), Some(bound)) => {
                caption(ui, &fill(&words.lower_bound, &[("amount", money(bound))]));
            }
            (total, _) => {
                let title = format!("{}, {}", offer.candidate.name, words.parts_title);
                let unit = total.as_ref().map_or("", |figure| figure.value.currency.code());
                FigureUi::new(&title).unit(unit).font(Font::BodyBold).show(ui, text, total, Exact::show, out);
            }
        },
    );
    bar_ui(ui, offer, scale, text);
    stopped_ui(ui, offer, text, out);
}

/// Each priced component as its share of the widest bar; parts without a price as a dashed box behind them.
fn bar_ui(ui: &mut Ui, offer: &Offer<'_>, scale: f64, text: &Text) {
    let t = tokens(ui);
    let month = month(offer);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 22.0), Sense::hover());
    let unknown = month.coverage.unknown > 0;
    let room = rect.width() - if unknown { 34.0 } else { 0.0 };
    let painter = ui.painter();
    let mut x = rect.left();
    let mut spoken = Vec::new();
    let code = sum(month).map_or("", |(code, _)| code);
    for category in Category::ALL {
        let lines = month.lines.iter().filter(|line| line.category == category);
        for line in lines {
            let label = if line.label.trim().is_empty() { text.category(category) } else { line.label.trim() };
            match priced(line) {
                Some(amount) if amount.currency.code() == code => {
                    let width = room * px(amount.to_f64() / scale);
                    let part = Rect::from_min_max(pos2(x, rect.top()), pos2(x + width, rect.bottom()));
                    painter.rect_filled(part, 0.0, color(t, category));
                    let galley = painter.layout_no_wrap(amount.show(), Font::Caption.id(), t.color.text_on_accent);
                    if part.width() > galley.size().x + 8.0 {
                        painter.galley(part.center() - galley.size() / 2.0, galley, t.color.text_on_accent);
                    }
                    // A hairline of the ground keeps neighbours apart.
                    painter.vline(part.right(), part.y_range(), Stroke::new(1.0, t.color.bg_panel));
                    x += width;
                    spoken.push(format!("{label} {}", money(amount)));
                }
                Some(amount) => spoken.push(format!("{label} {}", money(amount))),
                None if line.amount == LineAmount::Unknown => {
                    spoken.push(format!("{label} {}", text.cost.unknown));
                }
                None => {}
            }
        }
    }
    if unknown {
        let open = Rect::from_min_size(pos2(x + 3.0, rect.top()), vec2(30.0, rect.height())).shrink(0.7);
        dashed_rect(painter, open, Stroke::new(1.3, t.color.inconclusive));
        painter.text(open.center(), egui::Align2::CENTER_CENTER, "?", Font::Caption.id(), t.color.inconclusive);
    }
    let values = [("candidate", offer.candidate.name.clone()), ("parts", spoken.join(&text.common.list_comma))];
    let name = fill(&text.cost.parts_name, &values);
    response.widget_info(|| WidgetInfo::labeled(Role::Meter, true, &name));
    response.on_hover_text(name.clone());
}

/// What goes on while the machine is stopped, in money a day, with the names of what it is.
fn stopped_ui(ui: &mut Ui, offer: &Offer<'_>, text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let month = month(offer);
    match &month.stopped_day {
        Ok(figure) => {
            ui.horizontal_wrapped(|ui| {
                caption(ui, &words.stopped_day);
                let title = format!("{}, {}", offer.candidate.name, words.stopped_day);
                let answer = Ok(figure.clone());
                let unit = figure.value.currency.code();
                FigureUi::new(&title).unit(unit).font(Font::Small).show(ui, text, &answer, Exact::show, out);
                let goes_on = month.lines.iter().filter(|line| {
                    line.when_stopped == Some(true) && priced(line).is_some() && line.category != Category::OneOff
                });
                let names: Vec<&str> =
                    goes_on
                        .map(|line| {
                            if line.label.trim().is_empty() { text.category(line.category) } else { line.label.trim() }
                        })
                        .collect();
                if !names.is_empty() {
                    caption(ui, &fill(&words.stopped_named, &[("names", names.join(&text.common.list_comma))]));
                }
            });
        }
        Err(gap) => {
            caption(ui, &fill(&words.stopped_unknown, &[("gap", text.gap(gap))]));
        }
    }
}
