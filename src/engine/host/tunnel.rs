//! The way of a load run to a port on the host: a child `ssh -N -L`.
//!
//! One libssh2 session opens its channels one after the other, which at 100 ms of round trip adds seconds to the first
//! token of the last stream; OpenSSH opens them at once. The host's key is checked by us before, and the child accepts
//! that very key and no other.

use std::io::Read as _;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::host::{Auth, Host, SshTarget};
use crate::domain::secret::Secret;
use crate::engine::capture::{one_line, text_of};
use crate::engine::local;

use super::Setup;
use super::config::{self, expand_home};
use super::known_hosts;
use super::secrets::{self, Wanted};
use super::session::{self, Person, Session};
use super::socket::{Stop, TICK};

/// The longest the child may take until it listens.
const OPEN_LIMIT: Duration = Duration::from_secs(30);
/// How often another local port is tried.
const PORTS: usize = 3;
/// The most that is kept of what the child says, bytes.
const SAID_CAP: usize = 64 << 10;

/// The child and what belongs to it.
#[derive(Debug)]
pub(super) struct Forward {
    child: Child,
    /// Holds the known-hosts file; goes away with this.
    _folder: Folder,
    pub(super) port: u16,
}

impl Drop for Forward {
    fn drop(&mut self) {
        local::end_group(&mut self.child);
        self.child.wait().ok();
    }
}

/// Opens the tunnel and waits until it listens.
pub(super) fn open(
    setup: &Setup,
    cancel: &CancellationToken,
    host: &Host,
    target: &SshTarget,
    port: u16,
) -> Result<Forward, Failure> {
    let person = Person { cancel, ask: None };
    let checked = session::host_key(setup, host, target, &person).map_err(|stop| stopped(stop, target))?;
    let line = known_hosts::line(&checked.key_name.0, checked.key_name.1, &checked.key)
        .ok_or_else(|| Failure::new(FailureKind::HandshakeFailed).because("the host key is malformed"))?;
    let mut last = Failure::new(FailureKind::ConnectionLost).because("no free port on this computer");
    for _ in 0..PORTS {
        let folder = Folder::new().map_err(|error| Failure::new(FailureKind::Internal).because(error))?;
        match forward(setup, cancel, target, &checked, &line, folder, port) {
            Ok(forward) => return Ok(forward),
            Err(Attempt::PortTaken(failure)) => last = failure,
            Err(Attempt::Failed(failure)) => return Err(failure),
        }
    }
    Err(last.at(checked.place.clone()))
}

fn stopped(stop: Stop, target: &SshTarget) -> Failure {
    match stop {
        Stop::Failed(failure) => failure,
        Stop::Cancelled => Failure::new(FailureKind::ConnectionLost).because("stopped").at(&target.address),
    }
}

enum Attempt {
    PortTaken(Failure),
    Failed(Failure),
}

fn forward(
    setup: &Setup,
    cancel: &CancellationToken,
    target: &SshTarget,
    checked: &Session,
    known_hosts: &str,
    folder: Folder,
    port: u16,
) -> Result<Forward, Attempt> {
    let internal = |error: std::io::Error| Attempt::Failed(Failure::new(FailureKind::Internal).because(error));
    let known_file = folder.path.join("known_hosts");
    std::fs::write(&known_file, known_hosts).map_err(internal)?;
    let local = free_port().map_err(internal)?;
    let mut command = Command::new("ssh");
    arguments(&mut command, setup, target, &known_file, &checked.pin.key_type, local, port);
    answers(&mut command, setup, cancel, target, checked, &folder).map_err(internal)?;
    // Last: what follows the destination would be a command for the host.
    command.arg("--").arg(target.address.trim());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    local::own_group(&mut command);
    let mut child = command.spawn().map_err(|error| {
        let failure = Failure::new(FailureKind::NotSupportedHere).with("what", "tunnel_without_ssh").because(error);
        Attempt::Failed(failure)
    })?;
    let said = Said::listen(&mut child);
    let mut forward = Forward { child, _folder: folder, port: local };
    let until = Instant::now() + OPEN_LIMIT;
    loop {
        if let Ok(Some(_)) = forward.child.try_wait() {
            let said = said.text();
            let failure = refusal(&said, &checked.place);
            let is_taken = said.contains("Address already in use") || said.contains("cannot listen to port");
            return Err(if is_taken { Attempt::PortTaken(failure) } else { Attempt::Failed(failure) });
        }
        // The child listens once it is logged in; this connection reaches the port on the host and is closed at once.
        if TcpStream::connect((Ipv4Addr::LOCALHOST, local)).is_ok() {
            return Ok(forward);
        }
        let late = Instant::now() >= until;
        if cancel.is_cancelled() || late {
            let cause = if late { format!("not open after {} s", OPEN_LIMIT.as_secs()) } else { "stopped".to_owned() };
            let failure = Failure::new(FailureKind::ConnectionLost).because(cause).at(&checked.place);
            return Err(Attempt::Failed(failure));
        }
        std::thread::sleep(TICK);
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn arguments(
    command: &mut Command,
    setup: &Setup,
    target: &SshTarget,
    known_hosts: &Path,
    key_type: &str,
    local: u16,
    remote: u16,
) {
    if let Some(config) = &setup.config {
        command.arg("-F").arg(config);
    }
    command.args(["-N", "-T"]);
    let key_types = if key_type == "ssh-rsa" { "rsa-sha2-512,rsa-sha2-256" } else { key_type };
    for option in [
        "ExitOnForwardFailure=yes",
        "StrictHostKeyChecking=yes",
        "UpdateHostKeys=no",
        "GlobalKnownHostsFile=none",
        "ForwardAgent=no",
        "ForwardX11=no",
        "PermitLocalCommand=no",
        "RemoteCommand=none",
        "ControlMaster=no",
        "ControlPath=none",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=3",
        "ConnectTimeout=15",
    ] {
        command.args(["-o", option]);
    }
    command.arg("-o").arg(format!("HostKeyAlgorithms={key_types}"));
    command.arg("-o").arg(format!("UserKnownHostsFile=\"{}\"", known_hosts.display()));
    if let Some(jump) = target.jump.as_deref().map(str::trim).filter(|jump| !jump.is_empty()) {
        command.arg("-o").arg(format!("ProxyJump={jump}"));
    }
    if let Some(port) = target.port {
        command.arg("-p").arg(port.to_string());
    }
    if let Some(user) = &target.user {
        command.arg("-l").arg(user);
    }
    match &target.auth {
        Auth::KeyFile(file) => {
            command.arg("-i").arg(expand_home(file)).args(["-o", "IdentitiesOnly=yes"]);
        }
        Auth::Password => {
            command.args(["-o", "PubkeyAuthentication=no"]);
        }
        Auth::Auto | Auth::Agent => {}
    }
    command.arg("-L").arg(format!("127.0.0.1:{local}:127.0.0.1:{remote}"));
}

/// Hands the child what a person typed earlier in this run of the program. It stands in the child's environment only,
/// which no other user can read; the script that prints it holds nothing. Without a secret the child asks nothing.
fn answers(
    command: &mut Command,
    setup: &Setup,
    cancel: &CancellationToken,
    target: &SshTarget,
    checked: &Session,
    folder: &Folder,
) -> std::io::Result<()> {
    let files: Vec<PathBuf> = match &target.auth {
        Auth::KeyFile(file) => vec![expand_home(file)],
        Auth::Auto => {
            config::resolve(setup, target, cancel).map(|resolved| resolved.identity_files).unwrap_or_default()
        }
        Auth::Agent | Auth::Password => Vec::new(),
    };
    let passphrase = files.iter().find_map(|file| secrets::recall(&Wanted::Passphrase(file.display().to_string())));
    let password = secrets::recall(&Wanted::Password(checked.place.clone()));
    if cfg!(not(unix)) || (passphrase.is_none() && password.is_none()) {
        command.args(["-o", "BatchMode=yes"]);
        return Ok(());
    }
    let script = folder.script(
        "askpass",
        "#!/bin/sh\ncase $1 in\n*passphrase*) printf '%s\\n' \"$LB_PASSPHRASE\";;\n*) printf '%s\\n' \"$LB_PASSWORD\";;\nesac\n",
    )?;
    let text = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned()).unwrap_or_default();
    command.args(["-o", "NumberOfPasswordPrompts=1"]);
    command.env("SSH_ASKPASS", script).env("SSH_ASKPASS_REQUIRE", "force").env("DISPLAY", ":none");
    command.env("LB_PASSPHRASE", text(&passphrase)).env("LB_PASSWORD", text(&password));
    Ok(())
}

/// What the child's last words mean.
fn refusal(said: &str, place: &str) -> Failure {
    let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("\"ssh\" ended without a word");
    let cause = one_line(last);
    let kind = if said.contains("Permission denied") || said.contains("Too many authentication failures") {
        return Failure::new(FailureKind::LoginRefused).with("tried", cause).at(place).raw(said);
    } else if said.contains("Host key verification failed") {
        FailureKind::HandshakeFailed
    } else if ["Could not resolve", "Connection refused", "timed out", "No route to host"]
        .iter()
        .any(|words| said.contains(words))
    {
        FailureKind::HostUnreachable
    } else {
        FailureKind::ConnectionLost
    };
    Failure::new(kind).because(cause).at(place).raw(said)
}

/// What the child says on its standard error: read all the time, so that it never waits for us.
struct Said {
    text: Arc<Mutex<Vec<u8>>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Said {
    fn listen(child: &mut Child) -> Self {
        let text = Arc::new(Mutex::new(Vec::new()));
        let reader = child.stderr.take().and_then(|mut pipe| {
            let text = Arc::clone(&text);
            let read = move || {
                let mut buffer = [0; 4096];
                while let Ok(n @ 1..) = pipe.read(&mut buffer) {
                    if let Ok(mut text) = text.lock()
                        && text.len() < SAID_CAP
                    {
                        text.extend_from_slice(buffer.get(..n).unwrap_or_default());
                    }
                }
            };
            std::thread::Builder::new().name("tunnel".to_owned()).spawn(read).ok()
        });
        Self { text, reader }
    }

    /// All that was said, once the child has ended.
    fn text(self) -> String {
        if let Some(reader) = self.reader {
            reader.join().ok();
        }
        self.text.lock().map(|text| text_of(&text)).unwrap_or_default()
    }
}

/// A folder that only this user can read.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> std::io::Result<Self> {
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|error| std::io::Error::other(error.to_string()))?;
        let path = std::env::temp_dir().join(format!("leasebench-{:016x}", u64::from_be_bytes(random)));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(&path)?;
        Ok(Self { path })
    }

    fn script(&self, name: &str, text: &str) -> std::io::Result<PathBuf> {
        use std::io::Write as _;
        let path = self.path.join(name);
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o700);
        }
        options.open(&path)?.write_all(text.as_bytes())?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind it would hold a public key, at most.
        std::fs::remove_dir_all(&self.path).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_of_the_child() {
        for (said, want) in [
            ("u@h: Permission denied (publickey).\n", FailureKind::LoginRefused),
            ("ssh: connect to host h port 22: Connection refused\r\n", FailureKind::HostUnreachable),
            ("Host key verification failed.\n", FailureKind::HandshakeFailed),
            ("", FailureKind::ConnectionLost),
        ] {
            assert_eq!(refusal(said, "u@h:22").kind, want, "{said:?}");
        }
    }
}
