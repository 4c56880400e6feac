//! The palette under the command field: steps, candidates, hosts, commands, `ev:` ids. ↑ ↓ move, Enter runs, Esc closes.

use egui::{
    Area, CornerRadius, Frame, Id, Key, Margin, Modifiers, Order, Role, Sense, TextEdit, Ui, WidgetInfo, pos2, vec2,
};

use super::actions::{Action, step_number};
use super::top_bar;
use crate::app::command::{Command, Layer, Screen};
use crate::app::state::State;
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{icons, paint_key, small};

/// How many entries are shown at once.
const SHOWN: usize = 12;

/// One thing to go to or do.
struct Entry {
    words: String,
    note: String,
    key: String,
    why_not: Option<String>,
    commands: Vec<Command>,
}

pub(super) fn palette(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let query_id = Id::unique("palette query");
    let row_id = Id::unique("palette row");
    if state.view.layers.last() != Some(&Layer::Palette) {
        ui.data_mut(|data| {
            data.remove::<String>(query_id);
            data.remove::<usize>(row_id);
        });
        return;
    }
    let t = tokens(ui);
    let mut query: String = ui.data(|data| data.get_temp(query_id)).unwrap_or_default();
    let mut row: usize = ui.data(|data| data.get_temp(row_id)).unwrap_or_default();
    let field = ui
        .ctx()
        .read_response(top_bar::field_id())
        .map_or_else(|| ui.ctx().content_rect().shrink(40.0), |response| response.rect);
    let window = ui.ctx().content_rect();
    let width = 560.0_f32.min(window.width() - 32.0);
    let at = pos2((field.right() - width).max(window.left() + 16.0), field.top() - 2.0);
    let mut frame = Frame::new()
        .fill(t.color.bg_raised)
        .stroke(t.control_stroke())
        .corner_radius(CornerRadius::same(t.radius.card))
        .shadow(t.shadow.dialog.shadow(t.color.shadow));
    frame.inner_margin = Margin::same(6);
    // Taken before the field draws, which would eat them.
    let (up, down, enter, escape) = ui.input_mut(|input| {
        (
            input.consume_key(Modifiers::NONE, Key::ArrowUp),
            input.consume_key(Modifiers::NONE, Key::ArrowDown),
            input.consume_key(Modifiers::NONE, Key::Enter),
            input.consume_key(Modifiers::NONE, Key::Escape),
        )
    });
    let area =
        Area::new(Id::unique("palette")).order(Order::Foreground).fixed_pos(at).accessible_name(&text.shell.palette);
    let shown = area.show(ui.ctx(), |ui| {
        frame.show(ui, |ui| {
            ui.set_width(width - 12.0);
            let before = query.clone();
            let edit = TextEdit::singleline(&mut query)
                .id(Id::unique("palette field"))
                .font(Font::Body.id())
                .frame(Frame::new().inner_margin(Margin::symmetric(8, 6)))
                .prefix(icons::rich(icons::MAGNIFYING_GLASS, 15.0).color(t.color.text_muted))
                .hint_text(Font::Body.rich(&text.shell.go_to).line_height(None).color(t.color.text_muted))
                .desired_width(width - 12.0);
            let edit = ui.add(edit).accessible_name(&text.shell.go_to);
            edit.request_focus();
            if query != before {
                row = 0;
            }
            let entries = entries(state, text, &query, ui.visuals().dark_mode);
            let last = entries.len().saturating_sub(1);
            if down {
                row = (row + 1).min(last);
            }
            if up {
                row = row.saturating_sub(1);
            }
            row = row.min(last);
            if entries.is_empty() {
                small(ui, &text.shell.palette_none);
            }
            let first = (row + 1).saturating_sub(SHOWN);
            let mut chosen = enter.then_some(row);
            for (idx, entry) in entries.iter().enumerate().skip(first).take(SHOWN) {
                if entry_ui(ui, entry, idx == row) {
                    chosen = Some(idx);
                }
            }
            if let Some(entry) = chosen.and_then(|idx| entries.get(idx)).filter(|entry| entry.why_not.is_none()) {
                out.push(Command::CloseTop);
                out.extend(entry.commands.iter().cloned());
            }
        });
    });
    if escape || shown.response.clicked_elsewhere() {
        out.push(Command::CloseTop);
    }
    ui.data_mut(|data| {
        data.insert_temp(query_id, query);
        data.insert_temp(row_id, row);
    });
}

fn entry_ui(ui: &mut Ui, entry: &Entry, selected: bool) -> bool {
    let t = tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), t.size.row), Sense::click());
    let painter = ui.painter();
    if selected {
        painter.rect_filled(rect, CornerRadius::same(t.radius.button), t.color.bg_selected);
    } else if response.hovered() {
        painter.rect_filled(rect, CornerRadius::same(t.radius.button), t.color.bg_hover);
    }
    let color = if entry.why_not.is_some() { t.color.text_muted } else { t.color.text_primary };
    painter.text(
        pos2(rect.left() + 10.0, rect.center().y),
        egui::Align2::LEFT_CENTER,
        &entry.words,
        Font::Body.id(),
        color,
    );
    let mut right = rect.right() - 10.0;
    if !entry.key.is_empty() {
        let key = painter.layout_no_wrap(entry.key.clone(), Font::Caption.id(), t.color.text_secondary);
        right -= key.size().x + 12.0;
        paint_key(painter, t, pos2(right, rect.center().y), &key);
        right -= 10.0;
    }
    let note = entry.why_not.as_ref().unwrap_or(&entry.note);
    painter.text(
        pos2(right, rect.center().y),
        egui::Align2::RIGHT_CENTER,
        note,
        Font::Caption.id(),
        t.color.text_muted,
    );
    let enabled = entry.why_not.is_none();
    response.widget_info(|| WidgetInfo::selected(Role::ListBoxOption, enabled, selected, &entry.words));
    response.clicked()
}

/// Everything that matches, steps first. Every word of the query must occur.
fn entries(state: &State, text: &Text, query: &str, dark: bool) -> Vec<Entry> {
    let query = query.trim().to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    let fits = |entry: &Entry| {
        let hay = format!("{} {}", entry.words, entry.note).to_lowercase();
        words.iter().all(|word| hay.contains(word))
    };
    let mut all: Vec<Entry> = Action::all()
        .filter(|action| *action != Action::Palette)
        .map(|action| of_action(action, state, text, dark))
        .collect();
    if let Some(project) = &state.project {
        all.extend(project.plan.candidates.iter().map(|candidate| Entry {
            words: candidate.name.clone(),
            note: text.shell.kind_candidate.clone(),
            key: String::new(),
            why_not: None,
            commands: vec![Command::SelectCandidate(Some(candidate.id.clone())), Command::Go(Screen::Candidates)],
        }));
        all.extend(project.plan.hosts.iter().map(|host| Entry {
            words: host.name.clone(),
            note: text.shell.kind_host.clone(),
            key: String::new(),
            why_not: None,
            commands: vec![Command::SelectHost(Some(host.id.clone())), Command::Go(Screen::Hosts)],
        }));
        // Records are many: only when asked for by their digits.
        let digits = query.strip_prefix("ev:").unwrap_or(&query);
        if digits.len() >= 2 && digits.chars().all(|c| c.is_ascii_hexdigit()) {
            let found = project.evidence.keys().filter(|id| id.0.starts_with(digits)).take(SHOWN);
            let records = found.map(|id| Entry {
                words: id.cite(),
                note: text.shell.kind_record.clone(),
                key: String::new(),
                why_not: None,
                commands: vec![Command::ShowRecord(id.clone())],
            });
            let mut records: Vec<Entry> = records.collect();
            records.extend(all.into_iter().filter(fits));
            return records;
        }
    }
    all.retain(fits);
    all
}

fn of_action(action: Action, state: &State, text: &Text, dark: bool) -> Entry {
    let note = match action {
        Action::Step(screen) => fill(&text.shell.step_n, &[("n", step_number(screen).to_string())]),
        _ => text.shell.kind_command.clone(),
    };
    // What the window does by itself needs the key pressed, not a command.
    let commands = action.commands(state, dark);
    Entry {
        words: action.words(text).to_owned(),
        note,
        key: action.key_words(),
        why_not: action.why_not(state, text).map(str::to_owned),
        commands,
    }
}
