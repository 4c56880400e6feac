//! A real sshd on loopback with throw-away keys and replayed commands, for other tests to connect to.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};

use leasebench::domain::host::{Auth, Host, Reach, SshTarget};
use leasebench::domain::ids::HostId;
use leasebench::engine::host::Setup;
use tempfile::TempDir;

/// A running sshd. Stopped when dropped; its own time limit ends it in any case.
pub struct Sshd {
    folder: TempDir,
    /// The replay tree of its own, when it has one.
    tree: Option<TempDir>,
    env: BTreeMap<String, String>,
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sshd")
}

/// Five free ports in a row.
fn ports() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let spread = u16::try_from(std::process::id() % 2_000).unwrap() * 5;
    for _ in 0..500 {
        let base = 20_000 + (spread + NEXT.fetch_add(5, Ordering::Relaxed)) % 12_000;
        let free: Vec<_> = (0..5).map_while(|n| TcpListener::bind(("127.0.0.1", base + n)).ok()).collect();
        if free.len() == 5 {
            return base;
        }
    }
    panic!("no five free ports in a row");
}

impl Sshd {
    /// Starts the fixture as it is.
    #[track_caller]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts the fixture with more arguments.
    #[track_caller]
    pub fn start_with(args: &[&str]) -> Self {
        let mut said = String::new();
        // Another program may take a port between our look and the start.
        for _ in 0..3 {
            let folder = TempDir::new().unwrap();
            let out = Command::new(fixture().join("sshd-fixture.sh"))
                .arg("start")
                .arg(folder.path())
                .args(["--port", &ports().to_string(), "--ttl", "240", "--no-rsa"])
                .args(args)
                .output()
                .unwrap();
            let text = String::from_utf8(out.stdout).unwrap();
            if out.status.success() {
                let pairs = text.lines().filter_map(|line| line.split_once('='));
                return Self { folder, tree: None, env: pairs.map(|(a, b)| (a.into(), b.into())).collect() };
            }
            said = format!("{text}{}", String::from_utf8_lossy(&out.stderr));
        }
        panic!("sshd did not start: {said}");
    }

    /// Starts the fixture with one of its commands replaced by a script.
    #[track_caller]
    pub fn start_with_script(command: &str, script: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let copied = Command::new("cp").arg("-R").arg(fixture().join("replay")).arg(folder.path()).status().unwrap();
        assert!(copied.success());
        let replay = folder.path().join("replay");
        let file = replay.join("bin").join(command);
        std::fs::remove_file(&file).ok();
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        assert!(Command::new("chmod").arg("755").arg(&file).status().unwrap().success());
        let mut sshd = Self::start_with(&["--replay", replay.to_str().unwrap()]);
        sshd.tree = Some(folder);
        sshd
    }

    /// What the fixture says about itself (`LB_SSH_PORT`…).
    pub fn get(&self, name: &str) -> &str {
        &self.env[name]
    }

    /// The plain port; the noisy one is +1, the pty-only one +2, the locked-down one +3.
    pub fn port(&self) -> u16 {
        self.get("LB_SSH_PORT").parse().unwrap()
    }

    /// A file in the fixture's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An SSH configuration in which `gpu-a` is this server, with these known hosts and these lines more.
    pub fn setup(&self, known_hosts: &str, more: &str) -> Setup {
        let (config, known) = (self.path("client_config"), self.path("client_known_hosts"));
        std::fs::write(&known, known_hosts).unwrap();
        let text = format!(
            "Host gpu-a gpu-noisy gpu-pty gpu-locked jump\n  HostName 127.0.0.1\n  User {}\n  IdentityAgent none\n  \
             GlobalKnownHostsFile /dev/null\n  UserKnownHostsFile {}\n  IdentityFile {}\n{more}\n\
             Host gpu-a jump\n  Port {}\nHost gpu-noisy\n  Port {}\nHost gpu-pty\n  Port {}\nHost gpu-locked\n  Port {}\n",
            self.get("LB_SSH_USER"),
            known.display(),
            self.get("LB_SSH_KEY_ED25519"),
            self.port(),
            self.port() + 1,
            self.port() + 2,
            self.port() + 3,
        );
        std::fs::write(&config, text).unwrap();
        Setup { config: Some(config) }
    }

    /// The known-hosts lines that are right for this server.
    pub fn known_hosts(&self) -> String {
        std::fs::read_to_string(self.get("LB_SSH_KNOWN_HOSTS")).unwrap()
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        Command::new(fixture().join("sshd-fixture.sh")).arg("stop").arg(self.folder.path()).status().ok();
    }
}

/// A host of the configuration, not pinned.
pub fn host(alias: &str, auth: Auth) -> Host {
    Host {
        id: HostId("h1".into()),
        candidate: None,
        name: alias.into(),
        reach: Reach::Ssh(SshTarget { address: alias.into(), auth, ..SshTarget::default() }),
        pinned_key: None,
        note: String::new(),
    }
}
