//! Hosts over SSH: connections, bounded commands, the tunnel and the GPU sampler of a load run.

#[cfg(feature = "desktop")]
mod config;
#[cfg(feature = "desktop")]
mod exec;
#[cfg(feature = "desktop")]
mod frame;
pub mod known_hosts;
#[cfg(feature = "desktop")]
mod login;
#[cfg(feature = "desktop")]
mod pump;
mod sampler;
#[cfg(feature = "desktop")]
mod secrets;
#[cfg(feature = "desktop")]
mod session;
#[cfg(feature = "desktop")]
mod socket;
#[cfg(feature = "desktop")]
mod tunnel;

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::failure::Failure;
#[cfg(not(feature = "desktop"))]
use crate::domain::failure::FailureKind;
use crate::domain::host::{Host, SshTarget};
use crate::domain::load::GpuSample;

#[cfg(feature = "desktop")]
pub(super) use exec::{abandon, run};
#[cfg(feature = "desktop")]
pub(super) use session::{Person, connect};
#[cfg(feature = "desktop")]
pub(super) use socket::Stop;

/// Where the SSH configuration of this user stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// A configuration file instead of `~/.ssh/config` and the system's (as `ssh -F`); known hosts and identities follow
    /// from it.
    pub config: Option<PathBuf>,
}

/// A port of the host's loopback at a port of ours, through a child `ssh`. Closed when dropped.
#[derive(Debug)]
pub struct Tunnel {
    #[cfg(feature = "desktop")]
    forward: tunnel::Forward,
}

impl Tunnel {
    /// Opens the tunnel and waits until it carries connections. The host key must be known or pinned: nobody is asked;
    /// passphrases and passwords come from an earlier connection of this run of the program.
    ///
    /// # Errors
    /// Why the host could not be reached, its key not accepted, or the login refused. When `cancel` is cancelled, a
    /// failure too: the caller looks at the flag first.
    #[cfg(feature = "desktop")]
    pub async fn open(
        setup: &Setup,
        cancel: &CancellationToken,
        host: &Host,
        target: &SshTarget,
        port: u16,
    ) -> Result<Self, Failure> {
        let (setup, cancel, host, target) = (setup.clone(), cancel.clone(), host.clone(), target.clone());
        let opening = move || tunnel::open(&setup, &cancel, &host, &target, port);
        match tokio::task::spawn_blocking(opening).await {
            Ok(forward) => Ok(Self { forward: forward? }),
            Err(error) => Err(Failure::new(crate::domain::failure::FailureKind::Internal).because(error)),
        }
    }

    /// Without the desktop feature there is no SSH.
    ///
    /// # Errors
    /// Always `NotSupportedHere`.
    #[cfg(not(feature = "desktop"))]
    #[allow(clippy::unused_async, reason = "the same signature in both builds")]
    pub async fn open(
        _setup: &Setup,
        _cancel: &CancellationToken,
        _host: &Host,
        _target: &SshTarget,
        _port: u16,
    ) -> Result<Self, Failure> {
        Err(Failure::new(FailureKind::NotSupportedHere).with("what", "ssh_left_out"))
    }

    /// The port on 127.0.0.1 of this computer.
    #[must_use]
    pub fn local_port(&self) -> u16 {
        #[cfg(feature = "desktop")]
        return self.forward.port;
        #[cfg(not(feature = "desktop"))]
        0
    }
}

/// Samples the host's GPUs once a second into `out` until cancelled, on a thread of its own. Nobody is asked anything:
/// keys must be known, and secrets come from the agent or from an earlier connection of this run of the program.
///
/// The thread ends with `Ok` when it was cancelled or nobody listens, and with a failure when the host cannot be sampled.
///
/// # Errors
/// The operating system's error when it gives no thread.
pub fn spawn_sampler(
    setup: &Setup,
    host: &Host,
    start: Instant,
    cancel: CancellationToken,
    out: mpsc::Sender<GpuSample>,
) -> std::io::Result<JoinHandle<Result<(), Failure>>> {
    let (setup, host) = (setup.clone(), host.clone());
    let sampling = move || sampler::sample(&setup, &host, start, &cancel, &out);
    std::thread::Builder::new().name("sampler".to_owned()).spawn(sampling)
}

/// Host aliases of the SSH configuration, in its order. A file that cannot be read gives none.
#[cfg(feature = "desktop")]
pub(super) fn aliases(setup: &Setup) -> Vec<String> {
    config::aliases(setup)
}

/// Without SSH no alias leads anywhere.
#[cfg(not(feature = "desktop"))]
pub(super) fn aliases(_setup: &Setup) -> Vec<String> {
    Vec::new()
}
