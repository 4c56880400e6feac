//! Which single unknown could reverse the order of the two cheapest: one bar an input, the widest first.

use egui::{Align2, Role, Sense, Stroke, Ui, WidgetInfo, pos2, vec2};
use num_rational::BigRational;

use super::{api, cost_of_work, money};
use crate::app::command::Command;
use crate::app::state::{Project, State};
use crate::domain::billing::Component;
use crate::domain::compare::accepted::to_f64;
use crate::domain::compare::declared::{CostPlan, PriceRange};
use crate::domain::compare::sensitivity::{MONTHS, Open, Sensitivity, Swing, Unknown};
use crate::domain::ids::{CandidateId, ComponentId};
use crate::domain::money::{Exact, Money};
use crate::domain::text::{Text, fill};
use crate::project::edit::Edit;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Card, Field, FigureUi, columns, heading, px, small};

/// The card.
pub(super) fn tornado_ui(ui: &mut Ui, state: &State, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    Card::new().show(ui, |ui| {
        heading(ui, Font::Heading, &words.tornado);
        match &state.derived.sensitivity {
            Ok(of) => {
                let told = Told { project, of, text };
                told.head_ui(ui, out);
                for swing in &of.swings {
                    told.bar_ui(ui, swing);
                    told.forget_ui(ui, swing, out);
                }
                for open in &of.open {
                    told.open_ui(ui, open, out);
                }
            }
            Err(gap) => {
                small(ui, &fill(&words.tornado_gap, &[("gap", text.gap(gap))]));
            }
        }
    });
}

struct Told<'a> {
    project: &'a Project,
    of: &'a Sensitivity,
    text: &'a Text,
}

impl Told<'_> {
    fn name(&self, id: &CandidateId) -> String {
        self.project.plan.candidate(id).map_or_else(|| id.to_string(), |candidate| candidate.name.clone())
    }

    fn component(&self, id: &CandidateId, component: &ComponentId) -> Option<&Component> {
        self.project.plan.candidate(id)?.billing.iter().find(|line| line.id == *component)
    }

    fn part(&self, id: &CandidateId, component: &ComponentId) -> String {
        let Some(line) = self.component(id, component) else { return component.to_string() };
        let label = line.label.trim();
        if label.is_empty() { self.text.category(line.category).to_owned() } else { label.to_owned() }
    }

    fn what(&self, swing: &Swing) -> String {
        let words = &self.text.cost;
        let [low, high] = swing.ends.clone();
        let mut values = vec![("low", low), ("high", high)];
        let template = match &swing.what {
            Unknown::MonthHours => {
                let [first, .., last] = MONTHS;
                values = vec![("low", first.to_string()), ("high", last.to_string())];
                &words.tornado_month
            }
            Unknown::Share(id) => {
                values.push(("candidate", self.name(id)));
                &words.tornado_share
            }
            Unknown::Price(id) => {
                values.push(("candidate", self.name(id)));
                &words.tornado_price
            }
            Unknown::Part(id, component) => {
                values.push(("candidate", self.name(id)));
                values.push(("part", self.part(id, component)));
                &words.tornado_part
            }
        };
        fill(template, &values)
    }

    fn shown(&self, value: &BigRational) -> String {
        cost_of_work(&Exact { amount: value.clone(), currency: self.of.difference.value.currency })
    }

    fn head_ui(&self, ui: &mut Ui, out: &mut Vec<Command>) {
        let words = &self.text.cost;
        let difference = &self.of.difference;
        let code = difference.value.currency.code();
        let pair = || vec![("other", self.name(&self.of.other)), ("best", self.name(&self.of.best))];
        let mut values = pair();
        values.push(("currency", code.to_owned()));
        let title = fill(&words.tornado_scale, &values);
        let answer = Ok(difference.clone());
        FigureUi::new(&title).unit(code).font(Font::BodyBold).show(ui, self.text, &answer, cost_of_work, out);
        let mut values = pair();
        values.push(("difference", format!("{} {code}", cost_of_work(&difference.value))));
        small(ui, &fill(&words.tornado_between, &values));
        let names: Vec<String> =
            self.of.swings.iter().filter(|swing| swing.reverses()).map(|swing| self.what(swing)).collect();
        let mut values = pair();
        let finding = if names.is_empty() { &words.tornado_none } else { &words.tornado_some };
        values.push(("names", names.join(&self.text.common.list_comma)));
        ui.label(Font::BodyBold.rich(fill(finding, &values)));
        ui.add_space(tokens(ui).space.xs);
    }

    /// One input: its words, then its bar against the line of no difference.
    fn bar_ui(&self, ui: &mut Ui, swing: &Swing) {
        let t = tokens(ui);
        let lows = || self.of.swings.iter().map(|swing| to_f64(&swing.low));
        let highs = || self.of.swings.iter().map(|swing| to_f64(&swing.high));
        let (low, high) = (lows().fold(0.0, f64::min), highs().fold(0.0, f64::max));
        let span = (high - low).max(f64::MIN_POSITIVE);
        let what = self.what(swing);
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 40.0), Sense::hover());
        let painter = ui.painter();
        let color = if swing.reverses() { t.color.fail } else { t.color.text_secondary };
        painter.text(rect.left_top(), Align2::LEFT_TOP, &what, Font::Small.id(), color);
        // Room for the figures at both ends.
        let room = rect.shrink2(vec2(58.0, 0.0));
        let x = |value: f64| room.left() + px((value - low) / span) * room.width();
        let (from, to) = (x(to_f64(&swing.low)), x(to_f64(&swing.high)));
        let bar = egui::Rect::from_x_y_ranges(from..=to.max(from + 2.0), rect.bottom() - 17.0..=rect.bottom() - 5.0);
        painter.rect_filled(bar, 2.0, if swing.reverses() { t.color.fail } else { t.color.mem_weights });
        let rail = rect.bottom() - 20.0..=rect.bottom() - 2.0;
        painter.vline(x(0.0), rail.clone(), Stroke::new(1.6, t.color.text_primary));
        painter.vline(x(to_f64(&self.of.difference.value.amount)), rail, Stroke::new(1.0, t.color.text_muted));
        let font = Font::Caption.id();
        let (low_words, high_words) = (self.shown(&swing.low), self.shown(&swing.high));
        painter.text(
            pos2(bar.left() - 5.0, bar.center().y),
            Align2::RIGHT_CENTER,
            &low_words,
            font.clone(),
            t.color.text_muted,
        );
        painter.text(
            pos2(bar.right() + 5.0, bar.center().y),
            Align2::LEFT_CENTER,
            &high_words,
            font,
            t.color.text_muted,
        );
        let values = [("name", what), ("low", low_words), ("high", high_words)];
        let spoken = fill(&self.text.cost.tornado_bar, &values);
        response.widget_info(|| WidgetInfo::labeled(Role::Meter, true, &spoken));
        response.on_hover_text(spoken.clone());
    }

    /// A declared range can be taken back.
    fn forget_ui(&self, ui: &mut Ui, swing: &Swing, out: &mut Vec<Command>) {
        let Unknown::Part(candidate, component) = &swing.what else { return };
        let words = fill(&self.text.cost.range_remove, &[("part", self.part(candidate, component))]);
        if Button::link(&words).small().show(ui).clicked() {
            let mut declared = self.project.plan.cost.clone();
            declared.ranges.retain(|range| range.candidate != *candidate || range.component != *component);
            put(declared, out);
        }
    }

    /// A part without a price: from where on it matters, and a range when somebody knows one.
    fn open_ui(&self, ui: &mut Ui, open: &Open, out: &mut Vec<Command>) {
        let words = &self.text.cost;
        let t = tokens(ui);
        let mut values =
            vec![("candidate", self.name(&open.candidate)), ("part", self.part(&open.candidate, &open.component))];
        let template = match &open.reverses_above {
            Some(amount) => {
                values.push(("amount", money(amount)));
                &words.open_part
            }
            None => &words.open_part_other,
        };
        small(ui, &fill(template, &values));
        let key = egui::Id::unique(("price range", open.candidate.as_str(), open.component.as_str()));
        let mut ends: [Option<Money>; 2] = ui.data(|data| data.get_temp(key)).unwrap_or_default();
        let currency = api::currency(&self.project.plan);
        let salt = |end: &str| format!("range.{end}.{}.{}", open.candidate.as_str(), open.component.as_str());
        let [low, high] = &mut ends;
        let mut set = false;
        columns(ui, t.space.m, [1.0, 1.0, 0.8], |[first, second, button]| {
            Field::new(&salt("low"), &words.range_low).small().money(first, self.text, currency, low);
            Field::new(&salt("high"), &words.range_high).small().money(second, self.text, currency, high);
            let ready = matches!((&low, &high), (Some(low), Some(high)) if low.currency == high.currency && low.amount <= high.amount);
            button.add_space(20.0);
            set = Button::secondary(&words.range_set).small().enabled(ready, "").show(button).clicked();
        });
        if let (true, [Some(low), Some(high)]) = (set, ends) {
            let range = PriceRange { candidate: open.candidate.clone(), component: open.component.clone(), low, high };
            put(self.project.plan.cost.clone().with_range(range), out);
        }
        ui.data_mut(|data| {
            data.insert_temp(key, ends);
        });
        ui.add_space(t.space.s);
    }
}

fn put(declared: CostPlan, out: &mut Vec<Command>) {
    out.push(Command::Edit(Edit::PutCost(Box::new(declared))));
}
