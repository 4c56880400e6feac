//! The drawer: the whole trace of a number, or one record with its raw output.

use egui::{
    Align, Area, CornerRadius, Frame, Id, Key, Layout, Margin, Order, Rect, Role, Sense, Ui, UiBuilder, Vec2,
    WidgetInfo, pos2, vec2,
};

use crate::app::command::{Command, Traced};
use crate::app::state::{Project, State};
use crate::domain::evidence::{Captured, Record, Sealed, Source};
use crate::domain::figure::{Input, Origin};
use crate::domain::format::{count, moment};
use crate::domain::ids::EvidenceId;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::figure::paint_origin;
use crate::ui::widgets::{
    Button, Mark, caption, citation, heading, icon_button, icons, key_value, mark, origin_note, raw_view, small, split,
};

/// Draws it when a trace or a record is open; Esc and a click beside it close it.
pub(super) fn drawer(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let (Some(project), true) = (&state.project, state.view.trace.is_some() || state.view.record.is_some()) else {
        return;
    };
    let t = tokens(ui);
    let window = ui.ctx().content_rect();
    let room = Rect::from_min_max(
        pos2(window.left(), window.top() + t.size.top_bar),
        pos2(window.right(), window.bottom() - t.size.job_strip),
    );
    if scrim(ui, room, text) && state.view.layers.is_empty() {
        out.push(Command::CloseTop);
    }
    let width = t.size.drawer.min(room.width() - 64.0);
    let at = Rect::from_min_max(pos2(room.right() - width, room.top()), room.max);
    let mut frame = Frame::new().fill(t.color.bg_raised).shadow(t.shadow.drawer.shadow(t.color.shadow));
    frame.inner_margin = Margin { left: 24, right: 8, top: 14, bottom: 12 };
    let area = Area::new(Id::unique("drawer"))
        .order(Order::Middle)
        .fixed_pos(at.min)
        .constrain(false)
        .accessible_name(&text.shell.trace_title);
    area.show(ui.ctx(), |ui| {
        frame.show(ui, |ui| {
            ui.set_width(width - 32.0);
            ui.set_height(at.height() - 26.0);
            ui.scope(|ui| {
                ui.set_max_width(width - 48.0);
                head(ui, state, text, out);
            });
            egui::ScrollArea::vertical().id_salt("drawer").auto_shrink([false, false]).show(ui, |ui| {
                // The scroll bar gets the room between the content and the edge.
                ui.set_width(width - 48.0);
                ui.spacing_mut().item_spacing.y = t.space.s;
                if let Some(trace) = &state.view.trace {
                    trace_ui(ui, trace, state, text, out);
                }
                let shown = state
                    .view
                    .record
                    .as_ref()
                    .or_else(|| state.view.trace.as_ref().and_then(|trace| trace.evidence.first()));
                if let Some(id) = shown {
                    record_ui(ui, project, id, text, out);
                }
            });
        });
        ui.painter().vline(at.left(), at.y_range(), t.hairline());
    });
}

/// The shade over the rest. True when it was clicked or Esc was pressed.
fn scrim(ui: &Ui, room: Rect, text: &Text) -> bool {
    let t = tokens(ui);
    let clicked = Area::new(Id::unique("drawer scrim"))
        .order(Order::Middle)
        .fixed_pos(room.min)
        .constrain(false)
        .show(ui.ctx(), |ui| {
            let (rect, response) = ui.allocate_exact_size(room.size(), Sense::click());
            ui.painter().rect_filled(rect, 0.0, t.color.scrim);
            response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &text.common.close));
            response.clicked()
        })
        .inner;
    clicked || ui.input_mut(|input| input.consume_key(egui::Modifiers::NONE, Key::Escape))
}

fn head(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let title = if state.view.trace.is_some() { &text.shell.trace_title } else { &text.shell.trace_record_title };
    split(
        ui,
        |ui| {
            heading(ui, Font::Heading, title);
        },
        |ui| {
            if icon_button(ui, icons::X, &text.common.close, true).clicked() {
                out.push(Command::CloseTop);
            }
            small(ui, &text.shell.esc_closes);
        },
    );
}

fn trace_ui(ui: &mut Ui, trace: &Traced, state: &State, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    ui.label(Font::Figure.rich(&trace.value));
    ui.horizontal(|ui| {
        ui.label(Font::Small.rich(&trace.title));
        origin_note(ui, text, trace.origin);
        if !trace.interval.is_empty() {
            small(ui, &fill(&text.common.interval_95, &[("interval", trace.interval.clone())]));
        }
    });
    if trace.formula.is_empty() && trace.inputs.is_empty() && trace.evidence.is_empty() {
        small(ui, &text.shell.trace_declared);
        return;
    }
    if !trace.formula.is_empty() {
        formula(ui, &formula_words(&trace.formula, &trace.inputs, text));
    }
    if !trace.inputs.is_empty() {
        let mut frame = Frame::new().stroke(t.hairline()).corner_radius(CornerRadius::same(t.radius.button));
        frame.inner_margin = Margin::same(1);
        frame.show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            let head =
                Row { name: &trace.title, value: &trace.value, unit: "", origin: trace.origin, depth: 0, bold: true };
            row_ui(ui, head, &text.shell.formula, &[], state, out);
            for input in &trace.inputs {
                input_ui(ui, input, 1, state, text, out);
            }
        });
    }
}

/// A formula with the names of its inputs in words, as the tree shows them.
fn formula_words(formula: &str, inputs: &[Input], text: &Text) -> String {
    let known = |word: &str| inputs.iter().any(|input| input.name == word);
    let mut words = String::new();
    let mut name = String::new();
    for c in formula.chars().chain(std::iter::once('\n')) {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
            continue;
        }
        words.push_str(if known(&name) { text.name(&name) } else { &name });
        name.clear();
        words.push(c);
    }
    words.trim_end().to_owned()
}

fn formula(ui: &mut Ui, words: &str) {
    let t = tokens(ui);
    let mut frame =
        Frame::new().fill(t.color.bg_inset).stroke(t.hairline()).corner_radius(CornerRadius::same(t.radius.button));
    frame.inner_margin = Margin::symmetric(12, 9);
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.add(egui::Label::new(Font::Mono.rich(words)).selectable(true).wrap());
    });
}

/// One row of the tree.
#[derive(Clone, Copy)]
struct Row<'a> {
    name: &'a str,
    value: &'a str,
    unit: &'a str,
    origin: Origin,
    depth: usize,
    bold: bool,
}

fn input_ui(ui: &mut Ui, input: &Input, depth: usize, state: &State, text: &Text, out: &mut Vec<Command>) {
    let row = Row {
        name: text.name(input.name),
        value: &input.value,
        unit: &input.unit,
        origin: input.origin,
        depth,
        bold: false,
    };
    let source = if input.formula.is_empty() {
        crate::ui::widgets::figure::origin_word(text, input.origin)
    } else {
        text.shell.formula.as_str()
    };
    let response = row_ui(ui, row, source, &input.evidence, state, out);
    if !input.formula.is_empty() {
        response.on_hover_text(formula_words(input.formula, &input.inputs, text));
    }
    // A tree deeper than this is a defect; it must not take the stack with it.
    if depth < 12 {
        for child in &input.inputs {
            input_ui(ui, child, depth + 1, state, text, out);
        }
    }
}

fn row_ui(
    ui: &mut Ui,
    row: Row<'_>,
    source: &str,
    evidence: &[EvidenceId],
    state: &State,
    out: &mut Vec<Command>,
) -> egui::Response {
    let t = tokens(ui);
    let height = t.size.row;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), height), Sense::hover());
    let chosen = state.view.record.as_ref().is_some_and(|id| evidence.contains(id));
    if chosen {
        ui.painter().rect_filled(rect, 0.0, t.color.bg_selected);
    }
    if row.depth > 0 {
        ui.painter().hline(rect.x_range(), rect.top(), t.hairline());
    }
    #[allow(clippy::cast_precision_loss, reason = "a tree is a few levels deep")]
    let indent = 12.0 + 22.0 * row.depth as f32;
    let middle = rect.center().y;
    let line = egui::Stroke::new(1.0, t.color.stroke_control);
    if row.depth > 0 {
        let x = rect.left() + indent - 10.0;
        ui.painter().vline(x, rect.top()..=middle, line);
        ui.painter().hline(x..=x + 8.0, middle, line);
    }
    let mark_x = rect.left() + indent + if row.depth > 0 { 6.0 } else { 4.0 };
    paint_origin(ui.painter(), pos2(mark_x, middle), t.size.origin, row.origin, t.color.text_muted);
    let unit_left = rect.left() + rect.width() * 0.72;
    let font = if row.bold { Font::BodyBold } else { Font::Body };
    let painter = ui.painter();
    let value = painter.layout_no_wrap(row.value.to_owned(), Font::BodyBold.id(), t.color.text_primary);
    let value_left = unit_left - value.size().x;
    let mut job = egui::text::LayoutJob::simple_singleline(row.name.to_owned(), font.id(), t.color.text_primary);
    job.wrap = egui::text::TextWrapping::truncate_at_width((value_left - mark_x - 24.0).max(40.0));
    let name = painter.layout_job(job);
    painter.galley(pos2(mark_x + 12.0, middle - name.size().y / 2.0), name, t.color.text_primary);
    painter.galley(pos2(value_left, middle - value.size().y / 2.0), value, t.color.text_primary);
    painter.text(
        pos2(unit_left + 8.0, middle),
        egui::Align2::LEFT_CENTER,
        row.unit,
        Font::Small.id(),
        t.color.text_muted,
    );
    let right = Rect::from_min_max(pos2(rect.right() - 150.0, rect.top()), pos2(rect.right() - 12.0, rect.bottom()));
    let mut right = ui.new_child(UiBuilder::new().max_rect(right).layout(Layout::right_to_left(Align::Center)));
    match evidence.first() {
        Some(id) => {
            citation(&mut right, id, out);
            if evidence.len() > 1 {
                caption(&mut right, &format!("+{}", evidence.len() - 1));
            }
        }
        None if row.unit.len() < 12 => {
            caption(&mut right, source);
        }
        None => {}
    }
    let name = format!("{} {} {}", row.name, row.value, row.unit);
    response.widget_info(|| WidgetInfo::labeled(Role::TreeItem, true, &name));
    response
}

fn record_ui(ui: &mut Ui, project: &Project, id: &EvidenceId, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    ui.add_space(t.space.s);
    let Some(sealed) = project.evidence.get(id) else {
        ui.horizontal(|ui| {
            ui.label(Font::BodyBold.rich(&text.common.evidence));
            ui.label(Font::Mono.rich(id.cite()).color(t.color.text_muted));
        });
        small(ui, &text.shell.record_gone);
        return;
    };
    split(
        ui,
        |ui| {
            ui.label(Font::BodyBold.rich(&text.common.evidence));
            ui.label(Font::Mono.rich(id.cite()).color(t.color.accent));
            mark(ui, Mark::Pass, t.size.verdict, &text.shell.hash_matches);
            small(ui, &text.shell.hash_matches);
        },
        |ui| {
            if Button::secondary(&text.shell.copy_citation).small().icon(icons::COPY).show(ui).clicked() {
                out.push(Command::Copy(id.cite()));
            }
        },
    );
    summary(ui, project, sealed, text);
    if let Some(captured) = &sealed.record.captured {
        captured_ui(ui, id, captured, text);
    }
    facts(ui, &sealed.record, text);
}

fn summary(ui: &mut Ui, project: &Project, sealed: &Sealed, text: &Text) {
    let record = &sealed.record;
    let shell = &text.shell;
    ui.spacing_mut().item_spacing.y = 0.0;
    let mut line = |key: &str, value: String| {
        if !value.is_empty() {
            key_value(ui, key, |ui| {
                ui.add(egui::Label::new(Font::Body.rich(value)).truncate());
            });
        }
    };
    line(&shell.record_kind, text.kind(record.kind).to_owned());
    line(&shell.record_source, source_words(&record.source, text));
    let candidate =
        record.candidate.as_ref().and_then(|id| project.plan.candidate(id)).map(|candidate| candidate.name.clone());
    line(&shell.record_candidate, candidate.unwrap_or_default());
    let host = record.host.as_ref().and_then(|id| project.plan.host(id)).map(|host| host.name.clone());
    line(&shell.record_host, host.unwrap_or_default());
    line(&shell.record_taken, moment(&record.taken_at));
    line(&shell.record_vantage, text.vantage(record.vantage).to_owned());
    if let Some(captured) = &record.captured {
        line(&shell.record_ended, text.ended(captured));
    }
    if let Some(load) = &record.load {
        let n: usize = load.steps.iter().map(|step| step.requests.len()).sum();
        line(&shell.record_facts, fill(&shell.load_samples, &[("n", count(n as u64))]));
    }
    line(&shell.record_program, record.program.clone());
    line(&shell.record_note, record.origin_note.clone());
    if let Some(older) = &record.supersedes {
        line(&shell.record_supersedes, older.cite());
    }
    ui.spacing_mut().item_spacing.y = 8.0;
}

fn source_words(source: &Source, text: &Text) -> String {
    let shell = &text.shell;
    match source {
        Source::Probe { id, parser } => {
            fill(&shell.source_probe, &[("id", id.clone()), ("parser", parser.to_string())])
        }
        Source::Pasted { id, parser } => {
            fill(&shell.source_pasted, &[("id", id.clone()), ("parser", parser.to_string())])
        }
        Source::Load => shell.source_load.clone(),
        Source::Manual { by, .. } => fill(&shell.source_manual, &[("by", by.clone())]),
    }
}

fn captured_ui(ui: &mut Ui, id: &EvidenceId, captured: &Captured, text: &Text) {
    let t = tokens(ui);
    ui.add(egui::Label::new(Font::Mono.rich(&captured.command).color(t.color.text_secondary)).selectable(true).wrap());
    if captured.stdout.is_empty() && captured.stderr.is_empty() {
        small(ui, &text.common.nothing_printed);
    }
    if !captured.stdout.is_empty() {
        raw_view(ui, &format!("{} out", id.0), &captured.stdout, 320.0);
    }
    if !captured.stderr.is_empty() {
        caption(ui, &text.common.stderr);
        raw_view(ui, &format!("{} err", id.0), &captured.stderr, 140.0);
    }
    let masked: u32 = captured.masked.iter().map(|masked| masked.count).sum();
    if masked > 0 {
        caption(ui, &fill(&text.shell.masked_parts, &[("n", masked.to_string())]));
    }
}

fn facts(ui: &mut Ui, record: &Record, text: &Text) {
    let t = tokens(ui);
    if let Some(absent) = &record.absent {
        small(ui, &text.absent(absent));
    }
    for finding in &record.findings {
        ui.horizontal_top(|ui| {
            mark(ui, Mark::Inconclusive, t.size.verdict, &text.common.inconclusive);
            ui.add(egui::Label::new(Font::Small.rich(&finding.text)).wrap());
        });
    }
    if record.facts.is_empty() {
        return;
    }
    ui.label(Font::Subhead.rich(&text.shell.record_facts));
    ui.spacing_mut().item_spacing = Vec2::new(8.0, 2.0);
    for fact in record.facts.iter().take(200) {
        let value = match &fact.value {
            Ok(value) => value.shown(&fact.unit),
            Err(absent) => text.absent(absent),
        };
        ui.horizontal(|ui| {
            ui.label(Font::Mono.rich(format!("{} {}", fact.device, fact.key)).color(t.color.text_muted));
            ui.add(egui::Label::new(Font::Small.rich(value)).truncate());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::text::Language;

    #[test]
    fn a_formula_speaks_the_names_of_its_inputs() {
        let inputs = [
            Input::leaf("mean_rate", "2.6", "req/s", Origin::Declared),
            Input::leaf("layers", "28", "", Origin::Declared),
        ];
        let text = Text::of(Language::En);
        assert_eq!(
            formula_words("2 × layers ÷ mean_rate + other", &inputs, text),
            "2 × Layers ÷ Mean arrival rate + other"
        );
    }
}
