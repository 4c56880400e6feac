//! Rows of the comparison, and the words in each of their cells. What an offer does not state is `None`.

use crate::domain::billing::{Category, Component, Per, Status};
use crate::domain::candidate::Candidate;
use crate::domain::format::group_thousands;
use crate::domain::money::Exact;
use crate::domain::text::{Text, fill};
use crate::domain::units::{SizeUnit, StatedSize};

/// A row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    /// Head of a group.
    Allocation,
    /// Head of a group.
    Configuration,
    /// Head of a group.
    Money,
    Boundary,
    Reclaimable,
    Region,
    GpuModel,
    GpuMemory,
    Cores,
    Ram,
    Disk,
    Network,
    Driver,
    Cuda,
    OsImage,
    Addresses,
    Rate,
    Term,
    WhenStopped,
    Month,
}

impl RowKind {
    /// Every row from top to bottom.
    pub(super) const ALL: [Self; 20] = [
        Self::Allocation,
        Self::Boundary,
        Self::Reclaimable,
        Self::Region,
        Self::Configuration,
        Self::GpuModel,
        Self::GpuMemory,
        Self::Cores,
        Self::Ram,
        Self::Disk,
        Self::Network,
        Self::Driver,
        Self::Cuda,
        Self::OsImage,
        Self::Addresses,
        Self::Money,
        Self::Rate,
        Self::Term,
        Self::WhenStopped,
        Self::Month,
    ];

    /// Its words in the first column.
    pub(super) fn name(self, text: &Text) -> &str {
        let words = &text.candidates;
        match self {
            Self::Allocation => &words.group_allocation,
            Self::Configuration => &words.group_configuration,
            Self::Money => &words.group_money,
            Self::Boundary => &words.row_boundary,
            Self::Reclaimable => &words.row_reclaimable,
            Self::Region => text.name("region"),
            Self::GpuModel => text.name("gpu_model"),
            Self::GpuMemory => text.name("gpu_memory"),
            Self::Cores => &words.row_cores,
            Self::Ram => &words.row_ram,
            Self::Disk => &words.row_disk,
            Self::Network => text.name("network"),
            Self::Driver => text.name("driver"),
            Self::Cuda => text.name("cuda"),
            Self::OsImage => text.name("os_image"),
            Self::Addresses => &words.row_addresses,
            Self::Rate => &words.row_rate,
            Self::Term => &words.row_term,
            Self::WhenStopped => &words.row_stopped,
            Self::Month => &words.row_month,
        }
    }

    pub(super) const fn is_group(self) -> bool {
        matches!(self, Self::Allocation | Self::Configuration | Self::Money)
    }

    /// The field of the editor that writes this row; `None` for what billing components say.
    pub(super) const fn field(self) -> Option<&'static str> {
        Some(match self {
            Self::Boundary => "boundary",
            Self::Reclaimable => "reclaimable",
            Self::Region => "region",
            Self::GpuModel => "gpu_model",
            Self::GpuMemory => "gpu_memory",
            Self::Cores => "vcpu",
            Self::Ram => "ram",
            Self::Disk => "disk",
            Self::Network => "network",
            Self::Driver => "driver",
            Self::Cuda => "cuda",
            Self::OsImage => "os_image",
            Self::Addresses => "ipv4",
            Self::Term => "months",
            _ => return None,
        })
    }

    /// What the offer says here.
    pub(super) fn cell(self, candidate: &Candidate, text: &Text) -> Option<String> {
        let promised = &candidate.promised;
        match self {
            Self::Allocation | Self::Configuration | Self::Money | Self::Month => None,
            Self::Boundary => promised.boundary.map(|boundary| text.boundary(boundary).to_owned()),
            Self::Reclaimable => candidate
                .term
                .reclaimable
                .map(|can| if can { text.candidates.reclaim_yes.clone() } else { text.common.no.clone() }),
            Self::Region => promised.region.clone(),
            Self::GpuModel => {
                let model = promised.gpu_model.as_ref()?;
                Some(match promised.gpu_count {
                    Some(n) => format!("{n} × {model}"),
                    None => model.clone(),
                })
            }
            Self::GpuMemory => {
                let memory = size(promised.gpu_memory?);
                Some(match promised.gpu_count {
                    Some(n) if n > 1 => format!("{n} × {memory}"),
                    _ => memory,
                })
            }
            Self::Cores => promised.vcpu.map(|n| n.to_string()),
            Self::Ram => promised.ram.map(size),
            Self::Disk => {
                let disk = size(promised.disk?);
                let kind = promised.disk_kind.as_deref().map(|kind| format!(" {kind}")).unwrap_or_default();
                Some(format!("{disk}{kind}"))
            }
            Self::Network => promised.network_gbit.map(|gbit| format!("{} Gb/s", group_thousands(&gbit.to_string()))),
            Self::Driver => promised.driver.clone(),
            Self::Cuda => promised.cuda.clone(),
            Self::OsImage => promised.os_image.clone(),
            Self::Addresses => addresses(promised.ipv4, promised.ipv6, text),
            Self::Rate => rate(candidate, text),
            Self::Term => term(candidate, text),
            Self::WhenStopped => when_stopped(candidate, text),
        }
    }
}

/// A size as it was stated; large decimal ones in TB.
pub(super) fn size(size: StatedSize) -> String {
    match size.unit {
        SizeUnit::GB if size.number >= 1000.0 => {
            format!("{} TB", group_thousands(&(size.number / 1000.0).to_string()))
        }
        unit => format!("{} {unit}", group_thousands(&size.number.to_string())),
    }
}

/// A size as a field shows it, in the unit it was stated in.
pub(super) fn size_typed(size: &StatedSize) -> String {
    format!("{} {}", group_thousands(&size.number.to_string()), size.unit)
}

fn addresses(ipv4: Option<bool>, ipv6: Option<bool>, text: &Text) -> Option<String> {
    let given: Vec<&str> =
        [(ipv4, "IPv4"), (ipv6, "IPv6")].iter().filter(|(is, _)| *is == Some(true)).map(|(_, name)| *name).collect();
    if given.is_empty() {
        return (ipv4.is_some() && ipv6.is_some()).then(|| text.candidates.addresses_none.clone());
    }
    Some(given.join(&text.common.list_comma))
}

/// The price of the accelerator: what people call the rate of an offer.
fn rate(candidate: &Candidate, text: &Text) -> Option<String> {
    let priced = candidate.billing.iter().find_map(|component| match &component.status {
        Status::Priced(rate) if component.category == Category::Accelerator => Some(rate),
        _ => None,
    })?;
    let amount = amount(&Exact::from(priced.price).show(), &priced.quantity.normalize().to_string(), text);
    let words = &text.candidates;
    let sentence = match priced.per {
        Per::Hour => &words.rate_hour,
        Per::GbMonth => &words.rate_gb_month,
        Per::Month => &words.rate_month,
        Per::Gb => &words.rate_gb,
        Per::Once => &words.rate_once,
    };
    Some(fill(sentence, &[("amount", amount)]))
}

/// "0.10 × 500", or the amount alone for one unit.
pub(super) fn amount(amount: &str, quantity: &str, text: &Text) -> String {
    if quantity == "1" {
        return amount.to_owned();
    }
    fill(&text.candidates.times, &[("amount", amount.to_owned()), ("quantity", group_thousands(quantity))])
}

fn term(candidate: &Candidate, text: &Text) -> Option<String> {
    let words = &text.candidates;
    Some(match candidate.term.months? {
        0 => words.term_none.clone(),
        1 => words.term_month.clone(),
        n => fill(&words.term_months, &[("n", n.to_string())]),
    })
}

/// Whether it costs something all the time, so that stopping matters to it.
pub(super) fn runs_on(component: &Component) -> bool {
    match &component.status {
        Status::Priced(rate) => matches!(rate.per, Per::Hour | Per::GbMonth | Per::Month),
        Status::Unknown => component.category != Category::OneOff,
        Status::Included | Status::NotApplicable => false,
    }
}

/// Which parts go on while the machine is stopped; `None` when the offer leaves one of them open or names no part.
fn when_stopped(candidate: &Candidate, text: &Text) -> Option<String> {
    let running: Vec<&Component> = candidate.billing.iter().filter(|component| runs_on(component)).collect();
    if running.is_empty() || running.iter().any(|component| component.when_stopped.is_none()) {
        return None;
    }
    let going_on: Vec<&Component> =
        running.iter().filter(|component| component.when_stopped == Some(true)).copied().collect();
    if going_on.len() == running.len() {
        return Some(text.candidates.stopped_all.clone());
    }
    if going_on.is_empty() {
        return Some(text.candidates.stopped_nothing.clone());
    }
    let mut names: Vec<&str> = going_on.iter().map(|component| text.category(component.category)).collect();
    names.dedup();
    Some(names.join(&text.common.list_comma))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::billing::Rate;
    use crate::domain::candidate::Boundary;
    use crate::domain::ids::{CandidateId, ComponentId};
    use crate::domain::text::Language;

    fn component(id: &str, category: Category, price: &str, per: Per, when_stopped: Option<bool>) -> Component {
        let rate = Rate { price: price.parse().unwrap(), per, quantity: 1.into() };
        Component {
            id: ComponentId(id.into()),
            category,
            label: String::new(),
            status: Status::Priced(rate),
            when_stopped,
            terms: crate::domain::terms::Terms::default(),
        }
    }

    fn offer() -> Candidate {
        let mut offer = Candidate::new(CandidateId("c1".into()), 0, "A".into());
        offer.promised.boundary = Some(Boundary::Vm);
        offer.promised.gpu_model = Some("L40S".into());
        offer.promised.gpu_count = Some(2);
        offer.promised.gpu_memory = "48 GB".parse().ok();
        offer.promised.disk = "2 TB".parse().ok();
        offer.promised.disk_kind = Some("NVMe".into());
        offer.promised.network_gbit = Some(10.0);
        offer.promised.ipv4 = Some(true);
        offer.term.months = Some(6);
        offer.term.reclaimable = Some(false);
        offer.billing = vec![
            component("b1", Category::Accelerator, "2.89 USD", Per::Hour, Some(false)),
            component("b2", Category::Storage, "0.10 USD", Per::GbMonth, Some(true)),
        ];
        offer
    }

    #[test]
    fn cells_say_what_the_offer_says() {
        let text = Text::of(Language::En);
        let offer = offer();
        for (row, want) in [
            (RowKind::Boundary, Some("virtual machine")),
            (RowKind::Reclaimable, Some("no")),
            (RowKind::Region, None),
            (RowKind::GpuModel, Some("2 × L40S")),
            (RowKind::GpuMemory, Some("2 × 48 GB")),
            (RowKind::Disk, Some("2 TB NVMe")),
            (RowKind::Network, Some("10 Gb/s")),
            (RowKind::Addresses, Some("IPv4")),
            (RowKind::Rate, Some("2.89 an hour")),
            (RowKind::Term, Some("6 months")),
            (RowKind::WhenStopped, Some("Storage")),
        ] {
            assert_eq!(row.cell(&offer, text).as_deref(), want, "{row:?}");
        }
    }

    #[test]
    fn what_goes_on_while_stopped() {
        let text = Text::of(Language::En);
        let mut offer = offer();
        for (first, second, want) in [
            (Some(true), Some(true), Some("everything")),
            (Some(false), Some(false), Some("nothing")),
            (None, Some(true), None),
        ] {
            offer.billing[0].when_stopped = first;
            offer.billing[1].when_stopped = second;
            assert_eq!(when_stopped(&offer, text).as_deref(), want);
        }
        offer.billing.clear();
        assert_eq!(when_stopped(&offer, text), None);
    }

    #[test]
    fn addresses_are_none_only_when_both_are_denied() {
        let text = Text::of(Language::En);
        for (ipv4, ipv6, want) in [
            (None, None, None),
            (Some(false), None, None),
            (Some(false), Some(false), Some("none")),
            (Some(true), Some(true), Some("IPv4, IPv6")),
        ] {
            assert_eq!(addresses(ipv4, ipv6, text).as_deref(), want);
        }
    }
}
