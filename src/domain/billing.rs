//! Billing components: the lines of a price, and what they come to in a month.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::ids::ComponentId;
use super::money::Money;
use super::terms::Terms;

/// One line of a price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Its id inside the candidate.
    pub id: ComponentId,
    /// What it is for.
    pub category: Category,
    /// The provider's own words for it.
    #[serde(default)]
    pub label: String,
    /// Whether and how it is priced. Unknown is never 0.
    pub status: Status,
    /// Whether it goes on while the machine is stopped.
    #[serde(default)]
    pub when_stopped: Option<bool>,
    /// What else the price says: steps, tiers, limits, what it includes, tax, who said so.
    #[serde(default, skip_serializing_if = "Terms::are_none")]
    pub terms: Terms,
}

/// What a component pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Category {
    /// The GPU, or the instance with it.
    Accelerator,
    /// CPU and memory, where priced apart.
    Host,
    /// Disks and volumes.
    Storage,
    /// Snapshots and backups.
    Snapshot,
    /// Traffic out, addresses, fabric.
    Network,
    /// Support and licences.
    Support,
    /// Paid once.
    OneOff,
}

impl Category {
    /// Every category in table order.
    pub const ALL: [Self; 7] =
        [Self::Accelerator, Self::Host, Self::Storage, Self::Snapshot, Self::Network, Self::Support, Self::OneOff];

    /// Its name for `Text::name` and for inputs of a figure.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Accelerator => "accelerator",
            Self::Host => "host_share",
            Self::Storage => "storage",
            Self::Snapshot => "snapshot",
            Self::Network => "network_traffic",
            Self::Support => "support",
            Self::OneOff => "one_off",
        }
    }
}

/// Whether a component has a price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Status {
    /// It has one.
    Priced(Rate),
    /// Another line includes it.
    Included,
    /// It will cost something, nobody said what.
    Unknown,
    /// It does not exist in this offer.
    NotApplicable,
}

/// A price for a quantity over a time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// The price of one unit; never below zero.
    #[serde(deserialize_with = "super::money::not_negative")]
    pub price: Money,
    /// What one unit is.
    pub per: Per,
    /// How many units one rented unit of the offer needs (GPUs, GB, GB a month). One for whole-machine prices.
    pub quantity: Decimal,
}

/// The unit of a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Per {
    /// For an hour.
    Hour,
    /// For a GB kept a month.
    GbMonth,
    /// For a month.
    Month,
    /// For a GB moved; the quantity is GB a month.
    Gb,
    /// Once.
    Once,
}

impl Per {
    /// Every unit, in the order a list offers them.
    pub const ALL: [Self; 5] = [Self::Hour, Self::GbMonth, Self::Month, Self::Gb, Self::Once];
}
