//! The bar at the top: project, revision, command field, undo and redo, language, theme.

use egui::{
    Align, CornerRadius, Layout, Rect, Response, Role, Sense, StrokeKind, Ui, UiBuilder, WidgetInfo, pos2, vec2,
};

use super::actions::Action;
use super::logo;
use crate::app::command::{Command, Layer, ThemeChoice};
use crate::app::state::{Project, State};
use crate::domain::text::{Language, Text, fill};
use crate::project::edit::EditStep;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Mark, icon_button, icons, paint_key, segmented};

/// Id of the command field; the palette opens under it.
pub(super) fn field_id() -> egui::Id {
    egui::Id::unique("command field")
}

pub(super) fn top_bar_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let rect = ui.max_rect();
    ui.painter().hline(rect.x_range(), rect.bottom() - 0.5, t.hairline());
    let right = rect.shrink2(vec2(t.space.l, 0.0));
    let mut child = ui
        .new_child(UiBuilder::new().id_salt("bar right").max_rect(right).layout(Layout::right_to_left(Align::Center)));
    child.spacing_mut().item_spacing.x = t.space.m;
    right_part(&mut child, state, text, out);
    let right_edge = child.min_rect().left() - t.space.l;
    let left = Rect::from_min_max(pos2(rect.left() + t.space.l, rect.top()), pos2(right_edge, rect.bottom()));
    let mut child =
        ui.new_child(UiBuilder::new().id_salt("bar left").max_rect(left).layout(Layout::left_to_right(Align::Center)));
    child.set_clip_rect(left.intersect(ui.clip_rect()));
    left_part(&mut child, state, text);
}

fn left_part(ui: &mut Ui, state: &State, text: &Text) {
    let t = tokens(ui);
    logo(ui);
    ui.label(Font::BodyBold.rich(&text.shell.title));
    // The project starts where the content starts.
    let rail = if super::is_narrow(ui) { t.size.rail_narrow } else { t.size.rail };
    let content = ui.ctx().content_rect().left() + rail + t.space.m;
    ui.add_space((content - ui.cursor().left()).max(t.space.m));
    ui.spacing_mut().item_spacing.x = t.space.m;
    let Some(project) = &state.project else {
        ui.label(Font::BodyBold.rich(&text.shell.no_project));
        return;
    };
    // What stands behind a long name must stay in view: the revision and the chips.
    let chips = [(true, 80.0), (project.plan.demonstration, 140.0), (project.read_only.is_some(), 120.0)];
    let chips: f32 = chips.iter().filter(|(shown, _)| *shown).map(|(_, width)| width).sum();
    let name_room = (ui.available_width() - chips).max(80.0);
    ui.scope(|ui| {
        ui.set_max_width(name_room);
        ui.add(egui::Label::new(Font::BodyBold.rich(project_name(project, text))).truncate());
    });
    revision_chip(ui, project);
    let saved = match (&project.saved_at, project.unsaved()) {
        (_, true) if project.saved_revision.is_some() => text.shell.unsaved.clone(),
        (Some(at), _) => fill(&text.shell.saved_at, &[("time", at.format("%H:%M").to_string())]),
        (None, true) => text.shell.never_saved.clone(),
        (None, false) => String::new(),
    };
    if project.plan.demonstration {
        crate::ui::widgets::badge(ui, Mark::Waived, &text.shell.demonstration, crate::ui::widgets::BadgeSize::Normal)
            .on_hover_text(&text.shell.demonstration_why);
    }
    if let Some(failure) = &project.read_only {
        let why = text.failure(failure).to_string();
        crate::ui::widgets::badge(ui, Mark::Inconclusive, &text.shell.read_only, crate::ui::widgets::BadgeSize::Normal)
            .on_hover_text(why);
    }
    // Last, since it alone may be cut short.
    if !saved.is_empty() && ui.available_width() > 40.0 {
        ui.add(egui::Label::new(Font::Small.rich(saved).color(t.color.text_muted)).truncate());
    }
}

/// The name of the project, or words that say it has none.
pub(super) fn project_name<'a>(project: &'a Project, text: &'a Text) -> &'a str {
    if project.plan.name.is_empty() { &text.shell.unnamed_project } else { &project.plan.name }
}

fn revision_chip(ui: &mut Ui, project: &Project) {
    let t = tokens(ui);
    let galley =
        ui.painter().layout_no_wrap(format!("r{}", project.revision), Font::Small.id(), t.color.text_secondary);
    let (rect, response) = ui.allocate_exact_size(vec2(galley.size().x + 40.0, 24.0), Sense::hover());
    ui.painter().rect(rect, CornerRadius::same(t.radius.chip), t.color.bg_panel, t.hairline(), StrokeKind::Inside);
    icons::paint(
        ui.painter(),
        pos2(rect.left() + 17.0, rect.center().y),
        icons::GIT_COMMIT,
        15.0,
        t.color.text_secondary,
    );
    let name = format!("r{}", project.revision);
    ui.painter().galley(
        pos2(rect.left() + 30.0, rect.center().y - galley.size().y / 2.0),
        galley,
        t.color.text_secondary,
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, &name));
}

fn right_part(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let shell = &text.shell;
    if icon_button(ui, icons::GEAR, &shell.settings, true).clicked() {
        out.push(Command::Show(Layer::Settings));
    }
    let dark = ui.visuals().dark_mode;
    let (icon, words, choice) = if dark {
        (icons::SUN, &shell.switch_to_light, ThemeChoice::Light)
    } else {
        (icons::MOON, &shell.switch_to_dark, ThemeChoice::Dark)
    };
    if icon_button(ui, icon, words, true).clicked() {
        out.push(Command::Theme(choice));
    }
    // Laid out from right to left, the pair is one widget and keeps its order.
    let choices = [(Language::En, shell.english.as_str()), (Language::ZhHans, shell.chinese.as_str())];
    if let Some(language) = segmented(ui, &choices, state.settings.language) {
        out.push(Command::Language(language));
    }
    history_buttons(ui, state, text, out);
    if command_field(ui, text).clicked() {
        out.push(Command::Show(Layer::Palette));
    }
}

fn history_buttons(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    ui.spacing_mut().item_spacing.x = 4.0;
    let history = state.project.as_ref().map(|project| &project.history);
    let name = |step: Option<EditStep>, with: &str, without: &str| {
        step.map_or_else(|| without.to_owned(), |step| fill(with, &[("step", text.name(edit_name(step)).to_owned())]))
    };
    let (undo, redo) =
        (history.and_then(|history| history.undo_step()), history.and_then(|history| history.redo_step()));
    if icon_button(ui, icons::ARROW_U_UP_RIGHT, &name(redo, &text.shell.redo_step, &text.shell.redo), redo.is_some())
        .clicked()
    {
        out.push(Command::Redo);
    }
    if icon_button(ui, icons::ARROW_U_UP_LEFT, &name(undo, &text.shell.undo_step, &text.shell.undo), undo.is_some())
        .clicked()
    {
        out.push(Command::Undo);
    }
    ui.spacing_mut().item_spacing.x = tokens(ui).space.m;
}

/// What looks like a field and opens the palette.
fn command_field(ui: &mut Ui, text: &Text) -> Response {
    let t = tokens(ui);
    // What stands left of it needs about this much; a narrow window takes the rest from the field.
    let width = (ui.available_width() - 718.0).clamp(180.0, 300.0);
    let (_, rect) = ui.allocate_space(vec2(width, 30.0));
    let response = ui.interact(rect, field_id(), Sense::click());
    let painter = ui.painter();
    let fill = if response.hovered() { t.color.bg_hover } else { t.color.bg_panel };
    painter.rect(rect, CornerRadius::same(t.radius.field), fill, t.control_stroke(), StrokeKind::Inside);
    icons::paint(painter, pos2(rect.left() + 18.0, rect.center().y), icons::MAGNIFYING_GLASS, 15.0, t.color.text_muted);
    let key = painter.layout_no_wrap(Action::Palette.key_words(), Font::Caption.id(), t.color.text_secondary);
    let key_left = rect.right() - key.size().x - 12.0 - 10.0;
    paint_key(painter, t, pos2(key_left, rect.center().y), &key);
    let mut job =
        egui::text::LayoutJob::simple_singleline(text.shell.go_to.clone(), Font::Small.id(), t.color.text_muted);
    job.wrap = egui::text::TextWrapping::truncate_at_width(key_left - rect.left() - 40.0);
    let words = painter.layout_job(job);
    painter.galley(pos2(rect.left() + 32.0, rect.center().y - words.size().y / 2.0), words, t.color.text_muted);
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &text.shell.go_to));
    crate::ui::widgets::focus_ring(ui, &response, t.radius.field);
    response
}

/// What the whole project needs said on every screen.
pub(super) fn banners(ui: &mut Ui, state: &State, text: &Text) {
    let Some(project) = &state.project else { return };
    if project.plan.demonstration {
        banner(ui, Mark::Waived, &format!("{} · {}", text.shell.demonstration, text.shell.demonstration_why));
    }
    if !project.altered.is_empty() {
        banner(ui, Mark::Fail, &fill(&text.shell.altered_records, &[("n", project.altered.len().to_string())]));
    }
    if !project.missing.is_empty() {
        banner(ui, Mark::Fail, &fill(&text.shell.missing_records, &[("n", project.missing.len().to_string())]));
    }
}

fn banner(ui: &mut Ui, mark: Mark, words: &str) {
    let t = tokens(ui);
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 28.0), Sense::hover());
    ui.painter().rect_filled(rect, CornerRadius::same(t.radius.chip), mark.soft(&t.color));
    crate::ui::widgets::badge::paint_mark(
        ui,
        pos2(rect.left() + 16.0, rect.center().y),
        t.size.verdict,
        mark,
        mark.soft(&t.color),
    );
    ui.painter().text(
        pos2(rect.left() + 30.0, rect.center().y),
        egui::Align2::LEFT_CENTER,
        words,
        Font::Small.id(),
        mark.color(&t.color),
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, words));
    ui.add_space(t.space.s);
}

/// Name of an undo step in the text files.
pub(super) fn edit_name(step: EditStep) -> &'static str {
    match step {
        EditStep::Rename => "edit_rename",
        EditStep::Recover => "edit_recover",
        EditStep::Brief => "edit_brief",
        EditStep::Model => "edit_model",
        EditStep::Candidate => "edit_candidate",
        EditStep::AddCandidate => "edit_add_candidate",
        EditStep::RemoveCandidate => "edit_remove_candidate",
        EditStep::Host => "edit_host",
        EditStep::AddHost => "edit_add_host",
        EditStep::RemoveHost => "edit_remove_host",
        EditStep::Criterion => "edit_criterion",
        EditStep::RemoveCriterion => "edit_remove_criterion",
        EditStep::Criteria => "edit_criteria",
        EditStep::Waive => "edit_waive",
        EditStep::Load => "edit_load",
        EditStep::Memory => "edit_memory",
        EditStep::Cost => "edit_cost",
        EditStep::Decision => "edit_decision",
        EditStep::Note => "edit_note",
    }
}

/// A button of a dialog that only closes it.
pub(super) fn cancel_button(ui: &mut Ui, text: &Text, out: &mut Vec<Command>) {
    if Button::secondary(&text.common.cancel).key("Esc").show(ui).clicked() {
        out.push(Command::CloseTop);
    }
}
