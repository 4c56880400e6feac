//! Step 4: did I get what was promised. Hosts as chips; of the chosen one the connection, the promises against what was
//! found, the topology, what a person should know, and every answer it stands on.

mod add;
mod answers;
mod health;
mod paste;
mod picture;
mod probes;
mod promises;
mod topology;

use egui::Ui;

pub use add::add_ui;
pub use paste::paste_ui;

use crate::app::command::{Command, Layer};
use crate::app::derived::HostView;
use crate::app::state::{Job, JobWhat, NoticeWhat, Project, State};
use crate::domain::compare::promises::{Agreement, PromiseRow};
use crate::domain::evidence::Kind;
use crate::domain::facts::Severity;
use crate::domain::failure::Failure;
use crate::domain::format;
use crate::domain::host::{Auth, Host, Reach};
use crate::domain::text::{Text, fill};
use crate::engine::event::Outcome;
use crate::project::edit::Edit;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{
    Button, Card, Chip, Mark, columns, empty_state, failure_card, icons, page_header, progress, small, split,
};

/// Width of the topology's card at least.
const TOPOLOGY: f32 = 496.0;

/// Draws the step.
pub fn hosts_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.hosts;
    let t = tokens(ui);
    let Some(host) = shown(state, project) else {
        page_header(ui, &words.title, &words.none, |_ui| {});
        if empty_state(ui, &words.empty, &words.empty_button, &words.empty_then) {
            add::open(ui, None);
            out.push(Command::Show(Layer::AddHost));
        }
        return;
    };
    let view = state.derived.host(&host.id);
    let rows = promises::of_host(state, host);
    let job = job_of(state, host);
    page_header(ui, &words.title, &finding(project, host, view, &rows, text), |ui| {
        actions_ui(ui, host, view, job, text, out);
    });
    ui.spacing_mut().item_spacing.y = t.space.m;
    chips_ui(ui, state, project, host, text, out);
    connection_ui(ui, project, host, view, text, out);
    if let Some(job) = job {
        running_ui(ui, job, text, out);
    }
    if let Some(failure) = failed(state, host).filter(|_| job.is_none()) {
        failure_ui(ui, state, host, failure, text, out);
    }
    promises::promises_ui(ui, host, &rows, text, out);
    let Some(view) = view.filter(|view| !view.latest.is_empty()) else { return };
    // Eight GPUs with the names of their cards need this much.
    let picture = (ui.available_width() * 0.43).max(TOPOLOGY);
    columns(ui, t.space.m, [-picture, 1.0], |[left, right]| {
        let top = left.cursor().top();
        topology::topology_ui(left, view, text, out);
        health::health_ui(right, view, left.min_rect().bottom() - top, text, out);
    });
    answers::answers_ui(ui, view, text, out);
}

/// The host on screen: the selected one, else one of the selected candidate, else the first.
fn shown<'a>(state: &State, project: &'a Project) -> Option<&'a Host> {
    let hosts = &project.plan.hosts;
    let selected = state.view.host.as_ref().and_then(|id| project.plan.host(id));
    let of_candidate = || hosts.iter().find(|host| host.candidate.is_some() && host.candidate == state.view.candidate);
    selected.or_else(of_candidate).or_else(|| hosts.first())
}

/// The job that asks this host, or reads an output for it.
fn job_of<'a>(state: &'a State, host: &Host) -> Option<&'a Job> {
    state.jobs.iter().rev().find(|job| is_about(&job.what, host))
}

fn is_about(what: &JobWhat, host: &Host) -> bool {
    matches!(what, JobWhat::Probe(id) | JobWhat::Read(id) if *id == host.id)
}

/// Why the last job for this host failed.
fn failed<'a>(state: &'a State, host: &Host) -> Option<(&'a JobWhat, &'a Failure)> {
    let ended = state.last_ended.as_ref().filter(|ended| is_about(&ended.what, host))?;
    match &ended.outcome {
        Outcome::Failed(failure) => Some((&ended.what, failure)),
        Outcome::Done | Outcome::Cancelled => None,
    }
}

fn candidate_name<'a>(project: &'a Project, host: &Host) -> Option<&'a str> {
    let candidate = project.plan.candidate(host.candidate.as_ref()?)?;
    Some(candidate.name.as_str())
}

/// The sentence under the title.
fn finding(project: &Project, host: &Host, view: Option<&HostView>, rows: &[PromiseRow], text: &Text) -> String {
    let words = &text.hosts;
    let name = match candidate_name(project, host) {
        Some(candidate) => fill(&words.host_of, &[("host", host.name.clone()), ("candidate", candidate.to_owned())]),
        None => host.name.clone(),
    };
    let say = |words: &str, n: usize| fill(words, &[("name", name.clone()), ("n", n.to_string())]);
    let Some(view) = view.filter(|view| !view.latest.is_empty()) else { return say(&words.finding_silent, 0) };
    let n = |agreement| rows.iter().filter(|row| row.agreement == agreement).count();
    let promised = match (host.candidate.is_some(), n(Agreement::Mismatch), n(Agreement::Match)) {
        (false, ..) => say(&words.finding_no_candidate, 0),
        (true, 0, 0) => say(&words.finding_nothing_compared, 0),
        (true, 0, kept) => say(&words.finding_kept, kept),
        (true, 1, _) => say(&words.finding_one_mismatch, 1),
        (true, n, _) => say(&words.finding_mismatches, n),
    };
    let n_bad =
        view.findings.iter().filter(|(_, finding)| matches!(finding.severity, Severity::Isolate | Severity::Reset));
    let health = match n_bad.count() {
        0 => words.finding_healthy.clone(),
        1 => words.finding_one_repair.clone(),
        n => fill(&words.finding_repairs, &[("n", n.to_string())]),
    };
    format!("{promised}{health}")
}

fn actions_ui(
    ui: &mut Ui,
    host: &Host,
    view: Option<&HostView>,
    job: Option<&Job>,
    text: &Text,
    out: &mut Vec<Command>,
) {
    let words = &text.hosts;
    if let Some(job) = job {
        if Button::destructive(&words.stop).icon(icons::STOP).key("Ctrl .").show(ui).clicked() {
            out.push(Command::Stop(job.id));
        }
        return;
    }
    let paste = if host.reach == Reach::Pasted {
        Button::primary(&words.paste).icon(icons::CLIPBOARD_TEXT)
    } else {
        let again = view.is_some_and(|view| !view.latest.is_empty());
        let label = if again { &words.probe_again } else { &words.probe };
        if Button::primary(label).icon(icons::ARROW_CLOCKWISE).show(ui).clicked() {
            out.push(Command::Probe { host: host.id.clone(), probes: Vec::new() });
        }
        probes::choose_ui(ui, host, text, out);
        Button::secondary(&words.paste).icon(icons::CLIPBOARD_TEXT)
    };
    if paste.show(ui).clicked() {
        out.push(Command::SelectHost(Some(host.id.clone())));
        out.push(Command::Show(Layer::PasteOutput));
    }
}

fn chips_ui(ui: &mut Ui, state: &State, project: &Project, shown: &Host, text: &Text, out: &mut Vec<Command>) {
    let words = &text.hosts;
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = egui::vec2(tokens(ui).space.s, tokens(ui).space.s);
        for host in &project.plan.hosts {
            let (mark, rest) = standing(state, host, text);
            let mut chip = Chip::new(&host.name).mark(mark).rest(&rest).selected(host.id == shown.id);
            if let Some(candidate) = host.candidate.as_ref().and_then(|id| project.plan.candidate(id)) {
                chip = chip.series(candidate.series);
            }
            if chip.show(ui).clicked() {
                out.push(Command::SelectHost(Some(host.id.clone())));
            }
        }
        if Button::ghost(&words.add).icon(icons::PLUS).show(ui).clicked() {
            add::open(ui, None);
            out.push(Command::Show(Layer::AddHost));
        }
    });
}

/// How a host stands, for its chip.
fn standing(state: &State, host: &Host, text: &Text) -> (Mark, String) {
    let words = &text.hosts;
    let view = state.derived.host(&host.id);
    if job_of(state, host).is_some() {
        return (Mark::Running, words.chip_running.clone());
    }
    let Some(view) = view.filter(|view| !view.latest.is_empty()) else {
        return (Mark::NotTested, words.chip_silent.clone());
    };
    let n_match = promises::of_host(state, host).iter().filter(|row| row.agreement == Agreement::Match).count();
    let (mark, rest) = match (view.n_mismatches, n_match) {
        (0, 0) => (Mark::Inconclusive, words.chip_not_compared.clone()),
        (0, _) => (Mark::Pass, words.chip_match.clone()),
        (1, _) => (Mark::Fail, words.chip_one_mismatch.clone()),
        (n, _) => (Mark::Fail, fill(&words.chip_mismatches, &[("n", n.to_string())])),
    };
    match view.kind {
        None | Some(Kind::Real) => (mark, rest),
        Some(kind) => (mark, format!("{rest} · {}", text.kind(kind))),
    }
}

/// How the host is reached and what is known of the connection, in one line; edit and remove at its end.
fn connection_ui(
    ui: &mut Ui,
    project: &Project,
    host: &Host,
    view: Option<&HostView>,
    text: &Text,
    out: &mut Vec<Command>,
) {
    let words = &text.hosts;
    let t = tokens(ui);
    // The buttons keep their place at the right; facts that need more than one line go on in the next.
    let room = egui::Rect::from_min_size(ui.cursor().min, egui::vec2(ui.available_width(), t.size.control_small));
    let layout = egui::Layout::right_to_left(egui::Align::Center);
    let mut right = ui.new_child(egui::UiBuilder::new().id_salt("host buttons").max_rect(room).layout(layout));
    right.spacing_mut().item_spacing.x = t.space.xs;
    if Button::ghost(&text.common.remove).icon(icons::TRASH).small().show(&mut right).clicked() {
        out.push(Command::Edit(Edit::RemoveHost(host.id.clone())));
        out.push(Command::SelectHost(None));
    }
    if Button::ghost(&words.edit).icon(icons::PENCIL_SIMPLE).small().show(&mut right).clicked() {
        add::open(&right, Some(host));
        out.push(Command::Show(Layer::AddHost));
    }
    let left = room.with_max_x(right.min_rect().left() - t.space.l);
    let layout = egui::Layout::left_to_right(egui::Align::Center).with_main_wrap(true);
    let mut facts = ui.new_child(egui::UiBuilder::new().id_salt("host facts").max_rect(left).layout(layout));
    {
        let ui = &mut facts;
        ui.spacing_mut().item_spacing = egui::vec2(t.space.l, 0.0);
        match &host.reach {
            Reach::Ssh(target) => {
                let connected = project.connected.get(&host.id);
                match host.pinned_key.as_ref().or(connected.map(|(key, _)| key)) {
                    Some(key) => {
                        let key_type = key.key_type.trim_start_matches("ssh-").to_uppercase();
                        let values = [("type", key_type), ("end", tail(&key.fingerprint))];
                        let whole = format!("{} {}", key.key_type, key.fingerprint);
                        fact(ui, icons::LOCK, true, &fill(&words.key_known, &values), &whole);
                    }
                    None => fact(ui, icons::LOCK, false, &words.key_unknown, ""),
                }
                fact(ui, icons::KEY, false, &login(target, text), "");
                if let Some((_, line)) = connected {
                    fact(ui, icons::PLUGS_CONNECTED, true, line, line);
                }
            }
            Reach::ThisComputer => fact(ui, icons::DESKTOP, false, &words.this_computer_note, ""),
            Reach::Pasted => fact(ui, icons::CLIPBOARD_TEXT, false, &words.pasted_note, ""),
        }
        if let Some(newest) = view.and_then(|view| view.latest.first()) {
            let at = format::moment(&newest.record.taken_at);
            fact(ui, icons::CLOCK, false, &fill(&words.last_answer, &[("at", at)]), "");
        }
        match view.and_then(|view| view.kind) {
            Some(Kind::Replay) => warning(ui, &words.replayed),
            Some(Kind::Practice) => warning(ui, &words.practised),
            Some(Kind::Real) | None => {}
        }
    }
    let used = room.union(facts.min_rect());
    ui.allocate_rect(used, egui::Sense::hover());
}

/// Where and how it is logged in to.
fn login(target: &crate::domain::host::SshTarget, text: &Text) -> String {
    let words = &text.hosts;
    let user = target.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
    let port = target.port.map(|port| format!(":{port}")).unwrap_or_default();
    let auth = match &target.auth {
        Auth::Auto => &words.auth_auto_short,
        Auth::Agent => &words.auth_agent_short,
        Auth::KeyFile(_) => &words.auth_key_short,
        Auth::Password => &words.auth_password_short,
    };
    let address = format!("{user}{}{port}", target.address);
    match &target.jump {
        Some(jump) => {
            fill(&words.login_through, &[("address", address), ("auth", auth.clone()), ("jump", jump.clone())])
        }
        None => fill(&words.login, &[("address", address), ("auth", auth.clone())]),
    }
}

/// The end of a fingerprint, which people compare.
fn tail(fingerprint: &str) -> String {
    let chars: Vec<char> = fingerprint.chars().collect();
    let tail: String = chars.iter().skip(chars.len().saturating_sub(6)).collect();
    format!("…{tail}")
}

fn fact(ui: &mut Ui, icon: char, good: bool, words: &str, hover: &str) {
    let t = tokens(ui);
    let color = if good { t.color.pass } else { t.color.text_secondary };
    let label = with_icon(ui, icon, color, words, t.color.text_secondary);
    if !hover.is_empty() {
        label.on_hover_text(hover);
    }
}

fn warning(ui: &mut Ui, words: &str) {
    let t = tokens(ui);
    with_icon(ui, icons::WARNING_DIAMOND, t.color.waived, words, t.color.waived);
}

/// An icon and words; they go to the next line together when this one is full.
fn with_icon(ui: &mut Ui, icon: char, icon_color: egui::Color32, words: &str, color: egui::Color32) -> egui::Response {
    let t = tokens(ui);
    let lead = t.size.icon + 6.0;
    let words_width = ui.painter().layout_no_wrap(words.to_owned(), Font::Small.id(), color).size().x;
    let width = (lead + words_width + 1.0).ceil().min(ui.max_rect().width());
    let (rect, _) = ui.allocate_exact_size(egui::vec2(width, t.size.control_small), egui::Sense::hover());
    let center = egui::pos2(rect.left() + t.size.icon / 2.0, rect.center().y);
    icons::paint(ui.painter(), center, icon, t.size.icon, icon_color);
    let layout = egui::Layout::left_to_right(egui::Align::Center);
    let mut child = ui.new_child(egui::UiBuilder::new().max_rect(rect.with_min_x(rect.left() + lead)).layout(layout));
    child.add(egui::Label::new(Font::Small.rich(words).color(color)).truncate())
}

/// The probe that runs, how far it is.
fn running_ui(ui: &mut Ui, job: &Job, text: &Text, out: &mut Vec<Command>) {
    let words = &text.hosts;
    let values = [("probe", text.probe(&job.progress.step).to_owned()), ("n", job.progress.kept.to_string())];
    let asking = match job.what {
        JobWhat::Read(_) => words.reading.clone(),
        _ if job.progress.step.is_empty() => words.connecting.clone(),
        _ => fill(&words.asking, &values),
    };
    Card::new().selected(true).show(ui, |ui| {
        split(
            ui,
            |ui| {
                let t = tokens(ui);
                crate::ui::widgets::mark(ui, Mark::Running, t.size.icon, &text.common.running);
                small(ui, &asking);
            },
            |ui| {
                if Button::destructive(&words.stop).small().icon(icons::STOP).show(ui).clicked() {
                    out.push(Command::Stop(job.id));
                }
                if let Some(share) = job.progress.share {
                    progress(ui, 220.0, share, &asking);
                }
            },
        );
    });
}

fn failure_ui(
    ui: &mut Ui,
    state: &State,
    host: &Host,
    (what, failure): (&JobWhat, &Failure),
    text: &Text,
    out: &mut Vec<Command>,
) {
    let words = &text.hosts;
    let is_read = matches!(what, JobWhat::Read(_));
    let remedy = if is_read { &words.paste } else { &words.probe_again };
    if failure_card(ui, text, "host job", failure, Some(remedy)) {
        // The toast says the same; it has served its purpose.
        let same = |what: &NoticeWhat| matches!(what, NoticeWhat::Failed(other) if other == failure);
        let toasts = state.notices.iter().filter(|notice| same(&notice.what));
        out.extend(toasts.map(|notice| Command::DismissNotice(notice.number)));
        if is_read {
            out.push(Command::SelectHost(Some(host.id.clone())));
            out.push(Command::Show(Layer::PasteOutput));
        } else {
            out.push(Command::Probe { host: host.id.clone(), probes: Vec::new() });
        }
    }
}
