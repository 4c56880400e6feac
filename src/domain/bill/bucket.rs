//! What a row pays for, as a plan speaks of it. Specifications of bills do not tell a GPU from its host, so this goes by
//! what is metered, and by the rules that a person gives.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::format::{Role, bare};

/// What a row pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bucket {
    /// GPUs, and machines with them in one price.
    Accelerator,
    /// CPU, memory and machines without GPU.
    Host,
    /// Disks, volumes, snapshots, object storage.
    Storage,
    /// Traffic, addresses, load balancers.
    Network,
    /// Support, licences, software of others.
    SupportLicence,
    /// Paid once for setting up.
    Setup,
    /// Nothing that is known; a rule is wanted.
    Unmapped,
    /// Of another period, or a refund.
    Correction,
    /// A credit or discount.
    Credit,
    /// Tax.
    Tax,
    /// Rounding and other adjustments.
    Adjustment,
}

impl Bucket {
    /// Every bucket in table order: what work costs first, then what stands apart.
    pub const ALL: [Self; 11] = [
        Self::Accelerator,
        Self::Host,
        Self::Storage,
        Self::Network,
        Self::SupportLicence,
        Self::Setup,
        Self::Unmapped,
        Self::Correction,
        Self::Credit,
        Self::Tax,
        Self::Adjustment,
    ];

    /// Its name in rules and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accelerator => "accelerator",
            Self::Host => "host",
            Self::Storage => "storage",
            Self::Network => "network",
            Self::SupportLicence => "support_licence",
            Self::Setup => "setup",
            Self::Unmapped => "unmapped",
            Self::Correction => "correction",
            Self::Credit => "credit",
            Self::Tax => "tax",
            Self::Adjustment => "adjustment",
        }
    }

    /// The bucket with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bucket| bucket.name() == name)
    }

    /// Whether it belongs to the cost of work: not to tax, credits, corrections and rounding.
    #[must_use]
    pub const fn is_work(self) -> bool {
        !matches!(self, Self::Correction | Self::Credit | Self::Tax | Self::Adjustment)
    }
}

/// A person's rule: rows with this value in this column are for this bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The column.
    pub column: String,
    /// The value, whole.
    pub value: String,
    /// What such rows pay for.
    pub bucket: Bucket,
}

/// What kind of charge a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Charge {
    #[default]
    Usage,
    Purchase,
    Tax,
    Credit,
    Refund,
    Adjustment,
}

impl Charge {
    /// By the words of any format: FOCUS's charge category, AWS's line item type, Azure's charge type.
    pub(super) fn of(text: &str) -> Self {
        let word = bare(text);
        match word.as_str() {
            "" | "usage" => Self::Usage,
            "purchase" | "fee" | "rifee" | "savingsplanupfrontfee" | "savingsplanrecurringfee" => Self::Purchase,
            _ if word.contains("refund") => Self::Refund,
            _ if word.contains("adjustment") || word.contains("rounding") => Self::Adjustment,
            _ if word.contains("credit") || word.ends_with("discount") => Self::Credit,
            _ if word == "vat" || word == "tax" || word.ends_with("tax") => Self::Tax,
            _ => Self::Usage,
        }
    }
}

/// What a row pays for and which other parts its price covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) bucket: Bucket,
    /// Whether host and local disk are inside the price.
    pub(super) covers_host: bool,
}

/// The words that decide.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Words<'a> {
    pub(super) charge: Charge,
    pub(super) is_correction: bool,
    pub(super) meter: &'a str,
    pub(super) subcategory: &'a str,
    pub(super) service: &'a str,
    pub(super) service_category: &'a str,
    pub(super) description: &'a str,
    pub(super) unit: &'a str,
}

/// Remembers what was decided, since the rows of a bill repeat themselves.
#[derive(Debug, Default)]
pub(super) struct Placer {
    known: BTreeMap<String, Placed>,
    key: String,
}

/// Decisions that are remembered.
const MAX_KNOWN: usize = 20_000;

impl Placer {
    pub(super) fn place(&mut self, words: &Words<'_>) -> Placed {
        let apart = |bucket| Placed { bucket, covers_host: false };
        match words.charge {
            _ if words.is_correction => return apart(Bucket::Correction),
            Charge::Refund => return apart(Bucket::Correction),
            Charge::Tax => return apart(Bucket::Tax),
            Charge::Credit => return apart(Bucket::Credit),
            Charge::Adjustment => return apart(Bucket::Adjustment),
            Charge::Usage | Charge::Purchase => {}
        }
        self.key.clear();
        for part in
            [words.meter, words.subcategory, words.service, words.service_category, words.description, words.unit]
        {
            self.key.push_str(part);
            self.key.push('\0');
        }
        if let Some(placed) = self.known.get(&self.key) {
            return *placed;
        }
        let placed = by_words(words);
        if self.known.len() < MAX_KNOWN {
            self.known.insert(self.key.clone(), placed);
        }
        placed
    }
}

fn by_words(words: &Words<'_>) -> Placed {
    // What is metered says it best; the wider words are asked only where it says nothing.
    for text in [words.meter, words.subcategory, words.description, words.service, words.unit] {
        if let Some(placed) = by_text(text) {
            return placed;
        }
    }
    let bucket = match words.service_category {
        "Storage" => Bucket::Storage,
        "Networking" => Bucket::Network,
        _ => Bucket::Unmapped,
    };
    Placed { bucket, covers_host: false }
}

const SUPPORT: &[&str] = &["licence", "license", "support", "marketplace", "subscription", "software"];
const SETUP: &[&str] = &["setup", "set-up", "onboarding", "installation"];
const NETWORK: &[&str] = &[
    "egress",
    "ingress",
    "datatransfer",
    "data transfer",
    "data_transferred",
    "bandwidth",
    "traffic",
    "ipv4",
    "ipv6",
    "ip address",
    "public ip",
    "load balanc",
    "peering",
    "private link",
    "nat gateway",
    "network",
];
const STORAGE: &[&str] = &[
    "volume",
    "storage",
    "snapshot",
    "backup",
    "disk",
    "blob",
    "bucket",
    "filesystem",
    "file system",
    "gb-month",
    "gb month",
    "gb-mo",
    "byte-hrs",
    "bytehrs",
];
const HOST: &[&str] = &["vcpu", "ocpu", "ocpus", "cpu", "ram", "memory", "core"];
const MACHINE: &[&str] = &["boxusage", "instance hour", "virtual machine"];
const GPU: &[&str] = &[
    "gpu",
    "gpus",
    "accelerator",
    "h100",
    "h200",
    "h20",
    "h800",
    "a100",
    "a800",
    "a40",
    "a6000",
    "b200",
    "b300",
    "gb200",
    "gb300",
    "l40",
    "l40s",
    "l4",
    "l20",
    "t4",
    "v100",
    "a10",
    "a10g",
    "mi300x",
    "mi325x",
    "mi355x",
    "rtx",
    "4090",
    "5090",
    "tpu",
];

fn by_text(text: &str) -> Option<Placed> {
    if text.is_empty() {
        return None;
    }
    let text = text.to_lowercase();
    let tokens: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|token| !token.is_empty()).collect();
    let holds = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let token = |words: &[&str]| tokens.iter().any(|token| words.contains(token));
    let moved = (token(&["out", "in"]) && token(&["bytes"])) || token(&["bwu", "bwd"]);
    let placed = |bucket, covers_host| Some(Placed { bucket, covers_host });
    let has_size = tokens.iter().any(|token| token.ends_with("xlarge") || *token == "metal");
    let gpu_instance = tokens.iter().any(|token| is_gpu_family(token, has_size));
    match () {
        () if holds(SUPPORT) => placed(Bucket::SupportLicence, false),
        () if holds(SETUP) => placed(Bucket::Setup, false),
        () if moved || holds(NETWORK) => placed(Bucket::Network, false),
        () if gpu_instance || text.contains("bundled instance") => placed(Bucket::Accelerator, true),
        () if token(GPU) => placed(Bucket::Accelerator, false),
        () if holds(STORAGE) => placed(Bucket::Storage, false),
        () if token(HOST) || holds(MACHINE) => placed(Bucket::Host, false),
        () => None,
    }
}

/// Families of machines whose price holds GPUs and host together.
fn is_gpu_family(token: &str, has_size: bool) -> bool {
    let digit_at = |n: usize| token.as_bytes().get(n).is_some_and(u8::is_ascii_digit);
    let aws = has_size
        && ((token.len() <= 4
            && (token.starts_with('p') || token.starts_with('g'))
            && matches!(token.as_bytes().get(1), Some(b'3'..=b'6')))
            || (token.starts_with("trn") || token.starts_with("inf")) && digit_at(3));
    let azure = ["nc", "nd", "nv"].iter().any(|family| token.starts_with(family)) && digit_at(2);
    aws || azure
}

/// The columns that say what a component is called, the best first.
pub(super) const NAMES: [Role; 5] =
    [Role::Meter, Role::Subcategory, Role::Description, Role::Service, Role::ServiceCategory];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_placed_by_what_is_metered() {
        for (meter, want) in [
            ("Reserved GPU Hours", (Bucket::Accelerator, false)),
            ("GPU Hours", (Bucket::Accelerator, false)),
            ("Bundled Instance Hours", (Bucket::Accelerator, true)),
            ("vCPU Hours", (Bucket::Host, false)),
            ("RAM GiB Hours", (Bucket::Host, false)),
            ("Volume GB-Months", (Bucket::Storage, false)),
            ("Stopped Volume GB-Months", (Bucket::Storage, false)),
            ("Snapshot GB-Months", (Bucket::Storage, false)),
            ("Egress GB", (Bucket::Network, false)),
            ("Public IPv4 Hours", (Bucket::Network, false)),
            ("Licence GPU-Months", (Bucket::SupportLicence, false)),
            ("Marketplace Image Hours", (Bucket::SupportLicence, false)),
            ("Support", (Bucket::SupportLicence, false)),
            ("Setup", (Bucket::Setup, false)),
            ("USW2-APS3-AWS-Out-Bytes", (Bucket::Network, false)),
            ("USE2-TimedStorage-ByteHrs", (Bucket::Storage, false)),
            ("BoxUsage:g5.4xlarge", (Bucket::Accelerator, true)),
            ("BoxUsage:m5.large", (Bucket::Host, false)),
            ("NC24ads A100 v4", (Bucket::Accelerator, true)),
            ("bwu", (Bucket::Network, false)),
            ("gpu", (Bucket::Accelerator, false)),
            ("disk", (Bucket::Storage, false)),
            ("$0.085 per On Demand Linux c5.large Instance Hour", (Bucket::Host, false)),
            ("$1.624 per On Demand Linux g5.4xlarge Instance Hour", (Bucket::Accelerator, true)),
            ("Widgets", (Bucket::Unmapped, false)),
        ] {
            let placed = Placer::default().place(&Words { meter, ..Words::default() });
            assert_eq!((placed.bucket, placed.covers_host), want, "{meter}");
        }
    }

    #[test]
    fn a_correction_and_a_tax_stand_apart_whatever_they_are_for() {
        let mut placer = Placer::default();
        let mut place = |charge: &str, is_correction| {
            let charge = Charge::of(charge);
            placer.place(&Words { charge, is_correction, meter: "GPU Hours", ..Words::default() }).bucket
        };
        for (charge, is_correction, want) in [
            ("Usage", false, Bucket::Accelerator),
            ("DiscountedUsage", false, Bucket::Accelerator),
            ("Usage", true, Bucket::Correction),
            ("Tax", false, Bucket::Tax),
            ("Tax", true, Bucket::Correction),
            ("Credit", false, Bucket::Credit),
            ("EdpDiscount", false, Bucket::Credit),
            ("Refund", false, Bucket::Correction),
            ("RoundingAdjustment", false, Bucket::Adjustment),
            ("Adjustment", false, Bucket::Adjustment),
            ("Purchase", false, Bucket::Accelerator),
        ] {
            assert_eq!(place(charge, is_correction), want, "{charge}");
        }
    }
}
