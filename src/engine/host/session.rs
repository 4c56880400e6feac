//! One connection to a host: the way there, who the host is, and logging in.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ssh2::{DisconnectCode, ErrorCode, MethodType};
use tokio_util::sync::CancellationToken;

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::host::{Auth, Host, KeyPin, SshTarget};
use crate::engine::capture::one_line;
use crate::engine::event::{Question, Reply};

use super::Setup;
use super::config::{self, Resolved};
use super::exec::Unfinished;
use super::known_hosts::{self, KeyCheck};
use super::login;
use super::pump;
use super::secrets;
use super::socket::{self, Socket, Stop, Watchdog};

/// The longest a connection may take to open.
const CONNECT_LIMIT: Duration = Duration::from_secs(15);
/// The longest the greeting and each round of the login may take, waiting for a person not counted.
const LOGIN_LIMIT: Duration = Duration::from_secs(25);
/// How often a connection is opened anew because a person had to be asked.
const ATTEMPTS: usize = 4;
/// Key types we negotiate, best first. No certificates: nothing here could check their authority.
const KEY_TYPES: [&str; 6] = [
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
];

/// The person behind the job, if there is one.
pub(in crate::engine) struct Person<'a> {
    /// Cancels everything that waits.
    pub(in crate::engine) cancel: &'a CancellationToken,
    /// Asks and waits; `None` when the job was cancelled. Without it nobody is asked.
    pub(in crate::engine) ask: Option<&'a dyn Fn(Question) -> Option<Reply>>,
}

/// What a person answered.
pub(super) enum Answer {
    /// Yes, or the secret.
    Given(Reply),
    /// No, or nobody is there to ask.
    Refused,
}

impl Person<'_> {
    pub(super) fn ask(&self, question: Question) -> Result<Answer, Stop> {
        let Some(ask) = self.ask else { return Ok(Answer::Refused) };
        match ask(question) {
            Some(Reply::Refuse) => Ok(Answer::Refused),
            Some(reply) => Ok(Answer::Given(reply)),
            None => Err(Stop::Cancelled),
        }
    }
}

/// A host that let us in. Dropping it closes the socket first, so that nothing waits for a dead peer.
pub(in crate::engine) struct Session {
    /// The session, not blocking.
    pub(super) ssh: ssh2::Session,
    /// Its socket, for waiting and closing.
    pub(super) socket: Socket,
    /// The host's key.
    pub(in crate::engine) pin: KeyPin,
    /// The raw key.
    pub(super) key: Vec<u8>,
    /// A person accepted it just now.
    pub(in crate::engine) newly_accepted: bool,
    /// The connection in one line, for show.
    pub(in crate::engine) line: String,
    /// `user@host:port`.
    pub(in crate::engine) place: String,
    /// Host and port under which the key is known.
    pub(super) key_name: (String, u16),
    /// The host runs commands on a terminal only.
    pub(super) needs_terminal: Cell<bool>,
    /// A command that was cancelled and may still run on the host.
    pub(super) unfinished: RefCell<Option<Unfinished>>,
}

impl Session {
    /// Says good-bye; what it takes is bounded.
    pub(in crate::engine) fn goodbye(self) {
        self.ssh.set_blocking(true);
        self.ssh.set_timeout(500);
        self.ssh.disconnect(Some(DisconnectCode::ByApplication), "done", None).ok();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.socket.close();
    }
}

/// Connects and logs in, asking the person for what is missing.
pub(in crate::engine) fn connect(
    setup: &Setup,
    host: &Host,
    target: &SshTarget,
    person: &Person<'_>,
) -> Result<Session, Stop> {
    let wanted = Wanted::resolve(setup, target, host.pinned_key.clone(), person.cancel)?;
    open(setup, wanted, person, Until::LoggedIn)
}

/// Connects as far as the host's key is checked, and gives it.
pub(super) fn host_key(setup: &Setup, host: &Host, target: &SshTarget, person: &Person<'_>) -> Result<Session, Stop> {
    let wanted = Wanted::resolve(setup, target, host.pinned_key.clone(), person.cancel)?;
    open(setup, wanted, person, Until::KeyChecked)
}

/// How far a connection is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    KeyChecked,
    LoggedIn,
}

/// A host to connect to, with all that is known about it.
struct Wanted {
    resolved: Resolved,
    auth: Auth,
    pinned: Option<KeyPin>,
    /// Its key was accepted during this connection.
    accepted: Option<KeyPin>,
    is_jump: bool,
    known_hosts: Vec<String>,
}

impl Wanted {
    fn resolve(
        setup: &Setup,
        target: &SshTarget,
        pinned: Option<KeyPin>,
        cancel: &CancellationToken,
    ) -> Result<Self, Stop> {
        let resolved = config::resolve(setup, target, cancel);
        if cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let resolved = resolved?;
        if resolved.has_proxy_command && resolved.jump.is_none() {
            return Err(unsupported("proxy_command", &resolved.asked));
        }
        let known_hosts = resolved.known_hosts_texts();
        Ok(Self { resolved, auth: target.auth.clone(), pinned, accepted: None, is_jump: false, known_hosts })
    }

    fn key_types(&self) -> String {
        let (name, port) = self.resolved.key_name();
        let texts: Vec<&str> = self.known_hosts.iter().map(String::as_str).collect();
        let pinned = self.accepted.iter().chain(&self.pinned).map(|pin| pin.key_type.clone());
        let known = known_hosts::known_types(&texts, name, port);
        let mut types: Vec<&str> = Vec::new();
        let preferred: Vec<String> = pinned.chain(known).collect();
        for known in &preferred {
            for offered in KEY_TYPES {
                let fits = offered == known || (known == "ssh-rsa" && offered.starts_with("rsa-"));
                if fits && !types.contains(&offered) {
                    types.push(offered);
                }
            }
        }
        for offered in KEY_TYPES {
            if !types.contains(&offered) {
                types.push(offered);
            }
        }
        types.join(",")
    }
}

fn unsupported(what: &str, place: &str) -> Stop {
    Stop::Failed(Failure::new(FailureKind::NotSupportedHere).with("what", what).at(place))
}

/// Why an attempt ended without a session.
enum Ended {
    Stopped(Stop),
    /// The key is unknown; a person has to look at it.
    AskKey {
        pin: KeyPin,
        other_types: Vec<KeyPin>,
    },
    /// The connection went away while a person was asked; the answer is remembered.
    Again(Failure),
}

impl From<Stop> for Ended {
    fn from(stop: Stop) -> Self {
        Self::Stopped(stop)
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Stopped(Stop::Failed(failure))
    }
}

/// Opens the connection; anew after a person was asked about the key, so that no server waits for a person.
fn open(setup: &Setup, mut wanted: Wanted, person: &Person<'_>, until: Until) -> Result<Session, Stop> {
    let mut last =
        Failure::new(FailureKind::ConnectionLost).because("it was opened too often").at(wanted.resolved.place());
    let mut answers = login::Answers::default();
    for _ in 0..ATTEMPTS {
        match attempt(setup, &wanted, person, until, &mut answers) {
            Ok(session) => {
                if wanted.is_jump && session.newly_accepted {
                    secrets::keep_jump_key(wanted.resolved.host_place(), session.pin.clone());
                }
                return Ok(session);
            }
            Err(Ended::Stopped(_)) if person.cancel.is_cancelled() => return Err(Stop::Cancelled),
            Err(Ended::Stopped(stop)) => return Err(stop),
            Err(Ended::Again(failure)) => last = failure,
            Err(Ended::AskKey { pin, other_types }) => {
                let host = wanted.resolved.host_place();
                let refused = Failure::new(FailureKind::HostKeyUnknown).with("found", &pin.fingerprint).at(&host);
                let other_types =
                    other_types.iter().map(|pin| format!("{} {}", pin.key_type, pin.fingerprint)).collect();
                match person.ask(Question::HostKey { host, key: pin.clone(), other_types })? {
                    Answer::Given(Reply::Accept) => wanted.accepted = Some(pin),
                    Answer::Given(_) | Answer::Refused => return Err(Stop::Failed(refused)),
                }
            }
        }
    }
    Err(Stop::Failed(last))
}

/// One connection from socket to login.
fn attempt(
    setup: &Setup,
    wanted: &Wanted,
    person: &Person<'_>,
    until: Until,
    answers: &mut login::Answers,
) -> Result<Session, Ended> {
    let resolved = &wanted.resolved;
    let place = resolved.place();
    let socket = reach(setup, wanted, person)?;
    let watchdog = Watchdog::start(&socket, LOGIN_LIMIT, person.cancel)
        .map_err(|error| Failure::new(FailureKind::Internal).because(error))?;
    let internal = |error: ssh2::Error| Failure::new(FailureKind::Internal).because(error.message());
    let mut ssh = ssh2::Session::new().map_err(internal)?;
    ssh.set_tcp_stream(socket.try_clone().map_err(|error| Failure::new(FailureKind::Internal).because(error))?);
    ssh.method_pref(MethodType::HostKey, &wanted.key_types()).map_err(internal)?;
    ssh.handshake().map_err(|error| {
        let cause = if watchdog.has_expired() {
            format!("the greeting was not over within {} s", LOGIN_LIMIT.as_secs())
        } else {
            one_line(error.message())
        };
        Failure::new(FailureKind::HandshakeFailed).because(cause).at(&place)
    })?;
    let key = ssh.host_key().map(|(key, _)| key.to_vec()).unwrap_or_default();
    let pin = check_key(wanted, &key)?;
    if until == Until::LoggedIn {
        login::log_in(&ssh, resolved, &wanted.auth, person, &watchdog, answers).map_err(|ended| match ended {
            login::Ended::Stopped(stop) => Ended::Stopped(stop),
            login::Ended::Dropped(failure) if answers.was_asked() => Ended::Again(failure),
            login::Ended::Dropped(failure) => Ended::Stopped(Stop::Failed(failure)),
        })?;
    }
    drop(watchdog);
    if person.cancel.is_cancelled() {
        return Err(Ended::Stopped(Stop::Cancelled));
    }
    ssh.set_blocking(false);
    let line = describe(&ssh, resolved);
    let newly_accepted = wanted.accepted.is_some();
    let (name, port) = resolved.key_name();
    let key_name = (name.to_owned(), port);
    Ok(Session {
        ssh,
        socket,
        pin,
        key,
        newly_accepted,
        line,
        place,
        key_name,
        needs_terminal: Cell::new(false),
        unfinished: RefCell::new(None),
    })
}

/// The socket to the host, straight or through its jump host.
fn reach(setup: &Setup, wanted: &Wanted, person: &Person<'_>) -> Result<Socket, Stop> {
    let resolved = &wanted.resolved;
    let Some(jump) = &resolved.jump else {
        let (host, port) = (&resolved.host_name, resolved.port);
        return socket::connect(host, port, CONNECT_LIMIT, person.cancel, &resolved.place()).map(Socket::Tcp);
    };
    if wanted.is_jump || jump.contains(',') {
        return Err(unsupported("several_jump_hosts", &resolved.asked));
    }
    let target = jump_target(jump).ok_or_else(|| unsupported("jump_host_unreadable", &resolved.asked))?;
    let mut outer = Wanted::resolve(setup, &target, None, person.cancel)?;
    outer.pinned = secrets::jump_key(&outer.resolved.host_place());
    outer.is_jump = true;
    let outer = open(setup, outer, person, Until::LoggedIn)?;
    pump::through(outer, &resolved.host_name, resolved.port, CONNECT_LIMIT, person.cancel)
}

/// `[ssh://][user@]host[:port]` of a ProxyJump.
fn jump_target(text: &str) -> Option<SshTarget> {
    let text = text.strip_prefix("ssh://").unwrap_or(text).trim_end_matches('/');
    let (user, place) = match text.rsplit_once('@') {
        Some((user, place)) => (Some(user.to_owned()), place),
        None => (None, text),
    };
    let (address, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (address, after) = rest.split_once(']')?;
            (address, after.strip_prefix(':'))
        }
        None => match place.split_once(':') {
            // More than one colon is an IPv6 address without its port.
            Some((address, port)) if !port.contains(':') => (address, Some(port)),
            _ => (place, None),
        },
    };
    let port = port.map(str::parse).transpose().ok()?;
    Some(SshTarget { address: address.to_owned(), port, user, ..SshTarget::default() })
}

/// Whether this is the host we mean. A pinned key is the person's own word for this rental: nothing else passes.
fn check_key(wanted: &Wanted, key: &[u8]) -> Result<KeyPin, Ended> {
    let host = wanted.resolved.host_place();
    let key_type = known_hosts::type_of(key).unwrap_or("unknown");
    let pin = KeyPin { key_type: key_type.to_owned(), fingerprint: known_hosts::fingerprint(key) };
    let (name, port) = wanted.resolved.key_name();
    let texts: Vec<&str> = wanted.known_hosts.iter().map(String::as_str).collect();
    let check = known_hosts::check(&texts, name, port, key_type, key);
    let changed = |known: String| {
        Failure::new(FailureKind::HostKeyChanged).with("known", known).with("found", &pin.fingerprint).at(&host)
    };
    if check == KeyCheck::Revoked {
        return Err(Failure::new(FailureKind::HostKeyRevoked).with("found", &pin.fingerprint).at(&host).into());
    }
    if let Some(pinned) = wanted.accepted.as_ref().or(wanted.pinned.as_ref()) {
        return if *pinned == pin { Ok(pin) } else { Err(changed(pinned.fingerprint.clone()).into()) };
    }
    match check {
        KeyCheck::Known => Ok(pin),
        KeyCheck::Changed(known) => Err(changed(known.join(", ")).into()),
        KeyCheck::OtherTypeOnly(other_types) => Err(Ended::AskKey { pin, other_types }),
        KeyCheck::Unknown | KeyCheck::Revoked => Err(Ended::AskKey { pin, other_types: Vec::new() }),
    }
}

/// Server, key exchange and cipher in one line.
fn describe(ssh: &ssh2::Session, resolved: &Resolved) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(ssh.banner().map(one_line));
    parts.extend(ssh.methods(MethodType::Kex).map(str::to_owned));
    parts.extend(ssh.methods(MethodType::CryptCs).map(str::to_owned));
    if let Some(jump) = &resolved.jump {
        parts.push(format!("ProxyJump {}", one_line(jump)));
    }
    if resolved.without_config {
        parts.push("no \"ssh\" program here, so no SSH configuration was read".to_owned());
    }
    parts.join(" · ")
}

/// The number of a libssh2 error.
pub(super) fn code(error: &ssh2::Error) -> i32 {
    match error.code() {
        ErrorCode::Session(code) | ErrorCode::SFTP(code) => code,
    }
}

/// "It would block": not an error of a session that does not block.
pub(super) const EAGAIN: i32 = -37;

/// Whether the connection itself is gone: sending or receiving failed, the peer disconnected, or nothing came in time.
pub(super) fn is_connection_gone(error: &ssh2::Error) -> bool {
    matches!(code(error), -7 | -9 | -13 | -30 | -43 | -45)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jump_hosts_as_people_write_them() {
        let target = |address: &str, port, user: Option<&str>| {
            Some(SshTarget { address: address.into(), port, user: user.map(Into::into), ..SshTarget::default() })
        };
        for (text, want) in [
            ("bastion", target("bastion", None, None)),
            ("me@bastion:2200", target("bastion", Some(2200), Some("me"))),
            ("ssh://me@bastion:2200/", target("bastion", Some(2200), Some("me"))),
            ("[fe80::1]:22", target("fe80::1", Some(22), None)),
            ("fe80::1", target("fe80::1", None, None)),
            ("bastion:x", None),
        ] {
            assert_eq!(jump_target(text), want, "{text}");
        }
    }
}
