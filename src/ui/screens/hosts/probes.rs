//! A small list under its button to choose which probes are asked.

use std::collections::BTreeSet;

use egui::{Popup, PopupCloseBehavior, Ui};

use crate::app::command::Command;
use crate::domain::host::Host;
use crate::domain::text::{Text, fill};
use crate::probe;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, icons, rule, tick};

/// The button and its list.
pub(super) fn choose_ui(ui: &mut Ui, host: &Host, text: &Text, out: &mut Vec<Command>) {
    let words = &text.hosts;
    let id = egui::Id::unique("hosts chosen probes");
    let mut chosen: BTreeSet<&'static str> =
        ui.data(|data| data.get_temp(id)).unwrap_or_else(|| probe::DEFAULT.iter().copied().collect());
    let button = Button::secondary(&words.choose_probes).icon_after(icons::CARET_DOWN).show(ui);
    Popup::from_toggle_button_response(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).show(|ui| {
        egui::Frame::new().inner_margin(8).show(ui, |ui| {
            ui.set_width(300.0);
            ui.spacing_mut().item_spacing.y = 2.0;
            for probe in probe::ALL {
                let mut on = chosen.contains(probe.id);
                ui.horizontal(|ui| {
                    let changed = tick(ui, text.probe(probe.id), &mut on);
                    ui.label(Font::Mono.rich(probe.id).color(tokens(ui).color.text_muted));
                    if changed {
                        if on {
                            chosen.insert(probe.id);
                        } else {
                            chosen.remove(probe.id);
                        }
                    }
                });
            }
            rule(ui);
            // In the order in which a host is asked, whatever the order of ticking.
            let ids: Vec<&'static str> =
                probe::ALL.iter().map(|probe| probe.id).filter(|id| chosen.contains(id)).collect();
            let label = fill(&words.ask_chosen, &[("n", ids.len().to_string())]);
            if Button::secondary(&label).enabled(!ids.is_empty(), &words.choose_one).show(ui).clicked() {
                out.push(Command::Probe { host: host.id.clone(), probes: ids });
                ui.close();
            }
        });
    });
    ui.data_mut(|data| {
        data.insert_temp(id, chosen);
    });
}
