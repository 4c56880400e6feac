//! The dialog in which an output is pasted or opened for the selected host. What was typed stays until it was read.

use egui::Ui;

use crate::app::command::{Command, Layer};
use crate::app::state::{JobWhat, State};
use crate::domain::text::{Text, fill};
use crate::engine::event::{Outcome, Picking};
use crate::engine::job::OutputSource;
use crate::probe;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Field, caption, columns, dialog, dialog_buttons, icons, segmented};

/// What is typed; widget memory.
#[derive(Debug, Clone)]
struct Draft {
    probe: &'static str,
    from_file: bool,
    pasted: String,
    path: String,
    exit: Option<i32>,
    /// It was handed on to be read, and nobody has looked since.
    sent: bool,
}

impl Default for Draft {
    fn default() -> Self {
        let probe = probe::DEFAULT.iter().find(|id| **id == "gpu_detail").copied().unwrap_or("gpu_list");
        Self { probe, from_file: false, pasted: String::new(), path: String::new(), exit: None, sent: false }
    }
}

/// Draws the dialog.
pub fn paste_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.hosts;
    let Some(host) = super::shown(state, project) else {
        out.push(Command::CloseTop);
        out.push(Command::Show(Layer::AddHost));
        return;
    };
    let t = tokens(ui);
    let id = egui::Id::unique("paste output draft");
    let mut draft: Draft = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    if draft.sent {
        let was_read = state
            .last_ended
            .as_ref()
            .is_some_and(|ended| ended.what == JobWhat::Read(host.id.clone()) && ended.outcome == Outcome::Done);
        draft =
            if was_read { Draft { probe: draft.probe, ..Draft::default() } } else { Draft { sent: false, ..draft } };
    }
    if let Some(path) = state.picked.get(&Picking::CapturedOutput.into()) {
        draft.path = path.display().to_string();
        draft.from_file = true;
        out.push(Command::TakePicked(Picking::CapturedOutput));
    }
    let title = fill(&words.paste_title, &[("host", host.name.clone())]);
    dialog(ui, "paste output", &title, out, |ui, out| {
        ui.spacing_mut().item_spacing.y = t.space.s;
        let labels: Vec<(&'static str, String)> =
            probe::ALL.iter().map(|probe| (probe.id, format!("{} · {}", text.probe(probe.id), probe.id))).collect();
        let choices: Vec<(&'static str, &str)> = labels.iter().map(|(id, label)| (*id, label.as_str())).collect();
        Field::new("paste probe", &words.paste_probe).choice(ui, &choices, &mut draft.probe);
        command_ui(ui, draft.probe, text, out);
        let ways = [(false, words.paste_text.as_str()), (true, words.paste_file.as_str())];
        draft.from_file = segmented(ui, &ways, draft.from_file).unwrap_or(draft.from_file);
        if draft.from_file {
            columns(ui, t.space.s, [1.0, -116.0], |[path, browse]| {
                Field::new("paste path", &words.paste_path).text(path, &mut draft.path);
                browse.add_space(20.0);
                if Button::secondary(&text.common.browse).icon(icons::FOLDER_OPEN).show(browse).clicked() {
                    out.push(Command::Pick(Picking::CapturedOutput));
                }
            });
        } else {
            egui::ScrollArea::vertical().id_salt("paste text").max_height(220.0).show(ui, |ui| {
                Field::new("paste text", &words.paste_output).lines(ui, 9, &mut draft.pasted);
            });
        }
        Field::new("paste exit", &words.paste_exit).hint(&words.paste_exit_hint).width(220.0).parsed(
            ui,
            &mut draft.exit,
            i32::to_string,
            |typed| typed.parse::<i32>().map_err(|_not_whole| words.paste_exit_wrong.clone()),
        );
        caption(ui, &words.paste_note);
        let ready = if draft.from_file { !draft.path.trim().is_empty() } else { !draft.pasted.trim().is_empty() };
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&words.paste_read).enabled(ready, &words.paste_nothing).show(ui).clicked() {
                let source = if draft.from_file {
                    OutputSource::File(draft.path.trim().into())
                } else {
                    OutputSource::Text(draft.pasted.clone())
                };
                let (host, probe, exit) = (host.id.clone(), draft.probe, draft.exit);
                out.push(Command::CloseTop);
                out.push(Command::ReadOutput { host, probe, source, exit });
                draft.sent = true;
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
            }
        });
    });
    ui.data_mut(|data| {
        data.insert_temp(id, draft);
    });
}

/// The command to run on the host, ready to be copied.
fn command_ui(ui: &mut Ui, id: &str, text: &Text, out: &mut Vec<Command>) {
    let Some(probe) = probe::find(id) else { return };
    let t = tokens(ui);
    columns(ui, t.space.s, [1.0, -116.0], |[command, copy]| {
        caption(command, &text.hosts.paste_command);
        let first = probe.command.lines().next().unwrap_or_default();
        command
            .add(egui::Label::new(Font::Mono.rich(first).color(t.color.text_secondary)).truncate())
            .on_hover_text(probe.command);
        copy.with_layout(egui::Layout::right_to_left(egui::Align::Min), |ui| {
            if Button::secondary(&text.hosts.copy_command).icon(icons::COPY).small().show(ui).clicked() {
                out.push(Command::Copy(probe.command.to_owned()));
            }
        });
    });
}
