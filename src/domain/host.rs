//! A host: a machine that can be reached, or whose pasted outputs are read.

use serde::{Deserialize, Serialize};

use super::ids::{CandidateId, HostId};

/// A machine of a candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its id.
    pub id: HostId,
    /// The candidate it belongs to.
    #[serde(default)]
    pub candidate: Option<CandidateId>,
    /// Short name on screen.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// The host key that a person accepted for this rental.
    #[serde(default)]
    pub pinned_key: Option<KeyPin>,
    /// A note.
    #[serde(default)]
    pub note: String,
}

/// How a host is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reach {
    /// Over SSH.
    Ssh(SshTarget),
    /// This computer.
    ThisComputer,
    /// Not at all: outputs are pasted or opened.
    Pasted,
}

/// Where and how to log in. Empty fields are filled from `~/.ssh/config` through `ssh -G`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SshTarget {
    /// Alias in `~/.ssh/config`, host name or address.
    pub address: String,
    /// Port; from the configuration or 22 when `None`.
    pub port: Option<u16>,
    /// User; from the configuration or this computer's when `None`.
    pub user: Option<String>,
    /// How to prove who we are.
    pub auth: Auth,
    /// Jump host (an address or alias), one hop; from the configuration when `None`.
    pub jump: Option<String>,
}

/// How to prove who we are. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Auth {
    /// The agent, then the configured identity files, then what the server asks for.
    #[default]
    Auto,
    /// The agent only.
    Agent,
    /// This key file; a passphrase is asked for at run time.
    KeyFile(String),
    /// A password, asked for at run time.
    Password,
}

/// A host key that a person accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyPin {
    /// Key type ("ssh-ed25519").
    pub key_type: String,
    /// `SHA256:` and the unpadded base64 of the key's SHA-256.
    pub fingerprint: String,
}
