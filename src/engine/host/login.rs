//! Logging in: agent, key files, then what the server asks for. Asks the person only for what is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::host::Auth;
use crate::domain::secret::Secret;
use crate::engine::capture::one_line;
use crate::engine::event::{Question, Reply};

use super::config::{self, Agent, Resolved};
use super::secrets::{self, Wanted};
use super::session::{Answer, Person, code, is_connection_gone};
use super::socket::{Stop, Watchdog};

/// Keys offered at most: servers count each and drop the connection at six by default, and a password may still follow.
const KEYS_AT_MOST: usize = 5;
/// How often a person may answer the same question.
const ROUNDS: usize = 3;
/// The largest key file that is read, bytes.
const KEY_FILE_CAP: u64 = 64 << 10;

/// libssh2: the signature was refused. Also how an accepted first factor of two is reported.
const UNVERIFIED: i32 = -19;
/// libssh2: the key was refused before a signature was made, or the password was wrong.
const REFUSED: i32 = -18;

/// What a person answered in earlier attempts of the same connection.
#[derive(Default)]
pub(super) struct Answers {
    asked: bool,
    /// A password that was given and not yet seen to be wrong.
    password: Option<Secret>,
}

impl Answers {
    /// Whether a person was asked since this was looked at last.
    pub(super) fn was_asked(&mut self) -> bool {
        std::mem::take(&mut self.asked)
    }
}

/// Why nobody is logged in.
pub(super) enum Ended {
    /// For good.
    Stopped(Stop),
    /// The connection went away in the middle.
    Dropped(Failure),
}

impl From<Stop> for Ended {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

/// Logs in as the target says.
pub(super) fn log_in(
    ssh: &ssh2::Session,
    resolved: &Resolved,
    auth: &Auth,
    person: &Person<'_>,
    watchdog: &Watchdog,
    answers: &mut Answers,
) -> Result<(), Ended> {
    let mut login =
        Login { ssh, resolved, person, watchdog, answers, tried: Vec::new(), offered: BTreeSet::new(), locked: None };
    let methods = login.methods()?;
    if ssh.authenticated() {
        return Ok(());
    }
    if methods.contains("publickey") {
        match auth {
            Auth::Auto => {
                login.agent(false)?;
                for file in resolved.identity_files.clone() {
                    if !ssh.authenticated() && file.is_file() {
                        login.key_file(&file)?;
                    }
                }
            }
            Auth::Agent => login.agent(true)?,
            Auth::KeyFile(file) => {
                let file = config::expand_home(file);
                if let Err(error) = std::fs::metadata(&file) {
                    let failure = Failure::new(FailureKind::FileUnreadable).because(error).at(file.display());
                    return Err(Ended::Stopped(failure.into()));
                }
                login.key_file(&file)?;
            }
            Auth::Password => {}
        }
    }
    if !ssh.authenticated() && matches!(auth, Auth::Agent | Auth::KeyFile(_)) && login.locked.is_none() {
        // A second factor may be wanted: the server then offers something else than before.
        let now = login.methods()?;
        if now != methods && !ssh.authenticated() {
            login.typed(&now)?;
        }
    } else if !ssh.authenticated() && matches!(auth, Auth::Auto | Auth::Password) {
        let now = login.methods()?;
        login.typed(&now)?;
    }
    if ssh.authenticated() { Ok(()) } else { Err(Ended::Stopped(login.refused().into())) }
}

struct Login<'a> {
    ssh: &'a ssh2::Session,
    resolved: &'a Resolved,
    person: &'a Person<'a>,
    watchdog: &'a Watchdog,
    answers: &'a mut Answers,
    /// What was offered, for the error.
    tried: Vec<String>,
    /// Public keys the server has seen.
    offered: BTreeSet<Vec<u8>>,
    /// A key file whose passphrase nobody gave.
    locked: Option<PathBuf>,
}

impl Login<'_> {
    /// The methods the server offers now.
    fn methods(&self) -> Result<String, Ended> {
        match self.ssh.auth_methods(&self.resolved.user) {
            Ok(methods) => Ok(methods.to_owned()),
            Err(_) if self.ssh.authenticated() => Ok(String::new()),
            Err(error) if is_connection_gone(&error) => Err(self.dropped(&error)),
            Err(_none_listed) => Ok(String::new()),
        }
    }

    fn dropped(&self, error: &ssh2::Error) -> Ended {
        let place = self.resolved.place();
        let cause = one_line(error.message());
        Ended::Dropped(if self.tried.is_empty() {
            Failure::new(FailureKind::ConnectionLost).because(cause).at(place)
        } else {
            // A server that has seen enough wrong offers just hangs up.
            Failure::new(FailureKind::LoginRefused).with("tried", self.tried.join(", ")).because(cause).at(place)
        })
    }

    fn refused(&self) -> Failure {
        if let Some(file) = &self.locked {
            return Failure::new(FailureKind::PassphraseNeeded).at(file.display());
        }
        let tried = if self.tried.is_empty() { "-".to_owned() } else { self.tried.join(", ") };
        Failure::new(FailureKind::LoginRefused).with("tried", tried).at(self.resolved.place())
    }

    /// Every key of the agent, one by one: libssh2's own way tries only the first.
    fn agent(&mut self, is_needed: bool) -> Result<(), Ended> {
        let missing = |cause: String| Failure::new(FailureKind::NoAgent).because(cause);
        let connected = || -> Result<(ssh2::Agent, Vec<ssh2::PublicKey>), Failure> {
            let failed = |error: ssh2::Error| missing(one_line(error.message()));
            let mut agent = self.ssh.agent().map_err(failed)?;
            match &self.resolved.agent {
                Agent::None => return Err(missing("the SSH configuration says \"IdentityAgent none\"".to_owned())),
                Agent::Socket(path) => agent.set_identity_path(path).map_err(failed)?,
                Agent::Environment if std::env::var_os("SSH_AUTH_SOCK").is_none() && cfg!(unix) => {
                    return Err(missing("SSH_AUTH_SOCK is not set".to_owned()));
                }
                Agent::Environment => {}
            }
            agent.connect().map_err(failed)?;
            agent.list_identities().map_err(failed)?;
            let identities = agent.identities().map_err(failed)?;
            Ok((agent, identities))
        };
        let (agent, identities) = match connected() {
            Ok(found) => found,
            Err(failure) if is_needed => return Err(Ended::Stopped(failure.at(self.resolved.place()).into())),
            Err(_no_agent) => return Ok(()),
        };
        let configured: Vec<Vec<u8>> =
            self.resolved.identity_files.iter().filter_map(|file| public_key(file)).collect();
        let mut n_offered = 0_usize;
        for identity in &identities {
            let is_wanted = !self.resolved.identities_only || configured.iter().any(|key| key == identity.blob());
            if !is_wanted || self.offered.len() >= KEYS_AT_MOST {
                continue;
            }
            self.offered.insert(identity.blob().to_vec());
            n_offered += 1;
            let result = agent.userauth(&self.resolved.user, identity);
            if self.ssh.authenticated() {
                return Ok(());
            }
            match result {
                Err(error) if is_connection_gone(&error) => {
                    self.tried.push(format!("agent ({n_offered})"));
                    return Err(self.dropped(&error));
                }
                // The first of two factors comes back like this; more keys would not help.
                Err(error) if code(&error) == UNVERIFIED && !self.methods()?.contains("publickey") => break,
                _ => {}
            }
        }
        self.tried.push(format!("agent ({n_offered})"));
        Ok(())
    }

    /// One key file, with its certificate beside it when there is one.
    fn key_file(&mut self, file: &Path) -> Result<(), Ended> {
        let public = public_key(file);
        let is_known = public.as_ref().is_some_and(|key| self.offered.contains(key));
        if is_known || self.offered.len() >= KEYS_AT_MOST {
            return Ok(());
        }
        let Some(content) = read_key(file) else { return Ok(()) };
        self.offered.insert(public.unwrap_or_else(|| content.clone().into_bytes()));
        let name = file.display().to_string();
        let is_locked = is_encrypted(&content);
        for round in 0..ROUNDS {
            let passphrase = match is_locked {
                true => match self.passphrase(&name, round > 0)? {
                    Some(passphrase) => Some(passphrase),
                    None => break,
                },
                false => None,
            };
            match self.offer(file, passphrase.as_ref()) {
                Ok(()) => {
                    if let Some(passphrase) = passphrase {
                        secrets::keep(Wanted::Passphrase(name.clone()), passphrase);
                    }
                    self.tried.push(name);
                    return Ok(());
                }
                Err(error) if is_connection_gone(&error) => {
                    self.tried.push(name);
                    return Err(self.dropped(&error));
                }
                Err(error) if matches!(code(&error), REFUSED | UNVERIFIED) => {
                    // The file was opened, so the passphrase is right; the server does not want the key, or wants more.
                    if let Some(passphrase) = passphrase {
                        secrets::keep(Wanted::Passphrase(name.clone()), passphrase);
                    }
                    self.tried.push(name);
                    return Ok(());
                }
                // libssh2 says the same of a wrong passphrase and of a format it cannot read.
                Err(_) if is_locked => secrets::forget(&Wanted::Passphrase(name.clone())),
                Err(error) => {
                    self.tried.push(format!("{name} ({})", one_line(error.message())));
                    return Ok(());
                }
            }
        }
        self.locked = Some(file.to_owned());
        self.tried.push(name);
        Ok(())
    }

    fn offer(&self, file: &Path, passphrase: Option<&Secret>) -> Result<(), ssh2::Error> {
        let passphrase = passphrase.map(Secret::expose);
        let user = &self.resolved.user;
        let mut certificate = file.as_os_str().to_owned();
        certificate.push("-cert.pub");
        let certificate = PathBuf::from(certificate);
        if certificate.is_file() {
            let result = self.ssh.userauth_pubkey_file(user, Some(&certificate), file, passphrase);
            if !result.as_ref().is_err_and(|error| matches!(code(error), REFUSED | UNVERIFIED)) {
                return result;
            }
        }
        self.ssh.userauth_pubkey_file(user, None, file, passphrase)
    }

    /// The passphrase of a key file: the one that worked before, or what the person types.
    fn passphrase(&mut self, file: &str, again: bool) -> Result<Option<Secret>, Stop> {
        if let Some(known) = secrets::recall(&Wanted::Passphrase(file.to_owned())) {
            return Ok(Some(known));
        }
        self.answers.asked = true;
        let question = Question::Passphrase { file: file.to_owned(), again };
        match self.watchdog.paused(|| self.person.ask(question))? {
            Answer::Given(Reply::Secret(secret)) => Ok(Some(secret)),
            Answer::Given(_) | Answer::Refused => Ok(None),
        }
    }

    /// What the server asks for: keyboard-interactive prompts, or a password.
    fn typed(&mut self, methods: &str) -> Result<(), Ended> {
        for method in ["keyboard-interactive", "password"] {
            if !methods.split(',').any(|offered| offered == method) {
                continue;
            }
            let mut was_answered = false;
            for round in 0..ROUNDS {
                let ssh = self.ssh;
                let mut prompter = Prompter::new(self, round > 0);
                let result = if method == "password" {
                    prompter.password()
                } else {
                    let user = prompter.user.clone();
                    ssh.userauth_keyboard_interactive(&user, &mut prompter)
                };
                let (stopped, is_refused, given) = (prompter.stopped, prompter.is_refused, prompter.given);
                was_answered |= prompter.was_answered;
                let wanted = Wanted::Password(self.resolved.place());
                if let Some(stop) = stopped {
                    return Err(Ended::Stopped(stop));
                }
                if self.ssh.authenticated() {
                    if let Some(secret) = given {
                        secrets::keep(wanted, secret);
                    }
                    return Ok(());
                }
                if is_refused {
                    // A person who gives no password for one method gives none for the next.
                    self.tried.push(format!("{method} (not answered)"));
                    return Ok(());
                }
                if !self.tried.iter().any(|tried| tried == method) {
                    self.tried.push(method.to_owned());
                }
                match result {
                    // Gone before the first answer was judged: the person took longer than the server waits.
                    Err(error) if is_connection_gone(&error) && round == 0 => {
                        self.answers.password = given;
                        return Err(self.dropped(&error));
                    }
                    Err(error) if is_connection_gone(&error) => return Ok(()),
                    _ => {
                        secrets::forget(&wanted);
                        self.answers.password = None;
                    }
                }
            }
            if was_answered {
                // The other method would ask for the same again.
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Answers a server's prompts from memory or from the person.
struct Prompter<'a> {
    ssh: &'a ssh2::Session,
    person: &'a Person<'a>,
    watchdog: &'a Watchdog,
    user: String,
    place: String,
    /// A password from before, tried once.
    remembered: Option<Secret>,
    /// The password that was given in this round.
    given: Option<Secret>,
    was_asked: &'a mut bool,
    was_answered: bool,
    is_refused: bool,
    /// Whether the answers of the round before were not taken.
    again: bool,
    stopped: Option<Stop>,
}

impl<'a> Prompter<'a> {
    fn new<'b: 'a>(login: &'a mut Login<'b>, again: bool) -> Self {
        let place = login.resolved.place();
        let remembered = login.answers.password.clone().or_else(|| secrets::recall(&Wanted::Password(place.clone())));
        Self {
            ssh: login.ssh,
            person: login.person,
            watchdog: login.watchdog,
            user: login.resolved.user.clone(),
            place,
            remembered,
            given: None,
            was_asked: &mut login.answers.asked,
            was_answered: false,
            is_refused: false,
            again,
            stopped: None,
        }
    }

    fn password(&mut self) -> Result<(), ssh2::Error> {
        let answer = self.answer("Password", false);
        if self.is_refused || self.stopped.is_some() { Ok(()) } else { self.ssh.userauth_password(&self.user, &answer) }
    }

    /// The answer to one prompt; empty when the person does not want to.
    fn answer(&mut self, prompt: &str, echo: bool) -> String {
        if self.is_refused || self.stopped.is_some() {
            return String::new();
        }
        self.was_answered = true;
        // A one-time code is never remembered.
        let is_password = !echo && prompt.to_lowercase().contains("password");
        if is_password && let Some(remembered) = self.remembered.take() {
            let text = remembered.expose().to_owned();
            self.given = Some(remembered);
            return text;
        }
        *self.was_asked = true;
        let question =
            Question::Password { login: self.place.clone(), prompt: one_line(prompt), echo, again: self.again };
        match self.watchdog.paused(|| self.person.ask(question)) {
            Ok(Answer::Given(Reply::Secret(secret))) => {
                let text = secret.expose().to_owned();
                if is_password {
                    self.given = Some(secret);
                }
                text
            }
            Ok(_) => {
                self.is_refused = true;
                String::new()
            }
            Err(stop) => {
                self.stopped = Some(stop);
                String::new()
            }
        }
    }
}

impl ssh2::KeyboardInteractivePrompt for Prompter<'_> {
    fn prompt<'b>(&mut self, _user: &str, instructions: &str, prompts: &[ssh2::Prompt<'b>]) -> Vec<String> {
        prompts
            .iter()
            .map(|prompt| {
                let text = prompt.text.trim();
                let text = if text.is_empty() { instructions } else { text };
                self.answer(text, prompt.echo)
            })
            .collect()
    }
}

/// The raw public key beside a key file, when it is there.
fn public_key(file: &Path) -> Option<Vec<u8>> {
    let mut public = file.as_os_str().to_owned();
    if file.extension().is_none_or(|extension| extension != "pub") {
        public.push(".pub");
    }
    let text = read_key(Path::new(&public))?;
    STANDARD.decode(text.split_whitespace().nth(1)?).ok()
}

fn read_key(file: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(KEY_FILE_CAP).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether a private key needs a passphrase, by its content: libssh2's error does not tell.
fn is_encrypted(content: &str) -> bool {
    if content.contains("BEGIN ENCRYPTED PRIVATE KEY") || content.contains("Proc-Type: 4,ENCRYPTED") {
        return true;
    }
    let Some((_, body)) = content.split_once("-----BEGIN OPENSSH PRIVATE KEY-----") else { return false };
    let body: String = body.split("-----").next().unwrap_or_default().split_whitespace().collect();
    // Magic, NUL, then the cipher's name with its length before it; "none" is no cipher.
    let Ok(raw) = STANDARD.decode(body) else { return false };
    raw.strip_prefix(b"openssh-key-v1\0").is_some_and(|rest| !rest.starts_with(b"\0\0\0\x04none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encrypted_keys_are_told_by_their_content() {
        let folder = tempfile::tempdir().unwrap();
        for (name, args, want) in [
            ("open", &["-t", "ed25519", "-N", ""][..], false),
            ("locked", &["-t", "ed25519", "-N", "secret", "-a", "1"][..], true),
            ("pem", &["-t", "ecdsa", "-m", "PEM", "-N", ""][..], false),
            ("pem_locked", &["-t", "ecdsa", "-m", "PEM", "-N", "secret"][..], true),
            ("pkcs8_locked", &["-t", "ecdsa", "-m", "PKCS8", "-N", "secret"][..], true),
        ] {
            let file = folder.path().join(name);
            let made =
                std::process::Command::new("ssh-keygen").args(["-q", "-f"]).arg(&file).args(args).status().unwrap();
            assert!(made.success(), "{name}");
            assert_eq!(is_encrypted(&std::fs::read_to_string(&file).unwrap()), want, "{name}");
            let public = public_key(&file).unwrap();
            assert!(super::super::known_hosts::type_of(&public).is_some(), "{name}");
        }
        assert!(!is_encrypted("no key at all"));
    }
}
