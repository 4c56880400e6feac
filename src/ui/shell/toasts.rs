//! Notices at the bottom right, and what is shown while something is dragged over the window.

use egui::{Align2, Area, CornerRadius, Frame, Id, Margin, Order, Ui, vec2};

use crate::app::command::Command;
use crate::app::state::{NoticeWhat, State};
use crate::domain::text::{Text, fill};
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Mark, failure_card, icon_button, icons, mark};

pub(super) fn toasts(ui: &Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    if state.notices.is_empty() {
        return;
    }
    let above_strip = vec2(-t.space.l, -t.size.job_strip - t.space.m);
    Area::new(Id::unique("toasts")).order(Order::Foreground).anchor(Align2::RIGHT_BOTTOM, above_strip).show(
        ui.ctx(),
        |ui| {
            ui.set_width(420.0);
            ui.spacing_mut().item_spacing.y = t.space.s;
            for notice in state.notices.iter().rev().take(4) {
                match &notice.what {
                    NoticeWhat::Failed(failure) => {
                        if failure_card(
                            ui,
                            text,
                            &format!("notice {}", notice.number),
                            failure,
                            Some(&text.common.dismiss),
                        ) {
                            out.push(Command::DismissNotice(notice.number));
                        }
                    }
                    done => toast(ui, &words(done, text), notice.number, text, out),
                }
            }
        },
    );
}

fn words(what: &NoticeWhat, text: &Text) -> String {
    let shell = &text.shell;
    match what {
        NoticeWhat::Saved(path) => fill(&shell.saved_in, &[("path", path.display().to_string())]),
        NoticeWhat::Written(path) => fill(&shell.written_to, &[("path", path.display().to_string())]),
        NoticeWhat::Recovered(n) => fill(&shell.recovered_runs, &[("n", n.to_string())]),
        NoticeWhat::NoDialog => shell.no_dialog.clone(),
        NoticeWhat::Failed(failure) => text.failure(failure).to_string(),
    }
}

fn toast(ui: &mut Ui, words: &str, number: u64, text: &Text, out: &mut Vec<Command>) {
    let t = tokens(ui);
    let mut frame = Frame::new()
        .fill(t.color.bg_raised)
        .stroke(t.hairline())
        .corner_radius(CornerRadius::same(t.radius.card))
        .shadow(t.shadow.dialog.shadow(t.color.shadow));
    frame.inner_margin = Margin::symmetric(12, 8);
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal(|ui| {
            mark(ui, Mark::Pass, t.size.verdict, "");
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                if icon_button(ui, icons::X, &text.common.dismiss, true).clicked() {
                    out.push(Command::DismissNotice(number));
                }
                ui.with_layout(egui::Layout::left_to_right(egui::Align::Center), |ui| {
                    ui.add(egui::Label::new(Font::Small.rich(words)).wrap());
                });
            });
        });
    });
}

/// Opens a project folder that was dropped on the window, and says so while one hovers over it.
pub(super) fn dropped(ui: &Ui, text: &Text, out: &mut Vec<Command>) {
    let (hovering, dropped) = ui.input(|input| {
        (!input.raw.hovered_files.is_empty(), input.raw.dropped_files.first().map(|file| file.path().to_path_buf()))
    });
    if let Some(path) = dropped {
        out.push(Command::Open(path));
    }
    if hovering {
        let t = tokens(ui);
        let painter = ui.ctx().layer_painter(egui::LayerId::new(Order::Tooltip, Id::unique("drop")));
        let rect = ui.ctx().content_rect();
        painter.rect_filled(rect, 0.0, t.color.scrim);
        crate::ui::widgets::badge::dashed_rect(&painter, rect.shrink(24.0), egui::Stroke::new(2.0, t.color.accent));
        painter.text(
            rect.center(),
            Align2::CENTER_CENTER,
            &text.shell.drop_here,
            Font::Title.id(),
            t.color.text_primary,
        );
    }
}
