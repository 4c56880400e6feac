//! The managed API that the rentals are held against: what its price page says.

use egui::Ui;
use iso_currency::Currency;

use crate::app::command::Command;
use crate::app::state::State;
use crate::domain::billing::Status;
use crate::domain::compare::declared::{ApiOffer, CostPlan};
use crate::domain::text::Text;
use crate::project::edit::Edit;
use crate::project::plan::Plan;
use crate::ui::theme::tokens;
use crate::ui::widgets::{Button, Field, columns, dialog, dialog_buttons, small};

const PRICES: [&str; 4] = ["api.input", "api.cached", "api.output", "api.once"];

/// The dialog.
pub fn api_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.cost;
    let key = egui::Id::unique("managed api");
    let declared = &project.plan.cost;
    let drafted: Option<ApiOffer> = ui.data(|data| data.get_temp(key));
    let mut api = drafted.or_else(|| declared.api.clone()).unwrap_or_default();
    let currency = currency(&project.plan);
    let mut keep = false;
    let mut remove = false;
    dialog(ui, "managed api", &words.api_title, out, |ui, out| {
        let t = tokens(ui);
        ui.spacing_mut().item_spacing.y = t.space.s;
        small(ui, &words.api_what);
        Field::new("api.name", &words.api_name).text(ui, &mut api.name);
        columns(ui, t.space.m, [1.0, 1.0, 1.0], |[input, cached, output]| {
            Field::new("api.input", &words.api_input).money(input, text, currency, &mut api.input);
            Field::new("api.cached", &words.api_cached).money(cached, text, currency, &mut api.cached);
            Field::new("api.output", &words.api_output).money(output, text, currency, &mut api.output);
        });
        columns(ui, t.space.m, [1.0, 1.0, 1.0], |[share, once, months]| {
            let share_field = Field::new("api.cached_percent", &words.api_cached_percent).unit("%");
            share_field.decimal_within(share, text, 0.into()..=100.into(), &mut api.cached_percent);
            Field::new("api.once", &words.api_once).money(once, text, currency, &mut api.once);
            Field::new("api.months", &words.api_months).whole32(months, text, 1..=120, &mut api.months);
        });
        let wrong = PRICES.iter().chain(&["api.cached_percent", "api.months"]).any(|salt| Field::is_wrong(ui, salt));
        dialog_buttons(ui, "", |ui| {
            keep = Button::primary(&words.api_keep).enabled(!wrong, "").show(ui).clicked();
            if declared.api.is_some() {
                remove = Button::destructive(&words.api_remove).show(ui).clicked();
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
        });
    });
    if !keep && !remove {
        // Closing drops the draft: the next opening starts from the plan.
        let closed = out.contains(&Command::CloseTop);
        ui.data_mut(|data| {
            if closed {
                data.remove::<ApiOffer>(key);
            } else {
                data.insert_temp(key, api);
            }
        });
        return;
    }
    ui.data_mut(|data| data.remove::<ApiOffer>(key));
    let api = keep.then_some(api);
    out.push(Command::CloseTop);
    out.push(Command::Edit(Edit::PutCost(Box::new(CostPlan { api, ..declared.clone() }))));
}

/// The currency of the first price in the plan.
pub(super) fn currency(plan: &Plan) -> Currency {
    let priced = plan.candidates.iter().flat_map(|candidate| &candidate.billing).find_map(|line| match &line.status {
        Status::Priced(rate) => Some(rate.price.currency),
        _ => None,
    });
    priced.or_else(|| plan.brief.budget_month.map(|budget| budget.currency)).unwrap_or(Currency::USD)
}
