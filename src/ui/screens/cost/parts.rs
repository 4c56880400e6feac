//! What a month consists of, as a picture.

use egui::Ui;

use super::{Offer, money};
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{bar, heading, small, split, swatch};

/// A month of one unit by component, one bar a candidate on one scale.
pub(super) fn bars_ui(ui: &mut Ui, offers: &[Offer<'_>], text: &Text) {
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
