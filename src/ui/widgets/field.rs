//! Form fields: label above, unit inside at the right, error under it when the focus leaves.
//!
//! A field changes the value it is given and returns whether it did. Half-typed text stays in widget memory; it becomes
//! a value on Enter or when the focus leaves, and only when it is one. Nothing blocks typing.

use chrono::NaiveDate;
use egui::{
    Align, Align2, CornerRadius, Frame, Id, Layout, Margin, Popup, PopupCloseBehavior, Response, Role, Sense, Stroke,
    StrokeKind, TextEdit, Ui, WidgetInfo, pos2, vec2,
};
use iso_currency::Currency;
use rust_decimal::Decimal;

use super::icons;
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::format::group_thousands;
use crate::domain::money::{Money, parse_currency, parse_decimal};
use crate::domain::text::Text;
use crate::ui::theme::{Font, tokens};

/// A field before it is drawn. The salt names it in the whole window ("brief.ttft").
#[derive(Debug)]
#[must_use = "call one of its drawing methods"]
pub struct Field<'a> {
    id: Id,
    label: &'a str,
    label_shown: bool,
    unit: &'a str,
    hint: &'a str,
    icon: Option<char>,
    error: Option<String>,
    width: Option<f32>,
    small: bool,
}

/// The field that gets the focus, and the frame in which that was asked.
#[derive(Debug, Clone, Copy)]
struct FocusWanted {
    id: Id,
    since: u64,
}

impl FocusWanted {
    fn key() -> Id {
        Id::unique("field to focus")
    }
}

/// Half-typed text of a field.
#[derive(Debug, Clone, Default)]
struct Draft {
    /// The value as it was shown when typing began; when it changes under the draft, the draft is dropped.
    base: String,
    text: String,
    error: Option<String>,
}

impl<'a> Field<'a> {
    /// A field with a label above it.
    pub fn new(salt: &str, label: &'a str) -> Self {
        Self {
            id: Self::id(salt),
            label,
            label_shown: true,
            unit: "",
            hint: "",
            icon: None,
            error: None,
            width: None,
            small: false,
        }
    }

    /// The id of the field with this salt, to give it the focus from elsewhere.
    #[must_use]
    pub fn id(salt: &str) -> Id {
        Id::unique(("field", salt))
    }

    /// Moves the keyboard to the field with this salt and scrolls to it.
    pub fn focus(ui: &Ui, salt: &str) {
        let wanted = FocusWanted { id: Self::id(salt), since: ui.ctx().cumulative_pass_nr() };
        ui.data_mut(|data| data.insert_temp(FocusWanted::key(), wanted));
        ui.ctx().request_repaint();
    }

    /// Whether what is typed in the field with this salt is no value; its error stands under it.
    #[must_use]
    pub fn is_wrong(ui: &Ui, salt: &str) -> bool {
        let draft: Option<Draft> = ui.data(|data| data.get_temp(Self::id(salt)));
        draft.is_some_and(|draft| draft.error.is_some())
    }

    /// Forgets what is half-typed in the field with this salt.
    pub fn forget(ui: &Ui, salt: &str) {
        ui.data_mut(|data| data.remove::<Draft>(Self::id(salt)));
    }

    /// Takes the focus when somebody asked for it in an earlier frame: the click that asked would take it away again.
    fn take_focus(&self, ui: &Ui) {
        let wanted: Option<FocusWanted> = ui.data(|data| data.get_temp(FocusWanted::key()));
        if !wanted.is_some_and(|wanted| wanted.id == self.id && wanted.since < ui.ctx().cumulative_pass_nr()) {
            return;
        }
        // Asked for until it is there: a dialog that opens cannot give it in its first frame.
        if ui.memory(|memory| memory.has_focus(self.id)) {
            ui.data_mut(|data| data.remove::<FocusWanted>(FocusWanted::key()));
        } else {
            ui.memory_mut(|memory| memory.request_focus(self.id));
            ui.ctx().request_repaint();
        }
    }

    /// Unit inside at the right.
    pub fn unit(mut self, unit: &'a str) -> Self {
        self.unit = unit;
        self
    }

    /// What stands in it while it is empty.
    pub fn hint(mut self, hint: &'a str) -> Self {
        self.hint = hint;
        self
    }

    /// An icon inside at the left.
    pub fn icon(mut self, icon: char) -> Self {
        self.icon = Some(icon);
        self
    }

    /// An error of the screen's own; an error of the typed text comes before it.
    pub fn error(mut self, error: Option<String>) -> Self {
        self.error = error;
        self
    }

    /// A width; as wide as there is room otherwise.
    pub fn width(mut self, width: f32) -> Self {
        self.width = Some(width);
        self
    }

    /// 26 high, small type.
    pub fn small(mut self) -> Self {
        self.small = true;
        self
    }

    /// The label is only the accessible name: something else on screen says it.
    pub fn hide_label(mut self) -> Self {
        self.label_shown = false;
        self
    }

    /// Free text. Changes with every key.
    pub fn text(self, ui: &mut Ui, value: &mut String) -> bool {
        self.plain(ui, value, false)
    }

    /// Text that must not show. The caller keeps it only as long as it needs it.
    pub fn secret(self, ui: &mut Ui, value: &mut String) -> bool {
        self.plain(ui, value, true)
    }

    fn plain(self, ui: &mut Ui, value: &mut String, password: bool) -> bool {
        let before = value.clone();
        self.framed(ui, |ui, field, width, failing| field.edit(ui, value, width, failing, password, 1));
        *value != before
    }

    /// Free text of several lines. Changes with every key.
    pub fn lines(self, ui: &mut Ui, rows: usize, value: &mut String) -> bool {
        let before = value.clone();
        self.framed(ui, |ui, field, width, failing| field.edit(ui, value, width, failing, false, rows));
        *value != before
    }

    /// A number within `range`, both ends included, with a unit of its own choosing. Empty is `None`.
    pub fn number(
        self,
        ui: &mut Ui,
        text: &Text,
        range: std::ops::RangeInclusive<f64>,
        value: &mut Option<f64>,
    ) -> bool {
        self.parsed(
            ui,
            value,
            |value| shown_number(*value),
            |typed| {
                let number: f64 = plain_digits(typed)
                    .parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())
                    .ok_or_else(|| not_a_number(text, typed))?;
                in_range(text, number, &range)?;
                Ok(number)
            },
        )
    }

    /// A whole number within `range`. Empty is `None`.
    pub fn whole(
        self,
        ui: &mut Ui,
        text: &Text,
        range: std::ops::RangeInclusive<u64>,
        value: &mut Option<u64>,
    ) -> bool {
        self.parsed(
            ui,
            value,
            |value| group_thousands(&value.to_string()),
            |typed| {
                let number: u64 = plain_digits(typed)
                    .parse()
                    .map_err(|_not_whole: std::num::ParseIntError| not_a_number(text, typed))?;
                if range.contains(&number) {
                    Ok(number)
                } else {
                    Err(out_of_range(
                        text,
                        &group_thousands(&range.start().to_string()),
                        &group_thousands(&range.end().to_string()),
                    ))
                }
            },
        )
    }

    /// A whole number that fits 32 bits.
    pub fn whole32(
        self,
        ui: &mut Ui,
        text: &Text,
        range: std::ops::RangeInclusive<u32>,
        value: &mut Option<u32>,
    ) -> bool {
        let mut wide = value.map(u64::from);
        let changed = self.whole(ui, text, u64::from(*range.start())..=u64::from(*range.end()), &mut wide);
        if changed {
            *value = wide.and_then(|wide| u32::try_from(wide).ok());
        }
        changed
    }

    /// An exact decimal, every digit kept. Empty is `None`.
    pub fn decimal(self, ui: &mut Ui, text: &Text, value: &mut Option<Decimal>) -> bool {
        self.parsed(
            ui,
            value,
            |value| group_thousands(&value.to_string()),
            |typed| parse_decimal(&plain_digits(typed)).map_err(|_not_decimal| not_a_number(text, typed)),
        )
    }

    /// An exact decimal within `range`, both ends included. Empty is `None`.
    pub fn decimal_within(
        self,
        ui: &mut Ui,
        text: &Text,
        range: std::ops::RangeInclusive<Decimal>,
        value: &mut Option<Decimal>,
    ) -> bool {
        self.parsed(
            ui,
            value,
            |value| group_thousands(&value.to_string()),
            |typed| {
                let number = parse_decimal(&plain_digits(typed)).map_err(|_not_decimal| not_a_number(text, typed))?;
                if range.contains(&number) {
                    Ok(number)
                } else {
                    Err(out_of_range(text, &range.start().to_string(), &range.end().to_string()))
                }
            },
        )
    }

    /// A share, typed and shown as per cent from 0 to 100 with six decimals at most. Empty is `None`.
    pub fn share(mut self, ui: &mut Ui, text: &Text, value: &mut Option<f64>) -> bool {
        if self.unit.is_empty() {
            self.unit = "%";
        }
        self.parsed(
            ui,
            value,
            // Rounded, or 0.07 would read 7.000000000000001.
            |share| shown_number((share * 1e8).round() / 1e6),
            |typed| {
                let number: f64 = plain_digits(typed)
                    .parse()
                    .ok()
                    .filter(|number: &f64| number.is_finite())
                    .ok_or_else(|| not_a_number(text, typed))?;
                in_range(text, number, &(0.0..=100.0))?;
                Ok(number / 100.0)
            },
        )
    }

    /// An amount with its currency ("1,150.00 USD"); a bare amount takes `currency`. Empty is `None`.
    pub fn money(self, ui: &mut Ui, text: &Text, currency: Currency, value: &mut Option<Money>) -> bool {
        self.parsed(
            ui,
            value,
            |value| format!("{} {}", group_thousands(&value.amount.to_string()), value.currency.code()),
            |typed| {
                parse_money(typed, currency)
                    .ok_or_else(|| text.failure(&Failure::new(FailureKind::NotMoney).with("text", typed)).what)
            },
        )
    }

    /// A date as YYYY-MM-DD. Empty is `None`.
    pub fn date(mut self, ui: &mut Ui, text: &Text, value: &mut Option<NaiveDate>) -> bool {
        if self.hint.is_empty() {
            self.hint = "YYYY-MM-DD";
        }
        self.icon = self.icon.or(Some(icons::CALENDAR_BLANK));
        self.parsed(
            ui,
            value,
            |value| value.format("%Y-%m-%d").to_string(),
            |typed| {
                NaiveDate::parse_from_str(&plain_digits(typed), "%Y-%m-%d")
                    .map_err(|_not_a_date| text.common.not_a_date.clone())
            },
        )
    }

    /// One of several values.
    pub fn choice<T: PartialEq + Clone>(self, ui: &mut Ui, choices: &[(T, &str)], value: &mut T) -> bool {
        let mut picked = None;
        self.framed(ui, |ui, field, width, failing| {
            let words = choices.iter().find(|(choice, _)| choice == value).map_or("", |(_, words)| *words);
            let response = field.choice_button(ui, words, width, failing);
            Popup::menu(&response).close_behavior(PopupCloseBehavior::CloseOnClick).width(width).show(|ui| {
                ui.set_min_width(width - 10.0);
                egui::ScrollArea::vertical().max_height(320.0).show(ui, |ui| {
                    ui.with_layout(Layout::top_down_justified(Align::Min), |ui| {
                        for (choice, words) in choices {
                            if ui.selectable_label(choice == value, *words).clicked() {
                                picked = Some(choice.clone());
                                ui.close();
                            }
                        }
                    });
                });
            });
            response
        });
        match picked {
            Some(picked) if picked != *value => {
                *value = picked;
                true
            }
            _ => false,
        }
    }

    /// One of several values or "not stated".
    pub fn optional_choice<T: PartialEq + Clone>(
        self,
        ui: &mut Ui,
        text: &Text,
        choices: &[(T, &str)],
        value: &mut Option<T>,
    ) -> bool {
        let mut all: Vec<(Option<T>, &str)> = vec![(None, text.common.not_stated.as_str())];
        all.extend(choices.iter().map(|(choice, words)| (Some(choice.clone()), *words)));
        self.choice(ui, &all, value)
    }

    /// Yes, no, or "not stated".
    pub fn yes_no(self, ui: &mut Ui, text: &Text, value: &mut Option<bool>) -> bool {
        self.optional_choice(ui, text, &[(true, text.common.yes.as_str()), (false, text.common.no.as_str())], value)
    }

    /// A value that is typed as text: shown by `show`, read by `parse`, whose error stands under the field. Empty is `None`.
    pub fn parsed<T: PartialEq>(
        self,
        ui: &mut Ui,
        value: &mut Option<T>,
        show: impl Fn(&T) -> String,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> bool {
        let base = value.as_ref().map_or_else(String::new, &show);
        let id = self.id;
        let draft: Option<Draft> = ui.data(|data| data.get_temp(id));
        let mut draft = draft.filter(|draft| draft.base == base);
        let mut typed = draft.as_ref().map_or_else(|| base.clone(), |draft| draft.text.clone());
        let mut field = self;
        if let Some(error) = draft.as_ref().and_then(|draft| draft.error.clone()) {
            field.error = Some(error);
        }
        let mut response = None;
        field.framed(ui, |ui, field, width, failing| {
            let edited = field.edit(ui, &mut typed, width, failing, false, 1);
            response = Some(edited.clone());
            edited
        });
        let Some(response) = response else { return false };
        if response.changed() {
            draft = Some(Draft { base: base.clone(), text: typed.clone(), error: None });
        }
        let mut changed = false;
        if response.lost_focus() && draft.is_some() {
            let trimmed = typed.trim();
            match if trimmed.is_empty() { Ok(None) } else { parse(trimmed).map(Some) } {
                Ok(new) => {
                    draft = None;
                    if new != *value {
                        *value = new;
                        changed = true;
                    }
                }
                Err(error) => draft = Some(Draft { base, text: typed, error: Some(error) }),
            }
        }
        ui.data_mut(|data| match draft {
            Some(draft) => {
                data.insert_temp(id, draft);
            }
            None => data.remove::<Draft>(id),
        });
        changed
    }

    /// Label, control, error.
    fn framed(mut self, ui: &mut Ui, control: impl FnOnce(&mut Ui, &Self, f32, bool) -> Response) {
        let t = tokens(ui);
        let width = self.width.unwrap_or_else(|| ui.available_width());
        let error = self.error.take();
        self.take_focus(ui);
        ui.vertical(|ui| {
            ui.set_max_width(width);
            ui.spacing_mut().item_spacing.y = t.space.xs;
            let label = self.label_shown.then(|| ui.label(Font::Small.rich(self.label).color(t.color.text_secondary)));
            let response = control(ui, &self, width, error.is_some());
            let response = match label {
                Some(label) => response.labelled_by(label.id),
                None => response.accessible_name(self.label),
            };
            // The focus may come from a button far away, or from the keyboard.
            if response.gained_focus() && !ui.clip_rect().contains_rect(response.rect) {
                response.scroll_to_me(None);
            }
            if let Some(error) = error {
                ui.horizontal_top(|ui| {
                    ui.spacing_mut().item_spacing.x = 6.0;
                    ui.label(icons::rich(icons::WARNING, 14.0).color(t.color.fail));
                    ui.add(egui::Label::new(Font::Small.rich(error).color(t.color.fail)).wrap());
                });
            }
            drop(response);
        });
    }

    /// The editable part.
    fn edit(
        &self,
        ui: &mut Ui,
        value: &mut String,
        width: f32,
        failing: bool,
        password: bool,
        rows: usize,
    ) -> Response {
        let t = tokens(ui);
        let focused = ui.memory(|memory| memory.has_focus(self.id));
        let stroke = match (focused, failing) {
            (true, _) => Stroke::new(t.stroke.focus, t.color.stroke_focus),
            (_, true) => Stroke::new(t.stroke.error, t.color.fail),
            _ => t.control_stroke(),
        };
        let (height, font) =
            if self.small { (t.size.control_small, Font::Small) } else { (t.size.control, Font::Body) };
        let row = ui.fonts_mut(|fonts| fonts.row_height(&font.id()));
        let pad = ((height - row) / 2.0 - stroke.width).max(0.0);
        let mut frame =
            Frame::new().fill(t.color.bg_inset).stroke(stroke).corner_radius(CornerRadius::same(t.radius.field));
        frame.inner_margin = Margin::symmetric(super::small_i8(11.0 - stroke.width), super::small_i8(pad));
        let mut edit =
            if rows > 1 { TextEdit::multiline(value).desired_rows(rows) } else { TextEdit::singleline(value) };
        edit = edit
            .id(self.id)
            .font(font.id())
            .frame(frame)
            .desired_width(width)
            .password(password)
            .hint_text(font.rich(self.hint).line_height(None).color(t.color.text_muted));
        edit = if rows > 1 {
            edit.min_size(vec2(width, 0.0))
        } else {
            edit.min_size(vec2(width, height)).align(Align2::LEFT_CENTER)
        };
        if let Some(icon) = self.icon {
            edit = edit.prefix(icons::rich(icon, t.size.icon).color(t.color.text_secondary));
        }
        if !self.unit.is_empty() {
            edit = edit.suffix(Font::Small.rich(self.unit).line_height(None).color(t.color.text_muted));
        }
        ui.add(edit)
    }

    /// What a choice looks like while it is closed.
    fn choice_button(&self, ui: &mut Ui, words: &str, width: f32, failing: bool) -> Response {
        let t = tokens(ui);
        let (height, font) =
            if self.small { (t.size.control_small, Font::Small) } else { (t.size.control, Font::Body) };
        let (_, rect) = ui.allocate_space(vec2(width, height));
        let response = ui.interact(rect, self.id, Sense::click());
        let painter = ui.painter();
        let fill = if response.hovered() { t.color.bg_hover } else { t.color.bg_inset };
        let stroke = if failing { Stroke::new(t.stroke.error, t.color.fail) } else { t.control_stroke() };
        painter.rect(rect, CornerRadius::same(t.radius.field), fill, stroke, StrokeKind::Inside);
        let mut x = rect.left() + 11.0;
        if let Some(icon) = self.icon {
            icons::paint(painter, pos2(x + 8.0, rect.center().y), icon, t.size.icon, t.color.text_secondary);
            x += 22.0;
        }
        let mut job = egui::text::LayoutJob::simple_singleline(words.to_owned(), font.id(), t.color.text_primary);
        job.wrap = egui::text::TextWrapping::truncate_at_width((rect.right() - 30.0 - x).max(10.0));
        let galley = ui.painter().layout_job(job);
        ui.painter().galley(pos2(x, rect.center().y - galley.size().y / 2.0), galley, t.color.text_primary);
        icons::paint(
            ui.painter(),
            pos2(rect.right() - 16.0, rect.center().y),
            icons::CARET_DOWN,
            14.0,
            t.color.text_secondary,
        );
        let enabled = ui.is_enabled();
        response.widget_info(|| {
            let mut info = WidgetInfo::labeled(Role::ComboBox, enabled, self.label);
            info.current_text_value = Some(words.to_owned());
            info
        });
        super::focus_ring(ui, &response, t.radius.field);
        response
    }
}

/// A tick box with its words. Returns whether it changed.
pub fn tick(ui: &mut Ui, words: &str, value: &mut bool) -> bool {
    let response = tick_box(ui, words, *value, Font::Body);
    if response.clicked() {
        *value = !*value;
    }
    response.clicked()
}

fn tick_box(ui: &mut Ui, words: &str, on: bool, font: Font) -> Response {
    let t = tokens(ui);
    let galley = ui.painter().layout_no_wrap(words.to_owned(), font.id(), t.color.text_primary);
    let words_room = if words.is_empty() { 0.0 } else { 8.0 + galley.size().x };
    let (rect, response) = ui.allocate_exact_size(vec2(t.size.icon + words_room, t.size.min_target), Sense::click());
    let square = egui::Rect::from_center_size(
        pos2(rect.left() + t.size.icon / 2.0, rect.center().y),
        egui::Vec2::splat(t.size.icon),
    );
    let radius = CornerRadius::same(t.radius.chip);
    if on {
        ui.painter().rect_filled(square, radius, t.color.accent_fill);
        icons::paint(ui.painter(), square.center(), icons::CHECK, 13.0, t.color.text_on_accent);
    } else {
        ui.painter().rect(square, radius, t.color.bg_inset, t.control_stroke(), StrokeKind::Inside);
    }
    ui.painter().galley(
        pos2(square.right() + 8.0, rect.center().y - galley.size().y / 2.0),
        galley,
        t.color.text_primary,
    );
    let enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::CheckBox, enabled, on, words));
    super::focus_ring(ui, &response, t.radius.chip);
    response
}

/// A slider with its name at the left and its value at the right; the value can be typed. Returns whether it changed.
pub fn slider(
    ui: &mut Ui,
    salt: &str,
    label: &str,
    unit: &str,
    range: std::ops::RangeInclusive<f64>,
    step: f64,
    value: &mut f64,
) -> bool {
    let t = tokens(ui);
    let width = ui.available_width();
    let mut changed = false;
    ui.push_id(salt, |ui| {
        ui.vertical(|ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            super::split(
                ui,
                |ui| {
                    ui.label(Font::Small.rich(label));
                },
                |ui| {
                    ui.spacing_mut().interact_size.x = 40.0;
                    ui.spacing_mut().button_padding = vec2(4.0, 1.0);
                    let idle = &mut ui.visuals_mut().widgets.inactive;
                    idle.bg_stroke = Stroke::NONE;
                    idle.weak_bg_fill = egui::Color32::TRANSPARENT;
                    let drag = egui::DragValue::new(value)
                        .range(range.clone())
                        .speed(step)
                        .suffix(if unit.is_empty() { String::new() } else { format!(" {unit}") });
                    let response = ui.add(drag).accessible_name(label);
                    changed |= response.changed();
                },
            );
            ui.spacing_mut().slider_width = width;
            let response = slider_rail(ui, width, &range, step, value);
            changed |= response.changed();
            let (enabled, shown) = (ui.is_enabled(), *value);
            response.widget_info(|| WidgetInfo::slider(enabled, shown, label));
            super::focus_ring(ui, &response, t.radius.field);
        });
    });
    changed
}

fn slider_rail(ui: &mut Ui, width: f32, range: &std::ops::RangeInclusive<f64>, step: f64, value: &mut f64) -> Response {
    let t = tokens(ui);
    let (rect, mut response) = ui.allocate_exact_size(vec2(width, 20.0), Sense::click_and_drag());
    let (low, high) = (*range.start(), *range.end());
    let inner = rect.shrink2(vec2(8.0, 0.0));
    let span = (high - low).max(f64::EPSILON);
    let before = *value;
    if let Some(pointer) = response.interact_pointer_pos() {
        let share = f64::from(((pointer.x - inner.left()) / inner.width()).clamp(0.0, 1.0));
        *value = (((low + share * span) / step).round() * step).clamp(low, high);
    }
    if response.has_focus() {
        ui.memory_mut(|memory| {
            memory.set_focus_lock_filter(
                response.id,
                egui::EventFilter { horizontal_arrows: true, ..Default::default() },
            );
        });
        let (less, more) =
            ui.input(|input| (input.num_presses(egui::Key::ArrowLeft), input.num_presses(egui::Key::ArrowRight)));
        let steps = i32::try_from(more).unwrap_or(0) - i32::try_from(less).unwrap_or(0);
        if steps != 0 {
            *value = (*value + f64::from(steps) * step).clamp(low, high);
        }
    }
    if (*value - before).abs() > f64::EPSILON {
        response.mark_changed();
    }
    let share = super::px(((*value - low) / span).clamp(0.0, 1.0));
    let handle = pos2(inner.left() + share * inner.width(), rect.center().y);
    let painter = ui.painter();
    painter.hline(rect.x_range(), handle.y, Stroke::new(3.0, t.color.stroke_subtle));
    painter.hline(rect.left()..=handle.x, handle.y, Stroke::new(3.0, t.color.accent_fill));
    painter.circle(handle, 7.5, t.color.bg_panel, Stroke::new(2.0, t.color.accent_fill));
    response
}

/// A number as a field shows it: comma thousands, as many decimals as it has.
fn shown_number(value: f64) -> String {
    group_thousands(&format!("{value}"))
}

/// ASCII digits without thousands separators, from what people and Chinese input methods type.
fn plain_digits(typed: &str) -> String {
    typed
        .chars()
        .filter_map(|c| match c {
            ',' | '，' | '_' | ' ' | '\u{202f}' | '\u{a0}' => None,
            '−' | '－' => Some('-'),
            '．' => Some('.'),
            '０'..='９' => char::from_digit(u32::from(c) - u32::from('０'), 10),
            other => Some(other),
        })
        .collect()
}

/// "1,150.00 USD", "1150 usd", or a bare amount in `currency`.
fn parse_money(typed: &str, currency: Currency) -> Option<Money> {
    let split = typed.find(|c: char| c.is_alphabetic()).unwrap_or(typed.len());
    let (amount, code) = typed.split_at(split);
    // Every amount that is typed is a price or a budget; one below zero is a slip.
    let amount = parse_decimal(&plain_digits(amount)).ok().filter(|amount| *amount >= Decimal::ZERO)?;
    let currency = if code.trim().is_empty() { currency } else { parse_currency(code.trim()).ok()? };
    Some(Money { amount, currency })
}

fn not_a_number(text: &Text, typed: &str) -> String {
    text.failure(&Failure::new(FailureKind::NotANumber).with("text", typed)).what
}

fn out_of_range(text: &Text, low: &str, high: &str) -> String {
    text.failure(&Failure::new(FailureKind::OutOfRange).with("low", low).with("high", high)).what
}

fn in_range(text: &Text, number: f64, range: &std::ops::RangeInclusive<f64>) -> Result<(), String> {
    if range.contains(&number) {
        Ok(())
    } else {
        Err(out_of_range(text, &shown_number(*range.start()), &shown_number(*range.end())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_read_as_people_type_it() {
        for (typed, want) in [
            ("1150", Some("1150 USD")),
            ("1,150.00", Some("1150.00 USD")),
            ("2.49 eur", Some("2.49 EUR")),
            ("２．４９ CNY", Some("2.49 CNY")),
            ("2.49CNY", Some("2.49 CNY")),
            ("2.49 XXZ", None),
            ("cheap", None),
            ("1e3", None),
            ("", None),
        ] {
            assert_eq!(
                parse_money(typed, Currency::USD).map(|money| money.to_string()),
                want.map(str::to_owned),
                "{typed}"
            );
        }
    }

    #[test]
    fn digits_lose_separators_and_width() {
        assert_eq!(plain_digits("８，１９２"), "8192");
        assert_eq!(plain_digits("−1 000.5"), "-1000.5");
        assert_eq!(shown_number(8192.0), "8,192");
        assert_eq!(shown_number(0.5), "0.5");
    }
}
