//! What people typed and accepted in this run of the program, so that a later connection need not ask again. In memory
//! only, and only what the host took.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock};

use crate::domain::host::KeyPin;
use crate::domain::secret::Secret;

#[derive(Default)]
struct Remembered {
    secrets: BTreeMap<Wanted, Secret>,
    jump_keys: BTreeMap<String, KeyPin>,
}

/// What a secret is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wanted {
    /// Opens this key file.
    Passphrase(String),
    /// Lets this `user@host:port` in.
    Password(String),
}

fn remembered<T>(use_it: impl FnOnce(&mut Remembered) -> T) -> Option<T> {
    static REMEMBERED: OnceLock<Mutex<Remembered>> = OnceLock::new();
    REMEMBERED.get_or_init(Mutex::default).lock().ok().map(|mut remembered| use_it(&mut remembered))
}

/// The secret that worked before.
pub(super) fn recall(wanted: &Wanted) -> Option<Secret> {
    remembered(|all| all.secrets.get(wanted).cloned()).flatten()
}

/// Keeps a secret that worked.
pub(super) fn keep(wanted: Wanted, secret: Secret) {
    remembered(|all| all.secrets.insert(wanted, secret));
}

/// Drops a secret that no longer works.
pub(super) fn forget(wanted: &Wanted) {
    remembered(|all| all.secrets.remove(wanted));
}

/// The key that a person accepted for a jump host. Projects pin the keys of their hosts, not of the way there.
pub(super) fn jump_key(place: &str) -> Option<KeyPin> {
    remembered(|all| all.jump_keys.get(place).cloned()).flatten()
}

/// Keeps the key that a person accepted for a jump host.
pub(super) fn keep_jump_key(place: String, key: KeyPin) {
    remembered(|all| all.jump_keys.insert(place, key));
}
