//! Typed ids. Ids are short text, chosen once and never reused inside a project.

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The first id with this type's prefix and a running number that `taken` does not hold.
            #[must_use]
            pub fn next(taken: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
                let highest = taken
                    .into_iter()
                    .filter_map(|id| id.as_ref().strip_prefix($prefix).and_then(|rest| rest.parse::<u32>().ok()))
                    .max()
                    .unwrap_or(0);
                Self(format!("{}{}", $prefix, highest.saturating_add(1)))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// One rental offer under comparison ("c1").
    CandidateId,
    "c"
);
text_id!(
    /// One machine that can be reached, or whose pasted outputs are read ("h1").
    HostId,
    "h"
);
text_id!(
    /// One statement that can fail ("k1").
    CriterionId,
    "k"
);
text_id!(
    /// One line of a price ("b1"), unique inside its candidate.
    ComponentId,
    "b"
);

/// One long piece of work of this run of the program. Never saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// SHA-256 of an evidence file's bytes, as 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EvidenceId(pub String);

impl EvidenceId {
    /// The id of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(super::digest::sha256_hex(bytes))
    }

    /// How notes, verdicts and reports cite the record: `ev:` and the first eight digits.
    #[must_use]
    pub fn cite(&self) -> String {
        format!("ev:{}", self.0.get(..8).unwrap_or(&self.0))
    }
}
