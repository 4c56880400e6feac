//! Dialogs of the shell: open, save as, report, curves, jobs, keys, settings, leaving, recovery, and what a job asks.

use std::path::PathBuf;

use egui::{Id, Ui};

use super::actions::Action;
use super::start::recent_ui;
use super::strip::{job_name, job_times};
use super::top_bar::{cancel_button, project_name};
use crate::app::command::{Command, Layer, ReportFormat, ThemeChoice};
use crate::app::state::{PickingKey, Project, State};
use crate::domain::host::KeyPin;
use crate::domain::ids::JobId;
use crate::domain::secret::Secret;
use crate::domain::text::{Language, Text, fill};
use crate::engine::event::{Picking, Question, Reply};
use crate::project::edit::Edit;
use crate::ui::screens;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::chart::to_export;
use crate::ui::widgets::{Button, Field, dialog, dialog_buttons, key_value, segmented, small};

/// Whether a dialog is open that is none of the layers: a question of a job, or the offer of unsaved work.
pub(super) fn is_asking(state: &State) -> bool {
    let is_offered = state.project.as_ref().is_some_and(|project| project.recovered.is_some());
    state.jobs.iter().any(|job| job.question.is_some()) || (is_offered && state.view.layers.is_empty())
}

/// The top layer, a question of a job, or the offer of unsaved work; one at a time.
pub(super) fn dialogs(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    if let Some((job, question)) =
        state.jobs.iter().find_map(|job| job.question.as_ref().map(|question| (job.id, question)))
    {
        question_ui(ui, job, question, text, out);
        return;
    }
    match state.view.layers.last().copied() {
        Some(Layer::OpenProject) => open_ui(ui, state, text, out),
        Some(Layer::SaveAs) => save_as_ui(ui, state, text, out),
        Some(Layer::Report) => report_ui(ui, state, text, out),
        Some(Layer::ExportCsv) => csv_ui(ui, state, text, out),
        Some(Layer::ExportChart) => chart_ui(ui, state, text, out),
        Some(Layer::Jobs) => jobs_ui(ui, state, text, out),
        Some(Layer::Keys) => keys_ui(ui, text, out),
        Some(Layer::Settings) => settings_ui(ui, state, text, out),
        Some(Layer::ConfirmQuit) => confirm_ui(ui, state, text, out),
        Some(Layer::Palette | Layer::Presentation) => {}
        Some(layer) => screens::layer(layer, ui, state, text, out),
        None => {
            if state.project.as_ref().is_some_and(|project| project.recovered.is_some()) {
                recover_ui(ui, text, out);
            }
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "one field with its words; a struct would only rename them")]
/// A typed path with a browse button beside it; a picked path is taken into the field. Returns the path as it is now.
fn path_ui(
    ui: &mut Ui,
    salt: &str,
    label: &str,
    picking: Picking,
    suggested: &str,
    state: &State,
    text: &Text,
    out: &mut Vec<Command>,
) -> String {
    let t = tokens(ui);
    let id = Id::unique(("path", salt));
    let mut path: String = ui.data(|data| data.get_temp(id)).unwrap_or_else(|| suggested.to_owned());
    if let Some(picked) = state.picked.get(&PickingKey::from(picking)) {
        path = picked.display().to_string();
        out.push(Command::TakePicked(picking));
    }
    let browse =
        ui.painter().layout_no_wrap(text.common.browse.clone(), Font::Body.id(), t.color.text_primary).size().x + 24.0;
    ui.horizontal_top(|ui| {
        let width = ui.available_width() - browse - t.space.s;
        Field::new(salt, label).hint(&text.shell.path_hint).width(width).text(ui, &mut path);
        ui.vertical(|ui| {
            // The button stands beside the field, under the height of its label.
            ui.add_space(Font::Small.line() + t.space.xs);
            if Button::secondary(&text.common.browse).show(ui).clicked() {
                out.push(Command::Pick(picking));
            }
        });
    });
    ui.data_mut(|data| {
        data.insert_temp(id, path.clone());
    });
    path
}

fn forget_path(ui: &Ui, salt: &str) {
    ui.data_mut(|data| data.remove::<String>(Id::unique(("path", salt))));
}

/// Gives the field the keyboard in the first frame of its dialog.
fn focus_once(ui: &Ui, salt: &str) {
    if ui.memory(|memory| memory.focused()).is_none() {
        Field::focus(ui, salt);
    }
}

/// Whether Enter was pressed in the field, and not on a button.
fn entered(ui: &Ui, salt: &str) -> bool {
    let id = Field::id(salt);
    let in_field = ui.memory(|memory| memory.has_focus(id) || memory.had_focus_last_frame(id));
    in_field && ui.input(|input| input.key_pressed(egui::Key::Enter))
}

fn open_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    dialog(ui, "open", &text.shell.open_title, out, |ui, out| {
        small(ui, &text.shell.start_open_sub);
        let path = path_ui(ui, "open.path", &text.shell.open_path, Picking::OpenProject, "", state, text, out);
        recent_ui(ui, state, text, out);
        // A click on a recent project closes the dialog too.
        let chosen = out.iter().any(|command| matches!(command, Command::Open(_)));
        let mut go = entered(ui, "open.path") && !path.trim().is_empty();
        dialog_buttons(ui, "", |ui| {
            go |= Button::primary(&text.common.open).enabled(!path.trim().is_empty(), "").show(ui).clicked();
            cancel_button(ui, text, out);
        });
        if go {
            out.push(Command::Open(PathBuf::from(path.trim())));
        }
        if go || chosen {
            forget_path(ui, "open.path");
            out.insert(0, Command::CloseTop);
        }
        focus_once(ui, "open.path");
    });
}

fn save_as_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    dialog(ui, "save as", &text.shell.save_as_title, out, |ui, out| {
        small(ui, &text.shell.save_as_why);
        if let Some(project) = &state.project {
            let mut name = project.plan.name.clone();
            if Field::new("save.name", &text.shell.name_project).text(ui, &mut name) {
                out.push(Command::Edit(Edit::Rename(name)));
            }
        }
        let path = path_ui(ui, "save.path", &text.shell.save_as_path, Picking::SaveProject, "", state, text, out);
        let mut go = false;
        dialog_buttons(ui, "", |ui| {
            go |= Button::primary(&text.common.save).enabled(!path.trim().is_empty(), "").show(ui).clicked();
            cancel_button(ui, text, out);
        });
        if go || (entered(ui, "save.path") && !path.trim().is_empty()) {
            forget_path(ui, "save.path");
            out.push(Command::SaveAs(PathBuf::from(path.trim())));
        }
        focus_once(ui, "save.path");
    });
}

fn report_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let format_id = Id::unique("report format");
    let mut format: ReportFormat = ui.data(|data| data.get_temp(format_id)).unwrap_or(ReportFormat::Html);
    dialog(ui, "report", &text.shell.report_title, out, |ui, out| {
        small(ui, &text.shell.report_why);
        ui.label(Font::Small.rich(&text.shell.report_format).color(tokens(ui).color.text_secondary));
        let choices = [(ReportFormat::Html, "HTML"), (ReportFormat::Markdown, "Markdown"), (ReportFormat::Csv, "CSV")];
        if let Some(chosen) = segmented(ui, &choices, format) {
            format = chosen;
            forget_path(ui, "report.path");
        }
        let suggested = suggested_file(
            state,
            match format {
                ReportFormat::Html => "report.html",
                ReportFormat::Markdown => "report.md",
                ReportFormat::Csv => "report.csv",
            },
        );
        let path = path_ui(ui, "report.path", &text.shell.report_path, Picking::Report, &suggested, state, text, out);
        let mut go = entered(ui, "report.path") && !path.trim().is_empty();
        dialog_buttons(ui, "", |ui| {
            go |= Button::primary(&text.shell.write).enabled(!path.trim().is_empty(), "").show(ui).clicked();
            cancel_button(ui, text, out);
        });
        if go {
            out.push(Command::CloseTop);
            out.push(Command::Report { format, path: PathBuf::from(path.trim()) });
        }
    });
    ui.data_mut(|data| {
        data.insert_temp(format_id, format);
    });
}

fn csv_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    dialog(ui, "csv", &text.shell.csv_title, out, |ui, out| {
        small(ui, &text.shell.csv_why);
        let suggested = suggested_file(state, "curves.csv");
        let path = path_ui(ui, "csv.path", &text.shell.csv_path, Picking::Csv, &suggested, state, text, out);
        let mut go = entered(ui, "csv.path") && !path.trim().is_empty();
        dialog_buttons(ui, "", |ui| {
            go |= Button::primary(&text.shell.write).enabled(!path.trim().is_empty(), "").show(ui).clicked();
            cancel_button(ui, text, out);
        });
        if go {
            out.push(Command::CloseTop);
            out.push(Command::ExportCsv(PathBuf::from(path.trim())));
        }
    });
}

fn chart_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(file) = to_export(ui) else {
        out.push(Command::CloseTop);
        return;
    };
    let title = fill(&text.common.export_chart, &[("title", file.title.clone())]);
    dialog(ui, "chart", &title, out, |ui, out| {
        let id = Id::unique("chart export as picture");
        let mut picture = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
        if let Some(chosen) = segmented(ui, &[(false, "CSV"), (true, "SVG")], picture) {
            picture = chosen;
            forget_path(ui, "chart.path");
        }
        ui.data_mut(|data| {
            data.insert_temp(id, picture);
        });
        small(ui, if picture { &text.shell.chart_svg_why } else { &text.shell.chart_csv_why });
        let suggested = suggested_file(state, if picture { "chart.svg" } else { "chart.csv" });
        let picking = if picture { Picking::Picture } else { Picking::Csv };
        let path = path_ui(ui, "chart.path", &text.shell.csv_path, picking, &suggested, state, text, out);
        let mut go = entered(ui, "chart.path") && !path.trim().is_empty();
        dialog_buttons(ui, "", |ui| {
            go |= Button::primary(&text.shell.write).enabled(!path.trim().is_empty(), "").show(ui).clicked();
            cancel_button(ui, text, out);
        });
        if go {
            out.push(Command::CloseTop);
            let contents = if picture { file.svg.clone() } else { file.csv.clone() };
            out.push(Command::WriteText { path: PathBuf::from(path.trim()), contents });
        }
    });
}

/// A file in the project's own folder, when it has one.
fn suggested_file(state: &State, name: &str) -> String {
    state
        .project
        .as_ref()
        .and_then(|project| project.folder.as_ref())
        .map_or_else(|| name.to_owned(), |folder| folder.join(name).display().to_string())
}

fn jobs_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    dialog(ui, "jobs", &text.shell.all_jobs, out, |ui, out| {
        if state.jobs.is_empty() {
            small(ui, &text.shell.no_jobs_long);
        }
        for job in state.jobs.iter().rev() {
            key_value(ui, &job_name(&job.what, state, text), |ui| {
                if Button::secondary(&text.shell.stop).small().show(ui).clicked() {
                    out.push(Command::Stop(job.id));
                }
                small(ui, &job_times(job, text));
            });
        }
        close_row(ui, text, out);
    });
}

fn close_row(ui: &mut Ui, text: &Text, out: &mut Vec<Command>) {
    dialog_buttons(ui, "", |ui| {
        if Button::secondary(&text.common.close).key("Esc").show(ui).clicked() {
            out.push(Command::CloseTop);
        }
    });
}

fn keys_ui(ui: &mut Ui, text: &Text, out: &mut Vec<Command>) {
    dialog(ui, "keys", &text.shell.keys_title, out, |ui, out| {
        ui.spacing_mut().item_spacing.y = 0.0;
        let step_1 = Action::Step(crate::app::command::Screen::Brief).key_words();
        key_value(ui, &text.shell.steps, |ui| {
            ui.label(Font::Body.rich(format!("{step_1} … 9")));
        });
        for action in Action::all().filter(|action| !matches!(action, Action::Step(_)) && action.key().is_some()) {
            key_value(ui, action.words(text), |ui| {
                ui.label(Font::Body.rich(action.key_words()));
            });
        }
        key_value(ui, &text.shell.cmd_trace, |ui| {
            ui.label(Font::Body.rich("Enter"));
        });
        close_row(ui, text, out);
    });
}

fn settings_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let shell = &text.shell;
    dialog(ui, "settings", &shell.settings, out, |ui, out| {
        let settings = &state.settings;
        if let Some(project) = &state.project {
            let mut name = project.plan.name.clone();
            if Field::new("settings.name", &shell.name_project).text(ui, &mut name) {
                out.push(Command::Edit(Edit::Rename(name)));
            }
            ui.add_space(tokens(ui).space.s);
        }
        key_value(ui, &shell.language, |ui| {
            let choices = [(Language::En, "English"), (Language::ZhHans, "简体中文")];
            if let Some(language) = segmented(ui, &choices, settings.language) {
                out.push(Command::Language(language));
            }
        });
        key_value(ui, &shell.theme, |ui| {
            let choices = [
                (ThemeChoice::System, shell.theme_system.as_str()),
                (ThemeChoice::Dark, shell.theme_dark.as_str()),
                (ThemeChoice::Light, shell.theme_light.as_str()),
            ];
            if let Some(theme) = segmented(ui, &choices, settings.theme) {
                out.push(Command::Theme(theme));
            }
        });
        key_value(ui, &shell.text_size, |ui| {
            for (words, change) in [("+", 0.1), ("−", -0.1)] {
                let name = if change > 0.0 { &shell.text_larger } else { &shell.text_smaller };
                if Button::secondary(words).small().hover(name).show(ui).clicked() {
                    out.push(Command::TextSize(settings.text_size + change));
                }
            }
            ui.label(Font::Body.rich(crate::domain::format::percent(f64::from(settings.text_size), 0)));
        });
        ui.add_space(tokens(ui).space.m);
        ui.horizontal_wrapped(|ui| {
            for action in [Action::New, Action::Open, Action::Sample, Action::SaveAs, Action::Keys, Action::Quit] {
                let enabled = action.why_not(state, text).is_none();
                if Button::secondary(action.words(text)).small().enabled(enabled, "").show(ui).clicked() {
                    out.push(Command::CloseTop);
                    out.extend(action.commands(state, ui.visuals().dark_mode));
                }
            }
        });
        close_row(ui, text, out);
    });
}

fn confirm_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let shell = &text.shell;
    let name = state.project.as_ref().map_or("", |project: &Project| project_name(project, text));
    dialog(ui, "confirm", &shell.quit_title, out, |ui, out| {
        small(ui, &fill(&shell.quit_why, &[("name", name.to_owned())]));
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&shell.quit_save).show(ui).clicked() {
                out.push(Command::SaveAndGo);
            }
            if Button::destructive(&shell.quit_anyway).show(ui).clicked() {
                out.push(Command::QuitAnyway);
            }
            cancel_button(ui, text, out);
        });
    });
}

fn recover_ui(ui: &mut Ui, text: &Text, out: &mut Vec<Command>) {
    let shell = &text.shell;
    let mut closing = Vec::new();
    dialog(ui, "recover", &shell.recover_title, &mut closing, |ui, _closing| {
        small(ui, &shell.recover_why);
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&shell.recover_take).show(ui).clicked() {
                out.push(Command::TakeRecovered);
            }
            if Button::destructive(&shell.recover_drop).show(ui).clicked() {
                out.push(Command::DropRecovered);
            }
        });
    });
    // Esc answers nothing here: the work stays beside the project until somebody decides.
}

fn question_ui(ui: &mut Ui, job: JobId, question: &Question, text: &Text, out: &mut Vec<Command>) {
    let mut replies = Vec::new();
    match question {
        Question::HostKey { host, key, other_types } => host_key_ui(ui, host, key, other_types, text, &mut replies),
        Question::Passphrase { file, again } => {
            let title = &text.shell.passphrase_title;
            let remark = if *again { &text.shell.passphrase_again } else { "" };
            secret_ui(ui, title, file, remark, &text.shell.passphrase, false, text, &mut replies);
        }
        Question::Password { login, prompt, echo, again } => {
            let remark = if *again { &text.shell.password_again } else { "" };
            let title = fill(&text.shell.password_title, &[("login", login.clone())]);
            secret_ui(ui, &title, prompt, remark, &text.shell.answer, *echo, text, &mut replies);
        }
    }
    out.extend(replies.into_iter().map(|reply| Command::Answer(job, reply)));
}

fn host_key_ui(ui: &mut Ui, host: &str, key: &KeyPin, other_types: &[String], text: &Text, replies: &mut Vec<Reply>) {
    let shell = &text.shell;
    let mut closing = Vec::new();
    let title = fill(&shell.key_title, &[("host", host.to_owned())]);
    dialog(ui, "host key", &title, &mut closing, |ui, _closing| {
        small(ui, &shell.key_why);
        let mono = |ui: &mut Ui, words: &str| {
            ui.add(egui::Label::new(Font::Mono.rich(words)).selectable(true).truncate());
        };
        key_value(ui, &shell.key_type, |ui| mono(ui, &key.key_type));
        key_value(ui, &shell.key_fingerprint, |ui| mono(ui, &key.fingerprint));
        if !other_types.is_empty() {
            key_value(ui, &shell.key_other, |ui| mono(ui, &other_types.join(" ")));
        }
        dialog_buttons(ui, "", |ui| {
            if Button::primary(&shell.key_accept).show(ui).clicked() {
                replies.push(Reply::Accept);
            }
            if Button::secondary(&shell.key_refuse).key("Esc").show(ui).clicked() {
                replies.push(Reply::Refuse);
            }
        });
    });
    if !closing.is_empty() && replies.is_empty() {
        replies.push(Reply::Refuse);
    }
}

#[allow(clippy::too_many_arguments, reason = "one dialog with its words; a struct would only rename them")]
fn secret_ui(
    ui: &mut Ui,
    title: &str,
    about: &str,
    remark: &str,
    label: &str,
    echo: bool,
    text: &Text,
    replies: &mut Vec<Reply>,
) {
    let id = Id::unique("secret being typed");
    // A new field each time: nothing typed for one question may appear in the next.
    let mut typed: String = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let mut closing = Vec::new();
    dialog(ui, "secret", title, &mut closing, |ui, _closing| {
        ui.label(Font::Mono.rich(about).color(tokens(ui).color.text_secondary));
        let error = (!remark.is_empty()).then(|| remark.to_owned());
        let field = Field::new("secret", label).error(error);
        if echo {
            field.text(ui, &mut typed);
        } else {
            field.secret(ui, &mut typed);
        }
        let mut go = entered(ui, "secret");
        dialog_buttons(ui, &text.shell.secret_why, |ui| {
            go |= Button::primary(&text.shell.send).show(ui).clicked();
            if Button::secondary(&text.common.cancel).key("Esc").show(ui).clicked() {
                replies.push(Reply::Refuse);
            }
        });
        if go && replies.is_empty() {
            replies.push(Reply::Secret(Secret::new(std::mem::take(&mut typed))));
        }
        focus_once(ui, "secret");
    });
    if !closing.is_empty() && replies.is_empty() {
        replies.push(Reply::Refuse);
    }
    ui.data_mut(|data| {
        if replies.is_empty() {
            data.insert_temp(id, typed);
        } else {
            data.remove::<String>(id);
        }
    });
    if !replies.is_empty() {
        // The field's own undo would keep what was typed.
        ui.data_mut(|data| data.remove::<egui::text_edit::TextEditState>(Field::id("secret")));
    }
}
