//! The user's SSH configuration: what `ssh -G` says about one picked host, and which aliases there are.
//!
//! `ssh -G` is the one faithful reader of Include, Match and first-match-wins. It runs `Match exec` commands, so it is
//! asked about a host that a person picked only; aliases are read from the text.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::evidence::CommandEnd;
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::host::SshTarget;
use crate::engine::capture::{one_line, text_of};
use crate::engine::local::{self, Limits};

use super::Setup;
use super::known_hosts::wildcard;

/// The longest `ssh -G` may take: it answers in milliseconds unless a `Match exec` hangs.
const CONFIG_DEADLINE: Duration = Duration::from_secs(5);
/// Configuration and known-hosts files are read to this size, bytes.
const FILE_CAP: u64 = 8 << 20;
/// How deep Include may go, and how many files are read in all.
const INCLUDE_DEPTH: usize = 8;
const INCLUDE_FILES: usize = 100;

/// Where and how to log in, with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    /// As the person typed it.
    pub(super) asked: String,
    /// The name or address that is connected to.
    pub(super) host_name: String,
    /// The port.
    pub(super) port: u16,
    /// The user.
    pub(super) user: String,
    /// Key files, in order; they need not exist.
    pub(super) identity_files: Vec<PathBuf>,
    /// Only these files' keys are offered, from the agent too.
    pub(super) identities_only: bool,
    /// Which agent is asked.
    pub(super) agent: Agent,
    /// The name under which the host's key is known, when it is not the host name.
    pub(super) key_alias: Option<String>,
    /// Files with known host keys.
    pub(super) known_hosts: Vec<PathBuf>,
    /// Jump hosts, as written.
    pub(super) jump: Option<String>,
    /// The configuration asks for a proxy command.
    pub(super) has_proxy_command: bool,
    /// There is no `ssh` program, so no configuration was read.
    pub(super) without_config: bool,
}

/// Which agent is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Agent {
    /// The one that `SSH_AUTH_SOCK` names.
    Environment,
    /// None.
    None,
    /// The one at this socket.
    Socket(PathBuf),
}

impl Resolved {
    /// `user@host:port`, for messages and questions.
    pub(super) fn place(&self) -> String {
        format!("{}@{}", self.user, self.host_place())
    }

    /// `host:port`, for messages and questions.
    pub(super) fn host_place(&self) -> String {
        if self.host_name.contains(':') {
            format!("[{}]:{}", self.host_name, self.port)
        } else {
            format!("{}:{}", self.host_name, self.port)
        }
    }

    /// Host and port under which the key is looked up. An alias is looked up without a port, as OpenSSH does.
    pub(super) fn key_name(&self) -> (&str, u16) {
        self.key_alias.as_deref().map_or((&self.host_name, self.port), |alias| (alias, 22))
    }

    /// The texts of the known-hosts files that can be read.
    pub(super) fn known_hosts_texts(&self) -> Vec<String> {
        self.known_hosts.iter().filter_map(|file| read_capped(file)).collect()
    }
}

/// Fills what the target leaves open from the configuration.
pub(super) fn resolve(setup: &Setup, target: &SshTarget, cancel: &CancellationToken) -> Result<Resolved, Failure> {
    let address = target.address.trim();
    acceptable(address)?;
    if let Some(user) = &target.user {
        acceptable(user)?;
    }
    let mut command = Command::new("ssh");
    if let Some(config) = &setup.config {
        command.arg("-F").arg(config);
    }
    if let Some(port) = target.port {
        command.arg("-p").arg(port.to_string());
    }
    if let Some(user) = &target.user {
        command.arg("-l").arg(user);
    }
    command.arg("-G").arg("--").arg(address);
    let limits = Limits { deadline: CONFIG_DEADLINE, cap: 1 << 20 };
    let raw = local::run(command, limits, cancel);
    let mut resolved = match raw.ended {
        CommandEnd::Exit(0) => read_answer(address, &text_of(&raw.stdout))?,
        CommandEnd::Refused(_) => plain(target, address),
        _ => {
            let said = one_line(&text_of(&raw.stderr));
            let cause = if said.is_empty() { "\"ssh -G\" gave no answer".to_owned() } else { said };
            return Err(Failure::new(FailureKind::SshConfigUnreadable).because(cause).at(address));
        }
    };
    if let Some(jump) = target.jump.as_deref().map(str::trim).filter(|jump| !jump.is_empty()) {
        resolved.jump = Some(jump.to_owned());
        resolved.has_proxy_command = false;
    }
    Ok(resolved)
}

/// Names reach the command line of `ssh`, files and messages: only what a host or user name can consist of passes.
fn acceptable(name: &str) -> Result<(), Failure> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'%' | b'@' | b'-');
    if name.is_empty() || name.len() > 255 || name.starts_with('-') || !name.bytes().all(is_plain) {
        return Err(Failure::new(FailureKind::HostNameRefused).with("name", one_line(name)));
    }
    Ok(())
}

/// Reads what `ssh -G` printed.
fn read_answer(asked: &str, text: &str) -> Result<Resolved, Failure> {
    let values = |name: &str| -> Vec<&str> {
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect()
    };
    let first = |name: &str| values(name).first().copied();
    let (Some(host_name), Some(user), Some(port)) =
        (first("hostname"), first("user"), first("port").and_then(|port| port.parse().ok()))
    else {
        let cause = "\"ssh -G\" named no host, user or port";
        return Err(Failure::new(FailureKind::SshConfigUnreadable).because(cause).at(asked));
    };
    let tokens = Tokens { asked, host_name, user, port };
    let agent = match first("identityagent") {
        None | Some("SSH_AUTH_SOCK") => Agent::Environment,
        Some("none") => Agent::None,
        Some(variable) if variable.starts_with('$') => {
            let name = variable.trim_matches(['$', '{', '}']);
            std::env::var_os(name).map_or(Agent::None, |socket| Agent::Socket(socket.into()))
        }
        Some(socket) => Agent::Socket(tokens.path(socket)),
    };
    let known_hosts = ["userknownhostsfile", "globalknownhostsfile"]
        .into_iter()
        .flat_map(&values)
        .flat_map(split_paths)
        .filter(|path| path != "none")
        .map(|path| tokens.path(&path))
        .collect();
    let is_set = |value: &&str| !value.is_empty() && *value != "none";
    Ok(Resolved {
        asked: asked.to_owned(),
        host_name: host_name.to_owned(),
        port,
        user: user.to_owned(),
        identity_files: values("identityfile").into_iter().filter(is_set).map(|file| tokens.path(file)).collect(),
        identities_only: first("identitiesonly") == Some("yes"),
        agent,
        key_alias: first("hostkeyalias").filter(is_set).map(|alias| tokens.expand(alias)),
        known_hosts,
        jump: first("proxyjump").filter(is_set).map(str::to_owned),
        has_proxy_command: first("proxycommand").filter(is_set).is_some(),
        without_config: false,
    })
}

/// What can be said without an `ssh` program: the typed fields and the usual files.
fn plain(target: &SshTarget, address: &str) -> Resolved {
    let (user_part, host) = address.rsplit_once('@').map_or((None, address), |(user, host)| (Some(user), host));
    let ours = || std::env::var("USER").or_else(|_unset| std::env::var("USERNAME")).unwrap_or_default();
    let user = target.user.clone().or_else(|| user_part.map(str::to_owned)).unwrap_or_else(ours);
    let folder = home().map(|home| home.join(".ssh"));
    let files = |names: &[&str]| -> Vec<PathBuf> {
        folder.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
    };
    let mut known_hosts = files(&["known_hosts", "known_hosts2"]);
    known_hosts.push(PathBuf::from("/etc/ssh/ssh_known_hosts"));
    Resolved {
        asked: address.to_owned(),
        host_name: host.to_owned(),
        port: target.port.unwrap_or(22),
        user,
        identity_files: files(&["id_ed25519", "id_ecdsa", "id_rsa"]),
        identities_only: false,
        agent: Agent::Environment,
        key_alias: None,
        known_hosts,
        jump: None,
        has_proxy_command: false,
        without_config: true,
    }
}

/// What `ssh -G` leaves unexpanded in file names and aliases.
struct Tokens<'a> {
    asked: &'a str,
    host_name: &'a str,
    user: &'a str,
    port: u16,
}

impl Tokens<'_> {
    fn expand(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match (c, if c == '%' { chars.next() } else { None }) {
                ('%', Some('%')) => out.push('%'),
                ('%', Some('h')) => out.push_str(self.host_name),
                ('%', Some('n')) => out.push_str(self.asked),
                ('%', Some('r')) => out.push_str(self.user),
                ('%', Some('p')) => out.push_str(&self.port.to_string()),
                ('%', Some('u')) => out.push_str(&std::env::var("USER").unwrap_or_default()),
                ('%', Some('d')) => out.push_str(&home().unwrap_or_default().to_string_lossy()),
                ('%', Some(other)) => out.extend(['%', other]),
                (c, _) => out.push(c),
            }
        }
        out
    }

    fn path(&self, text: &str) -> PathBuf {
        expand_home(&self.expand(text.trim_matches('"')))
    }
}

/// Several paths of one line. `ssh -G` prints them without quotes, so a blank parts two paths only where a new one
/// begins.
fn split_paths(line: &str) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let begins = word.starts_with(['/', '~', '"', '%']) || word.get(1..2) == Some(":") || word == "none";
        match paths.last_mut() {
            Some(last) if !begins => {
                last.push(' ');
                last.push_str(word);
            }
            _ => paths.push(word.to_owned()),
        }
    }
    paths
}

/// The path with a leading `~/` replaced by this user's home folder.
pub(super) fn expand_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

fn home() -> Option<PathBuf> {
    directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned())
}

/// Aliases that the configuration names: `Host` words without wildcards, in order, each once. A file that cannot be read
/// is passed over.
pub(super) fn aliases(setup: &Setup) -> Vec<String> {
    let folder = home().map(|home| home.join(".ssh")).unwrap_or_default();
    let first = setup.config.clone().unwrap_or_else(|| folder.join("config"));
    let mut reader = AliasReader { folder, files_left: INCLUDE_FILES, aliases: Vec::new() };
    reader.read(&first, INCLUDE_DEPTH);
    reader.aliases
}

struct AliasReader {
    /// Where relative includes start.
    folder: PathBuf,
    files_left: usize,
    aliases: Vec<String>,
}

impl AliasReader {
    fn read(&mut self, file: &Path, depth: usize) {
        if depth == 0 || self.files_left == 0 {
            return;
        }
        self.files_left -= 1;
        for line in read_capped(file).unwrap_or_default().lines() {
            let (keyword, words) = config_words(line);
            match keyword.to_ascii_lowercase().as_str() {
                "host" => {
                    for word in words {
                        let names_one = !word.contains(['*', '?', '!']) && acceptable(&word).is_ok();
                        if names_one && !self.aliases.contains(&word) {
                            self.aliases.push(word);
                        }
                    }
                }
                "include" => {
                    for pattern in words {
                        for file in self.included(&pattern) {
                            self.read(&file, depth - 1);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The files of an include pattern, by name. Wildcards are followed in the file name only.
    fn included(&self, pattern: &str) -> Vec<PathBuf> {
        let path = self.folder.join(expand_home(pattern));
        let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Vec::new();
        };
        if !name.contains(['*', '?']) {
            return vec![path];
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
        let mut files: Vec<PathBuf> = entries
            .filter_map(Result::ok)
            .filter(|entry| {
                entry.file_name().to_str().is_some_and(|found| !found.starts_with('.') && wildcard(name, found))
            })
            .map(|entry| entry.path())
            .collect();
        files.sort();
        files
    }
}

/// Keyword and words of a configuration line: `Host a "b c"`, `Host=a`.
fn config_words(line: &str) -> (&str, Vec<String>) {
    let line = line.trim();
    if line.starts_with('#') {
        return ("", Vec::new());
    }
    let end = line.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(line.len());
    let (keyword, rest) = line.split_at(end);
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest);
    let mut words = Vec::new();
    let mut word = String::new();
    let mut in_quotes = false;
    for c in rest.chars().chain([' ']) {
        match c {
            '"' => in_quotes = !in_quotes,
            '#' if !in_quotes && word.is_empty() => break,
            c if c.is_whitespace() && !in_quotes => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    (keyword, words)
}

/// The start of a file as text; `None` when it cannot be read.
pub(super) fn read_capped(file: &Path) -> Option<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(FILE_CAP).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_ssh_says() {
        let text = "host gpu\nuser ubuntu\nhostname 10.1.2.3\nport 2201\nidentitiesonly yes\nhostkeyalias alias-%h\n\
                    identityagent none\nidentityfile /k/%n_%r_%p%%\nidentityfile /tmp/a b/key\n\
                    globalknownhostsfile /dev/null\nuserknownhostsfile /tmp/known /tmp/a b/kn\n\
                    proxyjump jump@bastion:2200\n";
        let want = Resolved {
            asked: "gpu".into(),
            host_name: "10.1.2.3".into(),
            port: 2201,
            user: "ubuntu".into(),
            identity_files: vec!["/k/gpu_ubuntu_2201%".into(), "/tmp/a b/key".into()],
            identities_only: true,
            agent: Agent::None,
            key_alias: Some("alias-10.1.2.3".into()),
            known_hosts: vec!["/tmp/known".into(), "/tmp/a b/kn".into(), "/dev/null".into()],
            jump: Some("jump@bastion:2200".into()),
            has_proxy_command: false,
            without_config: false,
        };
        assert_eq!(read_answer("gpu", text).unwrap(), want);
        assert_eq!(read_answer("gpu", "user x\n").unwrap_err().kind, FailureKind::SshConfigUnreadable);
    }

    #[test]
    fn names_that_do_not_reach_a_command_line() {
        for name in ["", "-oProxyCommand=x", "a b", "a;b", "$(id)", "模型", "a\nb"] {
            let target = SshTarget { address: name.into(), ..SshTarget::default() };
            let failure = resolve(&Setup::default(), &target, &CancellationToken::new()).unwrap_err();
            assert_eq!(failure.kind, FailureKind::HostNameRefused, "{name:?}");
        }
        for name in ["gpu-a", "root@10.0.0.1", "fe80::1%eth0", "a_b.example"] {
            assert_eq!(acceptable(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn aliases_of_a_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let main = format!(
            "# Host no\nHost gpu-a \"gpu-b\" *.example !x\n  HostName 10.0.0.1\nInclude {}/more/*.conf {}/missing\n\
             host=gpu-c # Host d\nHost gpu-a\nMatch host e\nInclude {}/config\n",
            folder.path().display(),
            folder.path().display(),
            folder.path().display(),
        );
        std::fs::create_dir(at("more")).unwrap();
        std::fs::write(at("config"), main).unwrap();
        std::fs::write(at("more/2.conf"), "Host second\n").unwrap();
        std::fs::write(at("more/1.conf"), "Host first\n").unwrap();
        std::fs::write(at("more/3.txt"), "Host not-this\n").unwrap();
        let setup = Setup { config: Some(at("config")) };
        assert_eq!(aliases(&setup), ["gpu-a", "gpu-b", "first", "second", "gpu-c"]);
        assert_eq!(aliases(&Setup { config: Some(at("none")) }), Vec::<String>::new());
    }

    #[test]
    fn the_configuration_fills_what_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("config");
        std::fs::write(&config, "Host gpu\n HostName 10.1.2.3\n Port 2201\n User ubuntu\n ProxyJump bastion\n")
            .unwrap();
        let setup = Setup { config: Some(config) };
        let target =
            SshTarget { address: "gpu".into(), port: Some(22022), jump: Some("other".into()), ..SshTarget::default() };
        let resolved = resolve(&setup, &target, &CancellationToken::new()).unwrap();
        assert_eq!(
            (resolved.host_name.as_str(), resolved.port, resolved.user.as_str(), resolved.jump.as_deref()),
            ("10.1.2.3", 22022, "ubuntu", Some("other"))
        );
        assert_eq!(resolved.place(), "ubuntu@10.1.2.3:22022");
    }

    #[test]
    fn without_an_ssh_program_the_typed_fields_count() {
        let target = SshTarget { address: "ubuntu@gpu".into(), port: Some(7), ..SshTarget::default() };
        let resolved = plain(&target, "ubuntu@gpu");
        assert_eq!(
            (resolved.user.as_str(), resolved.host_name.as_str(), resolved.port, resolved.without_config),
            ("ubuntu", "gpu", 7, true)
        );
    }
}
