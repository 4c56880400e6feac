//! The dialog in which a host is added or changed.

use egui::Ui;

use crate::app::command::Command;
use crate::app::state::{Project, State};
use crate::domain::host::{Auth, Host, Reach, SshTarget};
use crate::domain::ids::HostId;
use crate::domain::text::Text;
use crate::engine::event::Picking;
use crate::project::edit::Edit;
use crate::ui::theme::{Font, tokens};
use crate::ui::widgets::{Button, Chip, Field, caption, columns, dialog, dialog_buttons, icons, segmented};

/// Aliases offered at once; typing narrows them down.
const ALIASES: usize = 10;

/// Which way a host is reached, before it is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Ssh,
    ThisComputer,
    Pasted,
}

/// Which proof is given, before it is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    Auto,
    Agent,
    KeyFile,
    Password,
}

/// What is typed; widget memory until it is kept.
#[derive(Debug, Clone)]
struct Draft {
    /// The host as it was; its id is chosen when a new one is kept.
    before: Option<Host>,
    host: Host,
    way: Way,
    proof: Proof,
    target: SshTarget,
    user: String,
    jump: String,
    key_file: String,
    /// A person typed the name; otherwise it follows the address.
    named: bool,
}

fn draft_id() -> egui::Id {
    egui::Id::unique("host draft")
}

/// Prepares the dialog for a new host, or for changing this one. The caller shows `Layer::AddHost`.
pub(super) fn open(ui: &Ui, host: Option<&Host>) {
    ui.data_mut(|data| match host {
        Some(host) => {
            data.insert_temp(draft_id(), draft_of(host.clone()));
        }
        None => data.remove::<Draft>(draft_id()),
    });
}

fn draft_of(host: Host) -> Draft {
    let (way, target) = match &host.reach {
        Reach::Ssh(target) => (Way::Ssh, target.clone()),
        Reach::ThisComputer => (Way::ThisComputer, SshTarget::default()),
        Reach::Pasted => (Way::Pasted, SshTarget::default()),
    };
    let (proof, key_file) = match &target.auth {
        Auth::Auto => (Proof::Auto, String::new()),
        Auth::Agent => (Proof::Agent, String::new()),
        Auth::KeyFile(path) => (Proof::KeyFile, path.clone()),
        Auth::Password => (Proof::Password, String::new()),
    };
    Draft {
        user: target.user.clone().unwrap_or_default(),
        jump: target.jump.clone().unwrap_or_default(),
        before: Some(host.clone()),
        host,
        way,
        proof,
        target,
        key_file,
        named: true,
    }
}

fn new_draft(state: &State, project: &Project) -> Draft {
    let candidates = &project.plan.candidates;
    let only = candidates.first().filter(|_| candidates.len() == 1).map(|candidate| candidate.id.clone());
    let host = Host {
        id: HostId::next(project.plan.hosts.iter().map(|host| &host.id)),
        candidate: state.view.candidate.clone().or(only),
        name: String::new(),
        reach: Reach::Ssh(SshTarget::default()),
        pinned_key: None,
        note: String::new(),
    };
    Draft { before: None, named: false, ..draft_of(host) }
}

impl Draft {
    /// The host as it would be kept; `Err` is why it cannot be.
    fn finished<'a>(&self, text: &'a Text) -> Result<Host, &'a str> {
        let words = &text.hosts;
        let some = |typed: &str| Some(typed.trim().to_owned()).filter(|typed| !typed.is_empty());
        let reach = match self.way {
            Way::ThisComputer => Reach::ThisComputer,
            Way::Pasted => Reach::Pasted,
            Way::Ssh => {
                let address = some(&self.target.address).ok_or(words.address_missing.as_str())?;
                for name in [&self.target.address, &self.user, &self.jump] {
                    if !is_login_name(name.trim()) {
                        return Err(&words.address_wrong);
                    }
                }
                let auth = match self.proof {
                    Proof::Auto => Auth::Auto,
                    Proof::Agent => Auth::Agent,
                    Proof::Password => Auth::Password,
                    Proof::KeyFile => Auth::KeyFile(some(&self.key_file).ok_or(words.key_file_missing.as_str())?),
                };
                Reach::Ssh(SshTarget {
                    address,
                    port: self.target.port,
                    user: some(&self.user),
                    auth,
                    jump: some(&self.jump),
                })
            }
        };
        let name = some(&self.host.name).ok_or(words.name_missing.as_str())?;
        // A key is pinned for one machine: another address or port is another machine.
        let same_machine = match (self.before.as_ref().map(|before| &before.reach), &reach) {
            (Some(Reach::Ssh(old)), Reach::Ssh(new)) => (&old.address, old.port) == (&new.address, new.port),
            (_, Reach::Ssh(_)) => true,
            _ => false,
        };
        let pinned_key = self.host.pinned_key.clone().filter(|_| same_machine);
        Ok(Host { name, reach, pinned_key, ..self.host.clone() })
    }
}

/// A name for `ssh`: no blanks or controls, and not an option.
fn is_login_name(name: &str) -> bool {
    !name.starts_with('-') && !name.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Draws the dialog.
pub fn add_ui(ui: &mut Ui, state: &State, text: &Text, out: &mut Vec<Command>) {
    let Some(project) = &state.project else { return };
    let words = &text.hosts;
    let t = tokens(ui);
    let mut draft: Draft = ui.data(|data| data.get_temp(draft_id())).unwrap_or_else(|| new_draft(state, project));
    if state.ssh_aliases.is_none() {
        let asked = egui::Id::unique("asked for ssh aliases");
        if !ui.data(|data| data.get_temp(asked).unwrap_or(false)) {
            ui.data_mut(|data| {
                data.insert_temp(asked, true);
            });
            out.push(Command::ListSshAliases);
        }
    }
    if let Some(path) = state.picked.get(&Picking::KeyFile.into()) {
        draft.key_file = path.display().to_string();
        draft.proof = Proof::KeyFile;
        out.push(Command::TakePicked(Picking::KeyFile));
    }
    let is_new = draft.before.is_none();
    let title = if is_new { &words.add_title } else { &words.edit_title };
    let mut kept = false;
    dialog(ui, "add host", title, out, |ui, out| {
        ui.spacing_mut().item_spacing.y = t.space.s;
        let ways = [
            (Way::Ssh, words.way_ssh.as_str()),
            (Way::ThisComputer, words.way_this_computer.as_str()),
            (Way::Pasted, words.way_pasted.as_str()),
        ];
        draft.way = segmented(ui, &ways, draft.way).unwrap_or(draft.way);
        match draft.way {
            Way::Ssh => ssh_ui(ui, state, &mut draft, text, out),
            Way::ThisComputer => {
                caption(ui, &words.this_computer_why);
            }
            Way::Pasted => {
                caption(ui, &words.pasted_why);
            }
        }
        if !draft.named {
            draft.host.name = match draft.way {
                Way::Ssh => draft.target.address.trim().to_owned(),
                Way::ThisComputer => words.this_computer_name.clone(),
                Way::Pasted => String::new(),
            };
        }
        columns(ui, t.space.s, [1.0, 1.0], |[left, right]| {
            if Field::new("host name", &words.name).text(left, &mut draft.host.name) {
                draft.named = !draft.host.name.is_empty();
            }
            let mut candidates = vec![(None, words.no_candidate.as_str())];
            candidates.extend(project.plan.candidates.iter().map(|c| (Some(c.id.clone()), c.name.as_str())));
            Field::new("host candidate", &words.candidate).choice(right, &candidates, &mut draft.host.candidate);
        });
        if let Some(key) = draft.host.pinned_key.clone() {
            ui.horizontal(|ui| {
                ui.label(icons::rich(icons::LOCK, t.size.icon).color(t.color.text_secondary));
                ui.label(
                    Font::Mono.rich(format!("{} {}", key.key_type, key.fingerprint)).color(t.color.text_secondary),
                );
                if Button::link(&words.forget_key).small().hover(&words.forget_key_why).show(ui).clicked() {
                    draft.host.pinned_key = None;
                }
            });
        }
        Field::new("host note", &words.note).hint(&words.note_hint).text(ui, &mut draft.host.note);
        let finished = draft.finished(text);
        let why = finished.as_ref().err().copied().unwrap_or_default();
        // What is missing is said beside the button: a new dialog should not open full of errors.
        dialog_buttons(ui, why, |ui| {
            let label = if is_new { &words.add_button } else { &text.common.save };
            if Button::primary(label).enabled(finished.is_ok(), why).show(ui).clicked()
                && let Ok(host) = finished
            {
                let id = host.id.clone();
                if draft.before.as_ref() != Some(&host) {
                    out.push(Command::Edit(Edit::PutHost(Box::new(host))));
                }
                out.push(Command::SelectHost(Some(id)));
                out.push(Command::CloseTop);
                kept = true;
            }
            if Button::secondary(&text.common.cancel).show(ui).clicked() {
                out.push(Command::CloseTop);
                kept = true;
            }
        });
    });
    // Esc and a click beside the dialog close it as well.
    let closing = kept || out.contains(&Command::CloseTop);
    ui.data_mut(|data| {
        if closing {
            data.remove::<Draft>(draft_id());
        } else {
            data.insert_temp(draft_id(), draft);
        }
    });
}

fn ssh_ui(ui: &mut Ui, state: &State, draft: &mut Draft, text: &Text, out: &mut Vec<Command>) {
    let words = &text.hosts;
    let t = tokens(ui);
    columns(ui, t.space.s, [1.0, -96.0], |[address, port]| {
        Field::new("host address", &words.address).hint(&words.address_hint).text(address, &mut draft.target.address);
        let mut wide = draft.target.port.map(u32::from);
        let field = Field::new("host port", &words.port).hint("22");
        if field.whole32(port, text, 1..=65_535, &mut wide) {
            draft.target.port = wide.and_then(|wide| u16::try_from(wide).ok());
        }
    });
    aliases_ui(ui, state, draft, text);
    columns(ui, t.space.s, [1.0, 1.0], |[user, jump]| {
        Field::new("host user", &words.user).hint(&words.from_configuration).text(user, &mut draft.user);
        Field::new("host jump", &words.jump).hint(&words.jump_hint).text(jump, &mut draft.jump);
    });
    ui.label(Font::Small.rich(&words.auth).color(t.color.text_secondary));
    let proofs = [
        (Proof::Auto, words.auth_auto.as_str()),
        (Proof::Agent, words.auth_agent.as_str()),
        (Proof::KeyFile, words.auth_key.as_str()),
        (Proof::Password, words.auth_password.as_str()),
    ];
    draft.proof = segmented(ui, &proofs, draft.proof).unwrap_or(draft.proof);
    match draft.proof {
        Proof::KeyFile => {
            columns(ui, t.space.s, [1.0, -116.0], |[path, browse]| {
                Field::new("host key file", &words.key_file).hint("~/.ssh/id_ed25519").text(path, &mut draft.key_file);
                browse.add_space(20.0);
                if Button::secondary(&text.common.browse).icon(icons::FOLDER_OPEN).show(browse).clicked() {
                    out.push(Command::Pick(Picking::KeyFile));
                }
            });
            caption(ui, &words.auth_key_note);
        }
        Proof::Password => {
            caption(ui, &words.auth_password_note);
        }
        Proof::Agent => {
            caption(ui, &words.auth_agent_note);
        }
        Proof::Auto => {
            caption(ui, &words.auth_auto_note);
        }
    }
}

/// Aliases of the SSH configuration that fit what is typed; a click takes one.
fn aliases_ui(ui: &mut Ui, state: &State, draft: &mut Draft, text: &Text) {
    let words = &text.hosts;
    let typed = draft.target.address.trim().to_lowercase();
    let aliases = state.ssh_aliases.as_deref().unwrap_or_default();
    let fitting: Vec<&String> = aliases
        .iter()
        .filter(|alias| alias.to_lowercase().contains(&typed) || **alias == draft.target.address)
        .collect();
    if fitting.is_empty() {
        caption(ui, if aliases.is_empty() { &words.no_aliases } else { &words.no_alias_fits });
        return;
    }
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = egui::vec2(6.0, 6.0);
        caption(ui, &words.aliases);
        for alias in fitting.into_iter().take(ALIASES) {
            if Chip::new(alias).tick().selected(*alias == draft.target.address).show(ui).clicked() {
                draft.target.address.clone_from(alias);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::host::KeyPin;
    use crate::domain::text::Language;

    fn host(address: &str, port: Option<u16>) -> Host {
        Host {
            id: HostId("h1".into()),
            candidate: None,
            name: "gpu-a1".into(),
            reach: Reach::Ssh(SshTarget { address: address.into(), port, ..SshTarget::default() }),
            pinned_key: Some(KeyPin { key_type: "ssh-ed25519".into(), fingerprint: "SHA256:abc".into() }),
            note: String::new(),
        }
    }

    #[test]
    fn an_unchanged_host_comes_back_as_it_was() {
        for mut host in [host("gpu-a", Some(2222)), host("gpu-a", None)] {
            assert_eq!(draft_of(host.clone()).finished(Text::of(Language::En)), Ok(host.clone()));
            host.reach = Reach::Ssh(SshTarget {
                address: "gpu-a".into(),
                port: None,
                user: Some("root".into()),
                auth: Auth::KeyFile("/k".into()),
                jump: Some("bastion".into()),
            });
            assert_eq!(draft_of(host.clone()).finished(Text::of(Language::En)), Ok(host));
        }
    }

    #[test]
    fn another_address_forgets_the_pinned_key() {
        let text = Text::of(Language::En);
        let mut draft = draft_of(host("gpu-a", None));
        draft.user = "ubuntu".into();
        assert!(draft.finished(text).unwrap().pinned_key.is_some(), "another user is the same machine");
        draft.target.port = Some(2222);
        assert_eq!(draft.finished(text).unwrap().pinned_key, None);
    }

    #[test]
    fn what_is_missing_or_looks_like_an_option_is_said() {
        let text = Text::of(Language::En);
        let words = &text.hosts;
        let with = |change: fn(&mut Draft)| {
            let mut draft = draft_of(host("gpu-a", None));
            change(&mut draft);
            draft.finished(text).unwrap_err()
        };
        assert_eq!(with(|draft| draft.target.address = "  ".into()), words.address_missing);
        assert_eq!(with(|draft| draft.target.address = "-oProxyCommand=x".into()), words.address_wrong);
        assert_eq!(with(|draft| draft.jump = "a b".into()), words.address_wrong);
        assert_eq!(with(|draft| draft.proof = Proof::KeyFile), words.key_file_missing);
        assert_eq!(with(|draft| draft.host.name = String::new()), words.name_missing);
    }
}
