//! Hosts over SSH: connections, bounded commands, the tunnel and the GPU sampler of a load run.

mod config;
#[cfg(feature = "desktop")]
mod exec;
pub mod known_hosts;
#[cfg(feature = "desktop")]
mod login;
#[cfg(feature = "desktop")]
mod pump;
#[cfg(feature = "desktop")]
mod secrets;
#[cfg(feature = "desktop")]
mod session;
#[cfg(feature = "desktop")]
mod socket;

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::domain::failure::{Failure, FailureKind};
use crate::domain::host::{Host, SshTarget};
use crate::domain::load::GpuSample;

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
    local_port: u16,
}

impl Tunnel {
    /// Opens the tunnel and waits until it carries connections. The host key must be known or pinned: nobody is asked.
    ///
    /// # Errors
    /// Why the host could not be reached, its key not accepted, or the login refused.
    pub async fn open(
        _setup: &Setup,
        _cancel: &CancellationToken,
        _host: &Host,
        _target: &SshTarget,
        _port: u16,
    ) -> Result<Self, Failure> {
        Err(Failure::new(FailureKind::NotSupportedHere))
    }

    /// The port on 127.0.0.1 of this computer.
    #[must_use]
    pub fn local_port(&self) -> u16 {
        self.local_port
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
    _setup: &Setup,
    _host: &Host,
    _start: Instant,
    _cancel: CancellationToken,
    _out: mpsc::Sender<GpuSample>,
) -> std::io::Result<JoinHandle<Result<(), Failure>>> {
    std::thread::Builder::new().name("sampler".to_owned()).spawn(|| Err(Failure::new(FailureKind::NotSupportedHere)))
}
