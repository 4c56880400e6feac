//! Promised against found: every field of an offer beside what the newest answers of its hosts say.

use chrono::{DateTime, FixedOffset};

use super::names;
use crate::domain::candidate::{Boundary, Candidate, Promised};
use crate::domain::evidence::Kind;
use crate::domain::facts::{Absent, AbsentKind, Value, keys};
use crate::domain::format;
use crate::domain::ids::{EvidenceId, HostId};
use crate::domain::seen::{self, HostSeen, Kept, Known, Reading, is_gpu, is_host};
use crate::domain::text::Text;
use crate::domain::units::{SizeUnit, StatedSize};

const MIB: f64 = 1_048_576.0;

/// One promise on one host.
#[derive(Debug, Clone, PartialEq)]
pub struct PromiseRow {
    /// The field, for `Text::name` ("gpu_count").
    pub field: &'static str,
    /// What the offer says; `None` when it does not say.
    pub promised: Option<Shown>,
    /// What was found, or why nothing was.
    pub found: Result<Shown, NotFound>,
    /// What comes of it.
    pub agreement: Agreement,
    /// What the comparison allows for, as a name for `Text::name`.
    pub note: Option<&'static str>,
    /// Records it stands on.
    pub evidence: Vec<EvidenceId>,
    /// Kind of those records.
    pub kind: Option<Kind>,
    /// When the answer was complete.
    pub taken_at: Option<DateTime<FixedOffset>>,
    /// The host; `None` while the candidate has none.
    pub host: Option<HostId>,
}

/// What comes of a promise. The order is that of the table: rows to act on come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Agreement {
    /// What was found is not what was promised.
    Mismatch,
    /// The offer does not say.
    NotStated,
    /// Nobody could look, or it cannot be seen from the host.
    NotFound,
    /// It is as promised.
    Match,
}

impl Agreement {
    /// Its name for `Text::name` ("agreement_mismatch").
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Mismatch => "agreement_mismatch",
            Self::NotStated => "agreement_not_stated",
            Self::NotFound => "agreement_not_found",
            Self::Match => "agreement_match",
        }
    }
}

/// A value as it is shown: the tool's or the offer's own text, or a word of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Text with its unit.
    Text(String),
    /// A name for `Text::name` ("yes").
    Word(&'static str),
}

impl Shown {
    /// The value in words.
    #[must_use]
    pub fn words<'a>(&'a self, text: &'a Text) -> &'a str {
        match self {
            Self::Text(shown) => shown,
            Self::Word(name) => text.name(name),
        }
    }
}

/// Why nothing was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotFound {
    /// Nobody asked the host yet.
    NeverAsked,
    /// The tool had no value.
    Absent(Absent),
    /// It cannot be seen from inside the host.
    NotVisible,
}

impl NotFound {
    /// Why, in words.
    #[must_use]
    pub fn words(&self, text: &Text) -> String {
        match self {
            Self::NeverAsked => text.name("never_asked").to_owned(),
            Self::Absent(absent) => text.absent(absent),
            Self::NotVisible => text.name("not_visible").to_owned(),
        }
    }
}

/// The fields in the order of an offer.
pub const FIELDS: [&str; 15] = [
    "gpu_count",
    "gpu_model",
    "gpu_memory",
    "driver",
    "cuda",
    "vcpu",
    "ram",
    "disk",
    "disk_kind",
    "network",
    "os_image",
    "ipv4",
    "ipv6",
    "boundary",
    "region",
];

/// Every promise of a candidate on each of its hosts, mismatches first.
#[must_use]
pub fn rows(candidate: &Candidate, hosts: &[HostSeen], reading: Reading) -> Vec<PromiseRow> {
    let mut rows: Vec<PromiseRow> = match hosts {
        [] => of_host(&candidate.promised, &[], None),
        hosts => hosts
            .iter()
            .flat_map(|host| of_host(&candidate.promised, &host.latest(reading), Some(&host.host)))
            .collect(),
    };
    rows.sort_by_key(|row| row.agreement);
    rows
}

/// What was found for a field, before it is held against the promise.
struct Found<'a> {
    shown: Result<Shown, NotFound>,
    records: Vec<&'a Kept>,
}

impl<'a> Found<'a> {
    fn value(shown: impl Into<String>, records: Vec<&'a Kept>) -> Self {
        Self { shown: Ok(Shown::Text(shown.into())), records }
    }

    fn word(name: &'static str, records: Vec<&'a Kept>) -> Self {
        Self { shown: Ok(Shown::Word(name)), records }
    }
}

/// Probes that would answer a field, by the start of their id, to name the right absence.
type Probes = &'static str;
const GPU: Probes = "gpu";
const CPU: Probes = "cpu";
const MEMORY: Probes = "memory";
const DISKS: Probes = "disks";
const NETWORK: Probes = "network";
const OS: Probes = "os";

struct Look<'a> {
    latest: &'a [&'a Kept],
    host: Option<&'a HostId>,
}

impl<'a> Look<'a> {
    /// Why there is no value: an absent fact, an answer that could not be read, or no answer.
    fn nothing(&self, facts: &[Known<'a>], probes: Probes) -> Found<'a> {
        if let Some((absent, known)) = facts.iter().find_map(|known| Some((known.fact.value.as_ref().err()?, known))) {
            return Found { shown: Err(NotFound::Absent(absent.clone())), records: vec![known.kept] };
        }
        match seen::why_absent(self.latest, |probe| probe.starts_with(probes)) {
            Some((absent, kept)) => Found { shown: Err(NotFound::Absent(absent.clone())), records: vec![kept] },
            None => Found { shown: Err(NotFound::NeverAsked), records: Vec::new() },
        }
    }

    fn row(
        &self,
        field: &'static str,
        promised: Option<Shown>,
        found: Found<'a>,
        agrees: impl FnOnce() -> bool,
    ) -> PromiseRow {
        let agreement = match (&promised, &found.shown) {
            (None, _) => Agreement::NotStated,
            (Some(_), Err(_)) => Agreement::NotFound,
            (Some(_), Ok(_)) if agrees() => Agreement::Match,
            (Some(_), Ok(_)) => Agreement::Mismatch,
        };
        let newest = found.records.first();
        PromiseRow {
            field,
            promised,
            found: found.shown,
            agreement,
            note: None,
            evidence: ids(&found.records),
            kind: newest.map(|kept| kept.record.kind),
            taken_at: newest.map(|kept| kept.record.taken_at),
            host: self.host.cloned(),
        }
    }
}

fn ids(records: &[&Kept]) -> Vec<EvidenceId> {
    let mut ids: Vec<EvidenceId> = records.iter().map(|kept| kept.id.clone()).collect();
    ids.dedup();
    ids
}

fn of_host<'a>(promised: &Promised, latest: &'a [&'a Kept], host: Option<&'a HostId>) -> Vec<PromiseRow> {
    let look = Look { latest, host };
    vec![
        gpu_count(promised, &look),
        gpu_model(promised, &look),
        gpu_memory(promised, &look),
        version("driver", promised.driver.as_deref(), &keys::DRIVER_VERSION, &look),
        version("cuda", promised.cuda.as_deref(), &keys::CUDA_VERSION, &look),
        vcpu(promised, &look),
        ram(promised, &look),
        disk(promised, &look),
        disk_kind(promised, &look),
        network(promised, &look),
        os_image(promised, &look),
        address("ipv4", promised.ipv4, &look),
        address("ipv6", promised.ipv6, &look),
        boundary(promised, &look),
        look.row(
            "region",
            promised.region.clone().map(Shown::Text),
            Found { shown: Err(NotFound::NotVisible), records: Vec::new() },
            || false,
        ),
    ]
}

fn numbers<'a>(facts: &[Known<'a>]) -> Vec<(f64, &'a Kept)> {
    facts
        .iter()
        .filter_map(|known| Some((known.fact.value.as_ref().ok()?.as_f64()?, known.kept)))
        .filter(|(number, _)| number.is_finite())
        .collect()
}

fn texts<'a>(facts: &[Known<'a>]) -> Vec<(&'a str, &'a Kept)> {
    facts
        .iter()
        .filter_map(|known| match &known.fact.value {
            Ok(Value::Text(text)) => Some((text.as_str(), known.kept)),
            _ => None,
        })
        .collect()
}

fn records<'a, T>(values: &[(T, &'a Kept)]) -> Vec<&'a Kept> {
    values.first().map(|(_, kept)| *kept).into_iter().collect()
}

fn gpu_count(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let named = seen::facts(look.latest, &keys::NAME, is_gpu);
    let no_device = seen::why_absent(look.latest, |_| true).filter(|(absent, _)| absent.kind == AbsentKind::NoDevices);
    let (count, found) = match (named.first(), no_device) {
        (Some(known), _) => (named.len(), Found::value(named.len().to_string(), vec![known.kept])),
        (None, Some((_, kept))) => (0, Found::value("0", vec![kept])),
        (None, None) => (0, look.nothing(&[], GPU)),
    };
    look.row("gpu_count", promised.gpu_count.map(|n| Shown::Text(n.to_string())), found, || {
        promised.gpu_count.and_then(|n| usize::try_from(n).ok()) == Some(count)
    })
}

fn gpu_model(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let facts = seen::facts(look.latest, &keys::NAME, is_gpu);
    let found_names = texts(&facts);
    let mut distinct: Vec<&str> = found_names.iter().map(|(name, _)| *name).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let found = if distinct.is_empty() {
        look.nothing(&facts, GPU)
    } else {
        Found::value(distinct.join(", "), records(&found_names))
    };
    look.row("gpu_model", promised.gpu_model.clone().map(Shown::Text), found, || {
        promised.gpu_model.as_deref().is_some_and(|model| distinct.iter().all(|found| names::is_same_gpu(model, found)))
    })
}

/// The smallest GPU counts: one small card in a set of eight is what the model must fit on.
fn gpu_memory(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let facts = seen::facts(look.latest, &keys::MEMORY_TOTAL, is_gpu);
    let sizes = numbers(&facts);
    let smallest = sizes.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    let found = match smallest {
        Some((mib, kept)) => Found::value(format::bytes_binary(mib * MIB), vec![*kept]),
        None => look.nothing(&facts, GPU),
    };
    let mut row = look.row(
        "gpu_memory",
        promised.gpu_memory.map(|size| Shown::Text(size.to_string())),
        found,
        || matches!((promised.gpu_memory, smallest), (Some(size), Some((mib, _))) if is_gpu_memory(size, mib * MIB)),
    );
    row.note = Some("note_gpu_memory");
    row
}

/// The least a card may hold that is sold as this size, bytes.
///
/// What is sold as "80 GB" holds 80 GiB less what the driver and in-band ECC keep, at most 1/16. So a decimal size is
/// the least itself, less rounding, and of a binary one 1/16 may be missing.
#[must_use]
pub fn lowest_gpu_memory(stated: StatedSize) -> f64 {
    stated.bytes()
        * match stated.unit {
            SizeUnit::GB => 0.98,
            SizeUnit::GiB => 0.93,
        }
}

/// Whether a card with this framebuffer is sold as this size. A card that holds over a tenth more is another card.
fn is_gpu_memory(stated: StatedSize, found_bytes: f64) -> bool {
    (lowest_gpu_memory(stated)..=1.10 * stated.bytes()).contains(&found_bytes)
}

fn version(
    field: &'static str,
    promised: Option<&str>,
    key: &crate::domain::facts::Key,
    look: &Look<'_>,
) -> PromiseRow {
    let facts = seen::facts(look.latest, key, is_host);
    let values = texts(&facts);
    let found = match values.first() {
        Some((version, kept)) => Found::value(*version, vec![*kept]),
        None => look.nothing(&facts, GPU),
    };
    look.row(field, promised.map(|version| Shown::Text(version.to_owned())), found, || {
        matches!((promised, values.first()), (Some(promised), Some((found, _))) if names::is_version(promised, found))
    })
}

fn vcpu(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let facts = seen::facts(look.latest, &keys::CPUS, |device| is_host(device) || device.0 == "cpu");
    let values = numbers(&facts);
    let found = match values.first() {
        Some((cpus, kept)) => Found::value(format::fixed(*cpus, 0), vec![*kept]),
        None => look.nothing(&facts, CPU),
    };
    look.row(
        "vcpu",
        promised.vcpu.map(|n| Shown::Text(n.to_string())),
        found,
        || matches!((promised.vcpu, values.first()), (Some(n), Some((cpus, _))) if *cpus >= f64::from(n)),
    )
}

/// Host memory: the kernel keeps a few per cent of what is installed.
fn ram(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let facts = seen::facts(look.latest, &keys::MEMORY_TOTAL, is_host);
    let values = numbers(&facts);
    let found = match values.first() {
        Some((mib, kept)) => Found::value(format::bytes_binary(mib * MIB), vec![*kept]),
        None => look.nothing(&facts, MEMORY),
    };
    let mut row = look.row(
        "ram",
        promised.ram.map(|size| Shown::Text(size.to_string())),
        found,
        || matches!((promised.ram, values.first()), (Some(size), Some((mib, _))) if mib * MIB >= 0.93 * size.bytes()),
    );
    row.note = Some("note_ram");
    row
}

/// All disks together, or the largest file system where no disk shows its size.
fn disk(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let disks = numbers(&seen::facts(look.latest, &keys::SIZE, |device| device.0.starts_with("disk:")));
    let facts = seen::facts(look.latest, &keys::SIZE, |device| device.0.starts_with("fs:"));
    let size = if disks.is_empty() {
        numbers(&facts).into_iter().max_by(|a, b| a.0.total_cmp(&b.0))
    } else {
        disks.first().map(|(_, kept)| (disks.iter().map(|(size, _)| size).sum(), *kept))
    };
    let found = match size {
        Some((bytes, kept)) => Found::value(format::bytes_measured(bytes), vec![kept]),
        None => look.nothing(&facts, DISKS),
    };
    let mut row = look.row(
        "disk",
        promised.disk.map(|size| Shown::Text(size.to_string())),
        found,
        || matches!((promised.disk, size), (Some(stated), Some((bytes, _))) if bytes >= 0.93 * stated.bytes()),
    );
    row.note = Some("note_disk");
    row
}

fn disk_kind(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let facts = seen::facts(look.latest, &keys::DISK_KIND, |device| device.0.starts_with("disk:"));
    let kinds = texts(&facts);
    let mut distinct: Vec<&str> = kinds.iter().map(|(kind, _)| *kind).collect();
    distinct.sort_unstable();
    distinct.dedup();
    // A virtual disk hides what it is made of.
    distinct.retain(|kind| *kind != "virtual");
    let found = match (distinct.is_empty(), kinds.first()) {
        (false, _) => Found::value(distinct.join(", "), records(&kinds)),
        (true, Some((_, kept))) => Found { shown: Err(NotFound::NotVisible), records: vec![*kept] },
        (true, None) => look.nothing(&facts, DISKS),
    };
    look.row("disk_kind", promised.disk_kind.clone().map(Shown::Text), found, || {
        promised.disk_kind.as_deref().is_some_and(|kind| distinct.iter().any(|found| names::has_word(kind, found)))
    })
}

/// The fastest link; a virtual card often does not say.
fn network(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let facts = seen::facts(look.latest, &keys::SPEED, |device| device.0.starts_with("nic:"));
    let fastest = numbers(&facts).into_iter().filter(|(mbit, _)| *mbit > 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
    let found = match fastest {
        Some((mbit, kept)) => Found::value(format!("{} Gbit/s", short(mbit / 1e3)), vec![kept]),
        None => look.nothing(&facts, NETWORK),
    };
    let stated = promised.network_gbit.map(|gbit| Shown::Text(format!("{} Gbit/s", short(gbit))));
    look.row(
        "network",
        stated,
        found,
        || matches!((promised.network_gbit, fastest), (Some(gbit), Some((mbit, _))) if mbit >= gbit * 1e3),
    )
}

fn os_image(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let facts = seen::facts(look.latest, &keys::OS, is_host);
    let values = texts(&facts);
    let found = match values.first() {
        Some((os, kept)) => Found::value(*os, vec![*kept]),
        None => look.nothing(&facts, OS),
    };
    look.row("os_image", promised.os_image.clone().map(Shown::Text), found, || {
        matches!((promised.os_image.as_deref(), values.first()), (Some(image), Some((os, _))) if names::is_same_os(image, os))
    })
}

/// Whether an interface carries a public address. Where it does not, a public IPv4 may still stand on a gateway before
/// the host, so nothing can be said; nobody translates IPv6 that way.
fn address(field: &'static str, promised: Option<bool>, look: &Look<'_>) -> PromiseRow {
    let key = if field == "ipv4" { keys::IPV4 } else { keys::IPV6 };
    let facts = seen::facts(look.latest, &key, |device| device.0.starts_with("nic:"));
    let values = texts(&facts);
    let public = values.iter().find(|(list, _)| list.split(',').any(names::is_public_address));
    // Some answers do not speak of a protocol at all; "no address" is what an answer says that does.
    let says_none =
        |known: &&Known<'_>| matches!(&known.fact.value, Err(absent) if absent.detail.starts_with("no address"));
    let asked = values.first().map(|(_, kept)| *kept).or_else(|| facts.iter().find(says_none).map(|known| known.kept));
    let found = match (public, asked) {
        (Some((_, kept)), _) => Found::word("public_address", vec![*kept]),
        (None, Some(kept)) if field == "ipv4" => Found { shown: Err(NotFound::NotVisible), records: vec![kept] },
        (None, Some(kept)) => Found::word("no_public_address", vec![kept]),
        (None, None) => look.nothing(&facts, NETWORK),
    };
    let stated = promised.map(|yes| Shown::Word(if yes { "yes" } else { "no" }));
    let mut row = look.row(field, stated, found, || promised == Some(public.is_some()));
    row.note = (field == "ipv4").then_some("note_ipv4");
    row
}

/// A dedicated machine shows no hypervisor. That a virtual one does is not checked: a provider may give more.
fn boundary(promised: &Promised, look: &Look<'_>) -> PromiseRow {
    let facts = seen::facts(look.latest, &keys::HYPERVISOR, is_host);
    let values = texts(&facts);
    // The tool that names a hypervisor is the one that names the architecture; it leaves the line out where none is.
    let asked = || {
        look.latest.iter().copied().find(|kept| {
            seen::probe_id(&kept.record) == Some(CPU)
                && kept.record.facts.iter().any(|fact| fact.key == keys::ARCHITECTURE && fact.value.is_ok())
        })
    };
    let found = match values.first() {
        Some((hypervisor, kept)) => Found::value(*hypervisor, vec![*kept]),
        None => match asked() {
            Some(kept) => Found::word("no_hypervisor", vec![kept]),
            None => look.nothing(&facts, CPU),
        },
    };
    let stated = promised.boundary.map(|boundary| Shown::Word(boundary.key()));
    look.row("boundary", stated, found, || promised.boundary != Some(Boundary::Dedicated) || values.is_empty())
}

fn short(number: f64) -> String {
    let shown = format::fixed(number, 1);
    shown.strip_suffix(".0").map_or(shown.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture::{answer, candidate, host, kept_as, unread};

    fn promised() -> Promised {
        let gib = |number| Some(StatedSize { number, unit: SizeUnit::GiB });
        let gb = |number| Some(StatedSize { number, unit: SizeUnit::GB });
        Promised {
            boundary: Some(Boundary::Dedicated),
            gpu_model: Some("L40S".into()),
            gpu_count: Some(2),
            gpu_memory: gb(48.0),
            driver: Some("550".into()),
            cuda: Some("12.4".into()),
            vcpu: Some(32),
            ram: gib(128.0),
            disk: gb(2_000.0),
            disk_kind: Some("NVMe".into()),
            network_gbit: Some(10.0),
            os_image: Some("Ubuntu 22.04".into()),
            ipv4: Some(true),
            ipv6: Some(false),
            region: Some("EU".into()),
        }
    }

    const GPUS: [&str; 6] = [
        "gpu:0 name NVIDIA L40S",
        "gpu:1 name NVIDIA L40S",
        "gpu:0 memory_total 46068",
        "gpu:1 memory_total 46068",
        "host driver_version 550.54.15",
        "host cuda_version 12.4",
    ];
    fn system(cpu: &[&str], memory: &str, disk: [&str; 2], nic: [&str; 3], os: &str) -> Vec<Kept> {
        vec![
            answer("cpu", "cpu", 1, cpu),
            answer("memory", "memory", 1, &[memory]),
            answer("disks", "disks", 1, &disk),
            answer("network", "network", 1, &nic),
            answer("os", "os", 1, &[os]),
        ]
    }

    fn found(promised: Promised, records: Vec<Kept>) -> Vec<(&'static str, Agreement, String)> {
        let mut candidate = candidate("c1", Vec::new(), None);
        candidate.promised = promised;
        let rows = rows(&candidate, &[host(records)], Reading::Best);
        rows.into_iter()
            .map(|row| {
                let found = match row.found {
                    Ok(Shown::Text(shown)) => shown,
                    Ok(Shown::Word(word)) => word.to_owned(),
                    Err(why) => format!("{why:?}"),
                };
                (row.field, row.agreement, found)
            })
            .collect()
    }

    #[test]
    fn everything_as_promised_but_what_cannot_be_seen() {
        let mut records = system(
            &["cpu cpus 32", "host architecture x86_64"],
            "host memory_total 128000",
            ["disk:nvme0n1 size 1920000000000", "disk:nvme0n1 disk_kind NVMe"],
            ["nic:eth0 speed 25000", "nic:eth0 ipv4 203.0.113.7/24", "nic:eth0 ipv6 !no address of global scope"],
            "host os Ubuntu 22.04.4 LTS",
        );
        records.push(answer("e1", "gpu_detail", 1, &GPUS));
        let got = found(promised(), records);
        let want = [
            ("region", Agreement::NotFound, "NotVisible"),
            ("gpu_count", Agreement::Match, "2"),
            ("gpu_model", Agreement::Match, "NVIDIA L40S"),
            ("gpu_memory", Agreement::Match, "45.0 GiB"),
            ("driver", Agreement::Match, "550.54.15"),
            ("cuda", Agreement::Match, "12.4"),
            ("vcpu", Agreement::Match, "32"),
            ("ram", Agreement::Match, "125.0 GiB"),
            ("disk", Agreement::Match, "1.92 TB"),
            ("disk_kind", Agreement::Match, "NVMe"),
            ("network", Agreement::Match, "25 Gbit/s"),
            ("os_image", Agreement::Match, "Ubuntu 22.04.4 LTS"),
            ("ipv4", Agreement::Match, "public_address"),
            ("ipv6", Agreement::Match, "no_public_address"),
            ("boundary", Agreement::Match, "no_hypervisor"),
        ];
        assert_eq!(got, want.map(|(field, agreement, found)| (field, agreement, found.to_owned())));
    }

    #[test]
    fn fields_stand_in_the_order_of_an_offer() {
        let fields: Vec<&str> = of_host(&promised(), &[], None).iter().map(|row| row.field).collect();
        assert_eq!(fields, FIELDS);
    }

    #[test]
    fn mismatches_come_first() {
        let gpus = [
            "gpu:0 name NVIDIA L40",
            "gpu:0 memory_total 23034",
            "host driver_version 535.1",
            "host cuda_version 12.2",
        ];
        let mut records = system(
            &["cpu cpus 16", "host architecture x86_64", "host hypervisor KVM"],
            "host memory_total 64000",
            ["disk:sda size 500000000000", "disk:sda disk_kind SSD"],
            ["nic:eth0 speed 1000", "nic:eth0 ipv4 10.0.0.4/24", "nic:eth0 ipv6 2001:db8::1/64"],
            "host os Debian GNU/Linux 12 (bookworm)",
        );
        records.push(answer("e1", "gpu_detail", 1, &gpus));
        let got = found(promised(), records);
        let (mismatches, rest) = got.split_at(13);
        assert!(mismatches.iter().all(|(_, agreement, _)| *agreement == Agreement::Mismatch), "{mismatches:?}");
        assert_eq!(
            rest,
            [
                // Behind a translating gateway the host does not see its public IPv4.
                ("ipv4", Agreement::NotFound, "NotVisible".to_owned()),
                ("region", Agreement::NotFound, "NotVisible".to_owned()),
            ]
        );
    }

    #[test]
    fn what_was_not_found_says_why() {
        let no_driver = || unread("e1", "gpu_detail", 1, AbsentKind::NoDriver, "nvidia-smi");
        let no_device = || unread("e1", "gpu_detail", 1, AbsentKind::NoDevices, "nvidia-smi");
        let only = |promised: Promised, records: Vec<Kept>| found(promised, records).remove(0);
        let one = Promised { gpu_count: Some(1), ..Promised::default() };
        let count = |records: Vec<Kept>| {
            found(one.clone(), records).into_iter().find(|(field, ..)| *field == "gpu_count").unwrap()
        };
        assert_eq!(count(vec![]).2, "NeverAsked");
        assert!(count(vec![no_driver()]).2.contains("NoDriver"));
        assert_eq!(count(vec![no_device()]), ("gpu_count", Agreement::Mismatch, "0".to_owned()));
        // The newest answer counts, though an older one knew more.
        let older = answer("e0", "gpu_detail", 0, &GPUS);
        assert_eq!(count(vec![older, no_device()]).2, "0");
        let kind = Promised { disk_kind: Some("NVMe".into()), ..Promised::default() };
        let disk = found(kind, vec![answer("e1", "disks", 1, &["disk:vda disk_kind virtual"])]);
        assert!(disk.contains(&("disk_kind", Agreement::NotFound, "NotVisible".to_owned())), "{disk:?}");
        let ipv6 = Promised { ipv6: Some(false), ..Promised::default() };
        let silent = found(ipv6, vec![answer("e1", "network", 1, &["nic:eth0 ipv6 !not in the output"])]);
        assert!(silent.iter().any(|(field, agreement, _)| (*field, *agreement) == ("ipv6", Agreement::NotFound)));
        // What the offer does not say is a question, whatever was found.
        let unstated = only(Promised::default(), vec![answer("e1", "gpu_detail", 1, &GPUS)]);
        assert_eq!(unstated, ("gpu_count", Agreement::NotStated, "2".to_owned()));
    }

    #[test]
    fn replayed_answers_give_way_to_real_ones() {
        let mut candidate = candidate("c1", Vec::new(), None);
        candidate.promised.gpu_count = Some(2);
        let replay = || kept_as(answer("replay", "gpu_list", 9, &GPUS), Kind::Replay);
        let real = || answer("real", "gpu_list", 1, &["gpu:0 name NVIDIA L40S"]);
        for (name, records, reading, want) in [
            ("replay alone", vec![replay()], Reading::Best, Some(Kind::Replay)),
            ("replay proves nothing", vec![replay()], Reading::RealOnly, None),
            ("real though older", vec![replay(), real()], Reading::Best, Some(Kind::Real)),
        ] {
            let rows = rows(&candidate, &[host(records)], reading);
            let row = rows.iter().find(|row| row.field == "gpu_count").unwrap();
            assert_eq!(row.kind, want, "{name}");
        }
    }

    #[test]
    fn card_sizes_as_they_are_sold() {
        // Framebuffers as the driver reports them, MiB.
        for (name, mib, number, unit, want) in [
            ("H100 80GB", 81_559.0, 80.0, SizeUnit::GB, true),
            ("A100 80GB", 81_920.0, 80.0, SizeUnit::GB, true),
            ("H200", 143_771.0, 141.0, SizeUnit::GB, true),
            ("L40S with ECC", 46_068.0, 48.0, SizeUnit::GB, true),
            ("L40S in GiB", 46_068.0, 48.0, SizeUnit::GiB, true),
            ("T4", 15_360.0, 16.0, SizeUnit::GB, true),
            ("RTX 4090", 24_564.0, 24.0, SizeUnit::GB, true),
            ("half a card", 40_960.0, 80.0, SizeUnit::GB, false),
            ("another card", 81_559.0, 40.0, SizeUnit::GB, false),
        ] {
            assert_eq!(is_gpu_memory(StatedSize { number, unit }, mib * MIB), want, "{name}");
        }
    }
}
