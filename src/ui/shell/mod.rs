//! The window's frame: bar, rail, job strip, inspector, drawer, palette, dialogs, keys. The only place that names eframe.
//!
//! [`run`] opens a real window; [`Window`] is the same without one, for tests.

mod actions;
mod dialogs;
mod drawer;
mod keys;
mod palette;
mod rail;
mod start;
mod steps;
mod strip;
mod toasts;
mod top_bar;

use egui::{Context, Frame, Margin, Panel, Sense, Ui, ViewportCommand};

use super::screens;
use super::theme::{self, tokens};
use super::widgets;
use crate::app::command::{Command, Layer, Screen};
use crate::app::{App, Begin};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::text::{Language, Text};
use crate::engine::clock;

/// Events taken from the engine before a frame is drawn.
const EVENTS_PER_FRAME: usize = 256;

/// Opens the window and returns when it was closed.
///
/// # Errors
/// `WindowFailed` when the window cannot be opened or drawn, with the system's reason.
pub fn run(begin: Begin) -> Result<(), Failure> {
    let viewport = egui::ViewportBuilder::default()
        .with_title("Leasebench")
        .with_app_id("leasebench")
        .with_inner_size([1440.0, 900.0])
        .with_min_inner_size([1280.0, 800.0]);
    let native = eframe::NativeOptions {
        viewport,
        renderer: RENDERER,
        persist_window: false,
        centered: true,
        ..Default::default()
    };
    eframe::run_native(
        "leasebench",
        native,
        Box::new(move |creation| {
            theme::install(&creation.egui_ctx);
            let ctx = creation.egui_ctx.clone();
            let mut app = App::new(move || ctx.request_repaint())
                .map_err(|failure| Text::of(Language::En).failure(&failure).to_string())?;
            app.begin(begin);
            Ok(Box::new(Native(Window::new(app))))
        }),
    )
    .map_err(|error| Failure::new(FailureKind::WindowFailed).because(error))
}

/// OpenGL runs on the most machines; a build with the feature `wgpu` is the way out where its driver is broken.
#[cfg(not(feature = "wgpu"))]
const RENDERER: eframe::Renderer = eframe::Renderer::Glow;
#[cfg(feature = "wgpu")]
const RENDERER: eframe::Renderer = eframe::Renderer::Wgpu;

struct Native(Window);

impl eframe::App for Native {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.0.logic(ctx);
    }

    fn ui(&mut self, ui: &mut Ui, _frame: &mut eframe::Frame) {
        self.0.show(ui);
    }

    fn persist_egui_memory(&self) -> bool {
        false
    }
}

/// The window without a window system: an app, drawn frame by frame.
pub struct Window {
    app: App,
    out: Vec<Command>,
}

impl Window {
    /// A window on this app.
    #[must_use]
    pub fn new(app: App) -> Self {
        Self { app, out: Vec::new() }
    }

    /// The app, for tests.
    #[must_use]
    pub fn app(&self) -> &App {
        &self.app
    }

    /// The app, for tests.
    #[must_use]
    pub fn app_mut(&mut self) -> &mut App {
        &mut self.app
    }

    /// Takes what the engine did. Runs before each frame, also while the window is hidden.
    pub fn logic(&mut self, ctx: &Context) {
        if self.app.poll(EVENTS_PER_FRAME) {
            ctx.request_repaint();
        }
        self.app.tick(clock::now());
    }

    /// Draws one frame, then hands what was asked for to the app.
    pub fn show(&mut self, ui: &mut Ui) {
        let settings = &self.app.state().settings;
        theme::apply(ui.ctx(), settings.theme, settings.text_size);
        let text = Text::of(settings.language);
        self.close_request(ui);
        self.draw(ui, text);
        for command in std::mem::take(&mut self.out) {
            match command {
                Command::Copy(words) => ui.ctx().copy_text(words),
                command => self.app.command(command),
            }
        }
        if self.app.state().quit {
            ui.ctx().send_viewport_cmd(ViewportCommand::Close);
        }
    }

    fn close_request(&mut self, ui: &Ui) {
        if ui.input(|input| input.viewport().close_requested()) && !self.app.state().quit {
            ui.ctx().send_viewport_cmd(ViewportCommand::CancelClose);
            self.out.push(Command::Quit);
        }
    }

    fn draw(&mut self, ui: &mut Ui, text: &Text) {
        let t = tokens(ui);
        let state = self.app.state();
        let out = &mut self.out;
        keys::keys(ui, state, out);
        if state.view.layers.last() == Some(&Layer::Presentation) && state.project.is_some() {
            screens::layer(Layer::Presentation, ui, state, text, out);
            toasts::toasts(ui, state, text, out);
            return;
        }
        let narrow = is_narrow(ui);
        let bar = |fill| Frame::new().fill(fill);
        Panel::top("top_bar")
            .exact_size(t.size.top_bar)
            .resizable(false)
            .show_separator_line(false)
            .frame(bar(t.color.bg_app))
            .show(ui, |ui| top_bar::top_bar_ui(ui, state, text, out));
        Panel::bottom("job_strip")
            .exact_size(t.size.job_strip)
            .resizable(false)
            .show_separator_line(false)
            .frame(bar(t.color.bg_app))
            .show(ui, |ui| strip::strip_ui(ui, state, text, out));
        Panel::left("rail")
            .exact_size(if narrow { t.size.rail_narrow } else { t.size.rail })
            .resizable(false)
            .show_separator_line(false)
            .frame(bar(t.color.bg_app))
            .show(ui, |ui| rail::rail_ui(ui, narrow, state, text, out));
        if state.project.is_some() && screens::has_inspector(state.screen, state) {
            Panel::right("inspector")
                .exact_size(t.size.inspector)
                .resizable(false)
                .show_separator_line(false)
                .frame(bar(t.color.bg_panel))
                .show(ui, |ui| inspector(ui, |ui| screens::inspector(state.screen, ui, state, text, out), text));
        }
        egui::CentralPanel::no_frame().frame(bar(t.color.bg_canvas)).show(ui, |ui| {
            keys::anchor(ui, keys::Part::Content, &text.shell.content);
            if state.project.is_none() {
                start::start_ui(ui, state, text, out);
            } else {
                content(ui, state.screen, |ui| {
                    top_bar::banners(ui, state, text);
                    screens::show(state.screen, ui, state, text, out);
                });
            }
        });
        drawer::drawer(ui, state, text, out);
        dialogs::dialogs(ui, state, text, out);
        palette::palette(ui, state, text, out);
        toasts::toasts(ui, state, text, out);
        toasts::dropped(ui, text, out);
    }
}

/// The middle of the window: padding and one scroll bar a step, so that each keeps its place.
fn content(ui: &mut Ui, screen: Screen, draw: impl FnOnce(&mut Ui)) {
    let t = tokens(ui);
    let (x, y) = (widgets::small_i8(t.size.main_padding_x), widgets::small_i8(t.size.main_padding_y));
    egui::ScrollArea::vertical().id_salt(("content", screen)).auto_shrink([false, false]).show(ui, |ui| {
        Frame::new().inner_margin(Margin::symmetric(x, y)).show(ui, |ui| {
            ui.set_width(ui.available_width());
            ui.push_id(screen, draw);
        });
    });
}

fn inspector(ui: &mut Ui, draw: impl FnOnce(&mut Ui), text: &Text) {
    let t = tokens(ui);
    keys::anchor(ui, keys::Part::Inspector, &text.shell.inspector);
    let rect = ui.max_rect();
    ui.painter().vline(rect.left(), rect.y_range(), t.hairline());
    egui::ScrollArea::vertical().id_salt("inspector").auto_shrink([false, false]).show(ui, |ui| {
        Frame::new().inner_margin(Margin::symmetric(20, 16)).show(ui, |ui| {
            ui.set_width(ui.available_width());
            draw(ui);
        });
    });
}

/// The mark of the program: a rounded square with three lines of a list.
fn logo(ui: &mut Ui) {
    let t = tokens(ui);
    let (rect, _) = ui.allocate_exact_size(egui::Vec2::splat(20.0), Sense::hover());
    let painter = ui.painter();
    painter.rect_filled(rect, 4.0, t.color.accent_fill);
    for (row, (from, to)) in [(0.3, 0.55), (0.36, 0.78), (0.3, 0.78)].into_iter().enumerate() {
        let y = rect.top() + 5.5 + 4.5 * f32::from(u8::try_from(row).unwrap_or(0));
        let line = egui::Stroke::new(2.0, t.color.text_on_accent);
        painter.hline(rect.left() + rect.width() * from..=rect.left() + rect.width() * to, y, line);
    }
    painter.circle_filled(rect.min + egui::vec2(14.6, 5.5), 1.4, t.color.text_on_accent);
}

/// Whether the rail shrinks to numbers and marks.
fn is_narrow(ui: &egui::Ui) -> bool {
    ui.ctx().content_rect().width() < 1200.0
}
