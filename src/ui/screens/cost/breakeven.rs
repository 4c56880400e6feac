//! Break-even: what each way to pay costs a month over the demand, and where they cost the same.

use std::collections::BTreeSet;

use egui::Ui;

use super::money;
use crate::app::command::{Command, Layer};
use crate::app::state::{Project, State};
use crate::domain::compare::accepted::to_f64;
use crate::domain::compare::breakeven::{BreakEven, Way, Who};
use crate::domain::compare::tell::Teller;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, Line, tokens};
use crate::ui::widgets::{
    At, Button, Card, Chart, ChartLine, ChartPoint, FigureUi, Look, caption, heading, small, split,
};

/// The card.
pub(super) fn break_even_ui(ui: &mut Ui, state: &State, project: &Project, text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let plan = &project.plan;
    let teller = Teller { text, candidates: &plan.candidates, declared: &plan.cost };
    Card::new().show(ui, |ui| {
        match &state.derived.break_even {
            Ok(of) => {
                chart_ui(ui, project, of, &teller, text, out);
                words_ui(ui, of, &teller, text, out);
            }
            Err(gap) => {
                heading(ui, Font::Heading, &words.break_even);
                small(ui, &fill(&words.no_break_even, &[("gap", text.gap(gap))]));
            }
        }
        split(
            ui,
            |_| (),
            |ui| {
                if Button::link(&words.api_edit).small().show(ui).clicked() {
                    out.push(Command::Show(Layer::ManagedApi));
                }
            },
        );
    });
}

fn chart_ui(ui: &mut Ui, project: &Project, of: &BreakEven, teller: &Teller<'_>, text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    let t = tokens(ui);
    let id = egui::Id::unique("hidden ways to pay");
    let mut hidden: BTreeSet<String> = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let scale = teller.scale();
    let series = |who: &Who| match who {
        Who::Candidate(id) => project.plan.candidate(id).map_or(0, |candidate| candidate.series),
        Who::Api | Who::Hybrid(..) => 0,
    };
    let mut lines: Vec<ChartLine> = of
        .ways
        .iter()
        .map(|way| {
            let look = match way.who {
                Who::Candidate(_) => Look::Series(series(&way.who)),
                Who::Api => Look::Plain(t.color.stale, Line::Dashed(12.0)),
                Who::Hybrid(..) => Look::Plain(t.color.text_secondary, Line::Dotted(5.0)),
            };
            let points = way.corners.iter().map(|(x, y)| ChartPoint::new(to_f64(x) / scale, to_f64(y))).collect();
            ChartLine::new(teller.way(&way.who), look, points).without_markers()
        })
        .collect();
    if let Some((at, paid)) = of.nearest_change() {
        let shown = teller.demand(&at.value);
        let point = ChartPoint { x: to_f64(&at.value) / scale, y: to_f64(&paid), provisional: true };
        let name = fill(&words.break_even_point, &[("at", shown.clone())]);
        let mut line = ChartLine::new(name, Look::Plain(t.color.text_primary, Line::Solid), vec![point]);
        line.markers = true;
        line.label = fill(&words.break_even_at, &[("at", shown)]);
        lines.push(line);
    }
    for line in &mut lines {
        line.shown = !hidden.contains(&line.name);
    }
    let top = of.ways.iter().filter(|way| is_near(of, way)).flat_map(|way| way.corners.iter().map(|(_, y)| to_f64(y)));
    let top = top.fold(0.0, f64::max);
    let unit = fill(&words.per_month, &[("currency", of.currency.code().to_owned())]);
    let at = [At { x: to_f64(&of.demand) / scale, words: words.the_brief.clone() }];
    let chart = Chart::new("break-even", &words.break_even, &unit, &words.break_even_x, &lines);
    let response =
        chart.height(216.0).at(&at).x_range(0.0..=to_f64(&of.up_to) / scale).y_top(Some(top)).show(ui, text, out);
    if let Some(line) = response.toggled.and_then(|idx| lines.get(idx)) {
        if !hidden.remove(&line.name) {
            hidden.insert(line.name.clone());
        }
        ui.data_mut(|data| {
            data.insert_temp(id, hidden);
        });
    }
}

/// Whether a way costs so little at the brief's demand that the plot is about it: up to five times the least.
fn is_near(of: &BreakEven, way: &Way) -> bool {
    let least = of.ways.iter().map(|way| way.at_brief.to_f64()).fold(f64::INFINITY, f64::min);
    way.at_brief.to_f64() <= 5.0 * least
}

fn words_ui(ui: &mut Ui, of: &BreakEven, teller: &Teller<'_>, text: &Text, out: &mut Vec<Command>) {
    let words = &text.cost;
    if let Some((at, _)) = of.nearest_change() {
        ui.horizontal_wrapped(|ui| {
            caption(ui, &words.break_even);
            let answer = Ok(at);
            FigureUi::new(&words.break_even).font(Font::BodyBold).show(ui, text, &answer, |at| teller.demand(at), out);
        });
    }
    small(ui, &teller.lowest_paragraph(of));
    for pair in &of.pairs {
        caption(ui, &teller.pair(pair, &of.up_to));
    }
    for way in of.ways.iter().filter(|way| !is_near(of, way)) {
        caption(ui, &fill(&words.above_plot, &[("way", teller.way(&way.who)), ("cost", money(&way.at_brief))]));
    }
    for (who, gap) in &of.missing {
        caption(ui, &fill(&words.no_line, &[("way", teller.way(who)), ("gap", text.gap(gap))]));
    }
    if let Some(Ok(figure)) = &of.api_request {
        ui.horizontal_wrapped(|ui| {
            let answer = Ok(figure.clone());
            let title = teller.api();
            let unit = figure.value.currency.code();
            FigureUi::new(&title).unit(unit).font(Font::Small).show(
                ui,
                text,
                &answer,
                |cost| cost.show_significant(4),
                out,
            );
            caption(ui, &fill(&words.api_declared, &[("api", teller.api())]));
        });
    }
    if of.ways.iter().any(|way| matches!(way.who, Who::Hybrid(..))) {
        caption(ui, &words.hybrid_shape);
    }
}
