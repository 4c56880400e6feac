//! A cost case as it is written: components, what happened, and questions with their answers.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::calendar::Moment;
use super::field::{Amount, Code, Count, Every, Lasting, MonthBasis, Number, Price, RateText, UnitOf};
use super::number::RoundMode;
use super::question::Question;
use super::unit::Quantity;

/// A whole case.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Short name, unique in a folder.
    pub id: String,
    /// Which family of billing rules it is about.
    #[serde(default)]
    pub family: String,
    /// What it shows.
    #[serde(default)]
    pub title: String,
    /// Where the rule or the mistake was seen.
    #[serde(default)]
    pub from: String,
    /// Anything else.
    #[serde(default)]
    pub note: String,
    /// Currency of amounts that name none.
    #[serde(default)]
    pub currency: Option<Code>,
    /// Zone of local times, days and months that name none.
    #[serde(default)]
    pub zone: Option<String>,
    /// The time the case is about; bare lengths of time lie in it.
    #[serde(default)]
    pub period: Option<Period>,
    /// The lines of the price.
    #[serde(default)]
    pub components: Vec<Component>,
    /// What was rented, and what happened to it.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// What was metered beside the wall time.
    #[serde(default)]
    pub usage: Vec<Usage>,
    /// What stands on a bill.
    #[serde(default)]
    pub charges: Vec<Charge>,
    /// Rates of exchange.
    #[serde(default)]
    pub exchange: Vec<Exchange>,
    /// Reservations and spend commitments.
    #[serde(default)]
    pub commitments: Vec<Commitment>,
    /// Tax on all of it.
    #[serde(default)]
    pub tax: Option<Tax>,
    /// Taxes on a part of it, beside that: each on what its `applies_to` names.
    #[serde(default)]
    pub taxes: Vec<Tax>,
    /// A prepaid account.
    #[serde(default)]
    pub wallet: Option<Wallet>,
    /// What the work came to.
    #[serde(default)]
    pub outcomes: Vec<Outcome>,
    /// Ways to pay for the same work, for break-even.
    #[serde(default)]
    pub plans: Vec<Plan>,
    /// What was planned, by bucket.
    #[serde(default)]
    pub planned: Vec<Bucket>,
    /// What was handed on to somebody out of the bill.
    #[serde(default)]
    pub allocated: Vec<Bucket>,
    /// What is asked.
    pub questions: Vec<Question>,
}

/// From an instant to another, the end not included.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Period {
    /// First instant.
    pub from: Moment,
    /// First instant after it.
    pub to: Moment,
}

/// What a component pays for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the trade's own words")]
pub enum Category {
    Accelerator,
    Host,
    LocalDisk,
    BlockVolume,
    SharedStorage,
    Snapshot,
    Egress,
    Ingress,
    InterZone,
    Address,
    Support,
    Licence,
    Setup,
    Migration,
    ManagementFee,
    Shortfall,
    Cancellation,
    Tax,
    Credit,
    Correction,
    Rounding,
    ApiUsage,
    #[default]
    Other,
}

impl Category {
    /// The part of a rental that a component of this category covers when it names none.
    #[must_use]
    pub const fn part(self) -> Option<&'static str> {
        Some(match self {
            Self::Accelerator => "accelerator",
            Self::Host => "host",
            Self::LocalDisk => "local_disk",
            Self::BlockVolume => "block_volume",
            Self::SharedStorage => "shared_storage",
            Self::Snapshot => "snapshot",
            Self::Egress => "egress",
            Self::Ingress => "ingress",
            Self::InterZone => "inter_zone",
            Self::Address => "address",
            _ => return None,
        })
    }
}

/// Whether a component has a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It has one.
    Priced,
    /// Another component includes it.
    Included,
    /// It will cost something, nobody said what.
    Unknown,
    /// It does not exist in this offer.
    NotApplicable,
}

/// Who said so, and when.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Source {
    /// Page, person or quote number.
    pub who: String,
    /// The place in it.
    pub place: String,
    /// When it was read.
    pub on: Option<Moment>,
    /// Whether it was quoted or measured.
    pub how: Option<How>,
}

/// How a price is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Somebody said so.
    Quoted,
    /// A bill or a balance showed it.
    Measured,
}

/// One line of a price.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Its name in this case.
    pub id: String,
    /// The provider's words.
    #[serde(default)]
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub category: Category,
    /// The parts that its price includes; the category's own part where none is named.
    #[serde(default)]
    pub covers: Option<Vec<String>>,
    /// The component that includes it: it is then no amount of its own.
    #[serde(default)]
    pub inside: Option<String>,
    /// Who said so.
    #[serde(default)]
    pub source: Source,
    /// Whether it has a price; priced where a rate is given, else unknown.
    #[serde(default)]
    pub status: Option<Status>,
    /// Its only rate.
    #[serde(default)]
    pub rate: Option<RateText>,
    /// Its rates, where there are several: by name, by time.
    #[serde(default)]
    pub rates: Vec<NamedRate>,
    /// How much of it was asked for.
    #[serde(default)]
    pub quantity: Option<Quantity>,
    /// What makes the quantity.
    #[serde(default)]
    pub driver: Option<Driver>,
    /// Resources it is charged for; all where none is named.
    #[serde(default)]
    pub resources: Vec<String>,
    /// State of a resource to the name of a rate, "billed" or "not billed"; "*" is any other state.
    #[serde(default)]
    pub states: BTreeMap<String, String>,
    /// Event of a session at which metering starts.
    #[serde(default)]
    pub metered_from: Option<String>,
    /// Event of a session at which metering ends.
    #[serde(default)]
    pub metered_to: Option<String>,
    /// The zone in which the provider closes days and months.
    #[serde(default)]
    pub zone: Option<String>,
    /// How long a month is.
    #[serde(default)]
    pub month: Option<MonthBasis>,
    /// Whether a month that is only begun is charged by its part or in full.
    #[serde(default)]
    pub partial_month: Option<PartialMonth>,
    /// GB in a TB: 1000 or 1024.
    #[serde(default)]
    pub tb: Option<u32>,
    /// Pixels in a megapixel; 1,000,000 where not stated.
    #[serde(default)]
    pub megapixel: Option<Number>,
    /// Smallest billed step, of time or of the metered quantity.
    #[serde(default)]
    pub step: Option<Quantity>,
    /// Least that is billed, of time or of the metered quantity.
    #[serde(default)]
    pub minimum: Option<Quantity>,
    /// What step and minimum are applied to.
    #[serde(default)]
    pub each: Each,
    /// Which way a begun step goes.
    #[serde(default)]
    pub rounding: StepRounding,
    /// Smallest billed step of the size that is kept over a time.
    #[serde(default)]
    pub size_step: Option<Quantity>,
    /// Least size that is billed.
    #[serde(default)]
    pub size_minimum: Option<Quantity>,
    /// Prices by quantity, instead of a rate.
    #[serde(default)]
    pub tiers: Option<Tiers>,
    /// What is free.
    #[serde(default)]
    pub allowance: Option<Allowance>,
    /// What is taken off the amount, before floor and cap.
    #[serde(default)]
    pub discount: Option<Number>,
    /// Least amount.
    #[serde(default)]
    pub floor: Option<Limit>,
    /// Most that is charged.
    #[serde(default)]
    pub cap: Option<Limit>,
    /// What happens when somebody stops a session.
    #[serde(default)]
    pub interruption: Option<Interruption>,
    /// Where the provider rounds money.
    #[serde(default)]
    pub round: Option<MoneyRounding>,
    /// When it is paid.
    #[serde(default)]
    pub paid: Paid,
    /// When something that is charged once is charged.
    #[serde(default)]
    pub on: Option<Moment>,
    /// First instant at which it exists; always where not stated.
    #[serde(default)]
    pub from: Option<Moment>,
    /// First instant at which it no longer exists.
    #[serde(default)]
    pub until: Option<Moment>,
    /// How an account's allowance, tiers, floor or cap is laid on its resources, when one of them is asked for alone.
    #[serde(default)]
    pub split: Option<Split>,
}

/// How something shared is laid on those who share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// By what each used.
    ByUse,
    /// Whoever comes first has it.
    InOrder,
}

/// A rate among several.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedRate {
    /// Its name in the state table.
    #[serde(default)]
    pub name: String,
    /// The price.
    pub rate: RateText,
    /// First instant it holds; always where not stated.
    #[serde(default)]
    pub from: Option<Moment>,
    /// First instant it no longer holds.
    #[serde(default)]
    pub until: Option<Moment>,
}

/// What makes the quantity of a component. A string names a meter.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    /// What was asked for (`quantity`), for as long as the resource was in a billed state.
    Requested,
    /// What a meter showed: a level kept over time, or a volume.
    Used(String),
    /// The larger of what was asked for and what a meter showed, at every time.
    Larger(String),
    /// The capacity that a meter says was set aside.
    Allocated(String),
    /// The highest level of each local day.
    PeakOfDay(String),
    /// The level that 95 % of the samples do not exceed.
    P95(String),
    /// An outcome: attempted, completed, accepted, within_slo, failed, rejected, retries, input_tokens, cached_tokens,
    /// uncached_tokens, output_tokens, total_tokens.
    Count(String),
    /// Pixels of every attempted, completed or accepted output.
    Pixels(String),
    /// Seconds of every attempted, completed or accepted output, for a price per second of video or speech.
    Seconds(String),
}

/// Whether a month that is only begun is charged by its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartialMonth {
    /// By its part.
    Prorated,
    /// In full.
    Full,
}

/// What step and minimum are applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// Each uninterrupted billed span of a session.
    #[default]
    Session,
    /// Each local day of a resource.
    Day,
    /// Each local month of a resource.
    Month,
    /// All of a resource.
    Period,
}

/// Which way a begun step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRounding {
    /// Up.
    #[default]
    Up,
    /// Down.
    Down,
    /// To the nearest, a half up.
    Nearest,
}

/// Who shares something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Each resource for itself.
    Resource,
    /// The resources of a region together.
    Region,
    /// The whole account.
    #[default]
    Account,
}

/// When something starts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reset {
    /// Every local day.
    Day,
    /// Every local month.
    #[default]
    Month,
    /// Never.
    Period,
}

/// Prices by quantity.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tiers {
    /// Whether each part has its own price, or the last one reached holds for all.
    #[serde(default)]
    pub kind: TierKind,
    /// Who shares them.
    #[serde(default)]
    pub scope: Scope,
    /// When they start again.
    #[serde(default)]
    pub reset: Reset,
    /// The tiers from the lowest on.
    pub steps: Vec<Tier>,
}

/// How tiers work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TierKind {
    /// Each part at its own price.
    #[default]
    Graduated,
    /// All at the price of the last tier reached.
    Volume,
}

/// One tier.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Where it begins; at the end of the one before where not stated.
    #[serde(default)]
    pub from: Option<Quantity>,
    /// Where it ends; never where not stated.
    #[serde(default)]
    pub up_to: Option<Quantity>,
    /// Its price.
    pub rate: RateText,
}

/// What is free.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowance {
    /// How much; with `times_of`, for each unit of that component's quantity.
    pub amount: Quantity,
    /// A component whose quantity multiplies it.
    #[serde(default)]
    pub times_of: Option<String>,
    /// Who shares it.
    #[serde(default)]
    pub scope: Scope,
    /// When it starts again.
    #[serde(default)]
    pub reset: Reset,
    /// First instant at which it is gone.
    #[serde(default)]
    pub until: Option<Moment>,
}

/// A least or a most amount.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// How much.
    pub amount: Price,
    /// For whom.
    #[serde(default = "each_resource")]
    pub scope: Scope,
    /// For how long.
    #[serde(default)]
    pub each: Reset,
}

fn each_resource() -> Scope {
    Scope::Resource
}

/// What happens when somebody stops a session.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interruption {
    /// A session that the provider ends before this is free.
    pub free_within: Lasting,
}

/// Where money is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoneyRounding {
    /// Decimals; the minor units of the currency where not stated.
    #[serde(default)]
    pub places: Option<u32>,
    /// Which way.
    #[serde(default)]
    pub mode: RoundMode,
    /// What is rounded.
    #[serde(default)]
    pub each: Each,
}

/// When something is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Paid {
    /// As it is used.
    #[default]
    AsUsed,
    /// All at the start of each session.
    InAdvance,
    /// All at the end of each session.
    InArrears,
}

/// Something rented.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Its name in this case.
    pub id: String,
    /// Its region, for tiers and allowances of a region.
    #[serde(default)]
    pub region: String,
    /// Zone of its local times.
    #[serde(default)]
    pub zone: Option<String>,
    /// When it existed.
    #[serde(default)]
    pub sessions: Vec<Session>,
}

/// What part of the work a span was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// It counted.
    #[default]
    Useful,
    /// It was lost.
    Lost,
    /// Starting again after a loss.
    Restart,
    /// Nothing ran.
    Idle,
}

/// Who ended a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The person who rented.
    #[default]
    User,
    /// The provider.
    Provider,
}

/// One existence of a resource without a break: a text with its length, or fields.
#[derive(Debug, Clone, Default)]
pub struct Session(pub SessionFields);

/// The fields of a session.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionFields {
    /// First instant.
    pub from: Option<Moment>,
    /// First instant after it.
    pub to: Option<Moment>,
    /// Last whole day, instead of `to`.
    pub to_inclusive: Option<Moment>,
    /// Its length, instead of `to`.
    pub lasts: Option<Lasting>,
    /// Its state, where it has no pieces; "running" where not stated.
    pub state: Option<String>,
    /// What part of the work it was.
    pub work: Work,
    /// Which attempt it was.
    pub attempt: Option<u32>,
    /// What it went through, one after another.
    pub pieces: Vec<Piece>,
    /// Who ended it.
    pub ended_by: EndedBy,
    /// How many sessions of this kind there were.
    pub times: Option<u32>,
    /// How far they are apart, with `times`.
    pub every: Option<Every>,
    /// Named instants, for components metered between events.
    pub events: BTreeMap<String, Moment>,
}

/// A part of a session: a text with its length, or fields.
#[derive(Debug, Clone, Default)]
pub struct Piece(pub PieceFields);

/// The fields of a part of a session.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PieceFields {
    /// Its length; to the next piece's `from`, or the end of the session, where not stated.
    pub lasts: Option<Lasting>,
    /// First instant; the end of the piece before where not stated.
    pub from: Option<Moment>,
    /// Its state.
    pub state: Option<String>,
    /// What part of the work it was.
    pub work: Work,
    /// Which attempt it was.
    pub attempt: Option<u32>,
    /// How often it comes, one after another.
    pub times: Option<u32>,
}

macro_rules! text_or_fields {
    ($name:ident, $fields:ident, $expecting:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Either;
                impl<'de> Visitor<'de> for Either {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        let lasts = <Lasting as super::field::FromText>::from_text(text).map_err(E::custom)?;
                        Ok($name($fields { lasts: Some(lasts), ..$fields::default() }))
                    }
                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<$name, A::Error> {
                        $fields::deserialize(de::value::MapAccessDeserializer::new(map)).map($name)
                    }
                }
                deserializer.deserialize_any(Either)
            }
        }
    };
}
text_or_fields!(Session, SessionFields, "a length as \"90 s\", or the fields of a session");
text_or_fields!(Piece, PieceFields, "a length as \"90 s\", or the fields of a piece");

/// What was metered: one quantity, or samples of a level one after another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Name of the meter.
    pub meter: String,
    /// Whose; nobody's in particular where not stated.
    #[serde(default)]
    pub resource: Option<String>,
    /// A volume, or a level kept from `from` to `to`.
    #[serde(default)]
    pub quantity: Option<Quantity>,
    /// Levels, each kept for `every`.
    #[serde(default)]
    pub samples: Vec<Quantity>,
    /// How long a sample stands.
    #[serde(default)]
    pub every: Option<Lasting>,
    /// First instant.
    #[serde(default)]
    pub from: Option<Moment>,
    /// First instant after it.
    #[serde(default)]
    pub to: Option<Moment>,
}

/// What kind of line of a bill it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChargeKind {
    /// Something used.
    #[default]
    Usage,
    /// A commitment bought.
    Purchase,
    /// The used part of a commitment.
    Used,
    /// The unused part of a commitment.
    Unused,
    /// A tax.
    Tax,
    /// A credit; below zero.
    Credit,
    /// A payment given back; below zero.
    Refund,
    /// A correction of an earlier line.
    Correction,
    /// What rounding left.
    Rounding,
}

/// A line of a bill.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Charge {
    /// Its name, for questions.
    #[serde(default)]
    pub id: String,
    /// What was billed and what it cost the work, where both are the same.
    #[serde(default)]
    pub amount: Option<Amount>,
    /// What is on the invoice.
    #[serde(default)]
    pub billed: Option<Amount>,
    /// What it cost the work.
    #[serde(default)]
    pub effective: Option<Amount>,
    /// When it was billed.
    #[serde(default)]
    pub on: Option<Moment>,
    /// First instant it is for.
    #[serde(default)]
    pub from: Option<Moment>,
    /// First instant after it.
    #[serde(default)]
    pub to: Option<Moment>,
    /// What kind of line.
    #[serde(default)]
    pub kind: ChargeKind,
    /// Which bucket of the plan it belongs to.
    #[serde(default)]
    pub bucket: String,
    /// Whose.
    #[serde(default)]
    pub resource: Option<String>,
    /// Who issued it; the provider where not stated.
    #[serde(default)]
    pub issuer: String,
    /// How many such lines there are.
    #[serde(default)]
    pub times: Option<u32>,
}

/// A rate of exchange. It is never turned around and rounded: the other direction divides by it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// From this day on, until a later rate; always where not stated.
    #[serde(default)]
    pub on: Option<Moment>,
    /// One unit of this currency …
    pub one: Code,
    /// … is this much.
    pub is: Price,
}

/// A reservation or a spend commitment.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commitment {
    /// Its name in this case.
    pub id: String,
    /// The components whose use it pays for.
    #[serde(default)]
    pub applies_to: Vec<String>,
    /// The one resource that it is bound to.
    #[serde(default)]
    pub bound_to: Option<String>,
    /// A meter that shows what was used of it, instead of components.
    #[serde(default)]
    pub used: Option<String>,
    /// First instant.
    #[serde(default)]
    pub from: Option<Moment>,
    /// First instant after it.
    #[serde(default)]
    pub to: Option<Moment>,
    /// Its length, instead of `to`.
    #[serde(default)]
    pub lasts: Option<Lasting>,
    /// The term is a whole number of these, rounded up.
    #[serde(default)]
    pub whole: Option<Lasting>,
    /// How much is reserved; one where not stated.
    #[serde(default)]
    pub quantity: Option<Quantity>,
    /// Paid at the start.
    #[serde(default)]
    pub upfront: Option<Price>,
    /// Paid for every unit of the term, used or not.
    #[serde(default)]
    pub rate: Option<RateText>,
    /// When the rate is paid.
    #[serde(default)]
    pub paid: Paid,
    /// How long a month is, where the rate is for one.
    #[serde(default)]
    pub month: Option<MonthBasis>,
    /// A sum that will be spent; what is missing at the end of the term is charged.
    #[serde(default)]
    pub spend: Option<Price>,
    /// Hours of the term that were not used can be used at another time of it.
    #[serde(default)]
    pub pooled: bool,
}

/// A tax on everything that is asked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tax {
    /// As "0.19" or "19 %"; none where tax stands on the bill as lines of its own.
    #[serde(default)]
    pub rate: Option<Number>,
    /// Whether the sum or each line is taxed.
    #[serde(default)]
    pub on: Option<TaxOn>,
    /// Whether prices contain it already.
    #[serde(default)]
    pub included: bool,
    /// Whether it is given back.
    #[serde(default)]
    pub reclaimable: Option<bool>,
    /// How it is rounded; not at all where not stated.
    #[serde(default)]
    pub round: Option<MoneyRounding>,
    /// The components and charges it is on; all where none is named.
    #[serde(default)]
    pub applies_to: Vec<String>,
}

/// What a tax is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaxOn {
    /// The sum.
    Sum,
    /// Each line, rounded one by one.
    Line,
}

/// A prepaid account.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wallet {
    /// What was in it.
    pub opening: Amount,
    /// What was paid in.
    #[serde(default)]
    pub top_ups: Vec<TopUp>,
    /// A top-up of this much whenever the balance falls below a threshold.
    #[serde(default)]
    pub automatic: Option<Automatic>,
}

/// Money paid into an account: a text, or fields.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopUp {
    /// How much.
    pub amount: Price,
    /// When.
    #[serde(default)]
    pub on: Option<Moment>,
    /// How much of it is a gift: balance, but no cash.
    #[serde(default)]
    pub bonus: Option<Price>,
    /// First instant at which what is left of it is gone.
    #[serde(default)]
    pub expires: Option<Moment>,
    /// How many of these.
    #[serde(default)]
    pub times: Option<u32>,
}

/// A rule that pays in by itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Automatic {
    /// When the balance is below this …
    pub below: Price,
    /// … this much is paid in.
    pub amount: Price,
}

/// What the work came to.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Outcome {
    /// What one of it is: "request", "image", "video", "job", "batch".
    pub what: String,
    /// On which resource.
    pub resource: Option<String>,
    /// Asked for.
    pub attempted: Option<Count>,
    /// Finished without an error.
    pub completed: Option<Count>,
    /// Finished within every limit.
    pub within_slo: Option<Count>,
    /// Good enough.
    pub accepted: Option<Count>,
    /// Not good enough.
    pub rejected: Option<Count>,
    /// Ended in an error.
    pub failed: Option<Count>,
    /// Attempts after the first.
    pub retries: Option<Count>,
    /// Tokens of all input, the cached ones included.
    pub input_tokens: Option<Count>,
    /// Input tokens that came from a cache; part of the input.
    pub cached_tokens: Option<Count>,
    /// Input tokens that did not.
    pub uncached_tokens: Option<Count>,
    /// Tokens written.
    pub output_tokens: Option<Count>,
    /// Width of an image in pixels.
    pub width: Option<Count>,
    /// Height of an image in pixels.
    pub height: Option<Count>,
    /// Length of one output, of video or speech.
    pub length: Option<Lasting>,
    /// How long rates ("2450 per s") went on; the wall time of the resources where not stated.
    pub lasts: Option<Lasting>,
    /// First instant.
    pub from: Option<Moment>,
    /// First instant after it.
    pub to: Option<Moment>,
}

/// A way to pay for work.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Its name.
    pub id: String,
    /// What one unit is; an hour where it is a time and not stated.
    #[serde(default)]
    pub unit: Option<UnitOf>,
    /// Paid whatever is used: once a machine where there is a capacity.
    #[serde(default)]
    pub fixed: Option<Price>,
    /// Paid once, however many machines.
    #[serde(default)]
    pub once: Option<Price>,
    /// Paid for each unit that is used.
    #[serde(default)]
    pub per_unit: Option<Price>,
    /// What a unit costs by components of this case: their amount over one of the outcomes.
    #[serde(default)]
    pub unit_cost: Option<PlanUnit>,
    /// Paid for each unit of `limit`, used or not.
    #[serde(default)]
    pub per_unit_of_limit: Option<Price>,
    /// Units that one machine can do; more need another one.
    #[serde(default)]
    pub capacity: Option<Quantity>,
    /// Units that are paid for from this number on; the ones before are free.
    #[serde(default)]
    pub free_units: Option<Quantity>,
    /// Share of the units that counts; the rest is lost and done again.
    #[serde(default)]
    pub useful: Option<Number>,
    /// Prices of whole blocks of time.
    #[serde(default)]
    pub blocks: Vec<Block>,
}

/// Which amount makes the price of a unit.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanUnit {
    /// The components.
    pub of: Vec<String>,
    /// The outcome, as in a unit cost.
    pub per: String,
}

/// A price for a block of time.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Its price.
    pub price: Price,
    /// Its length.
    pub lasts: Lasting,
}

/// An amount in a bucket.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// Its name.
    pub bucket: String,
    /// How much.
    pub amount: Amount,
}
