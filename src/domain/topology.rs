//! How the GPUs and network cards of a host are connected, made from the facts of an answer, to be drawn or listed.

use std::collections::BTreeMap;

use super::facts::{Device, Fact, Value, keys};

/// The parts of a host and what connects them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topology {
    /// GPUs by the driver's index, then network cards, in the order of the answer.
    pub parts: Vec<Part>,
    /// Groups of GPUs that are near the same CPUs, in the order of their first GPU.
    pub groups: Vec<Group>,
    links: BTreeMap<(usize, usize), String>,
}

/// A GPU or a network card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The driver's index of a GPU; `None` for a card.
    pub gpu: Option<u32>,
    /// The name of a card ("mlx5_0"); for a GPU "GPU 0".
    pub name: String,
}

/// GPUs near the same CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// NUMA node, as the tool names it; `None` when it does not.
    pub numa: Option<String>,
    /// CPUs, as a list; `None` when the tool does not name them.
    pub cpus: Option<String>,
    /// Indices into [`Topology::parts`].
    pub gpus: Vec<usize>,
}

/// Where a network card hangs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Near this GPU (an index into [`Topology::parts`]), through PCIe switches or one host bridge, in the tool's word.
    Gpu(usize, String),
    /// In the NUMA node of this group (an index into [`Topology::groups`]).
    Group(usize),
    /// Behind the link between sockets for every GPU, or nothing is known.
    Elsewhere,
}

impl Topology {
    /// The connections that an answer names; `None` when it names no GPU.
    #[must_use]
    pub fn of(facts: &[Fact]) -> Option<Self> {
        let mut gpus: BTreeMap<u32, Device> = BTreeMap::new();
        let mut cards: Vec<Device> = Vec::new();
        let mut named: Vec<(Device, Device, String)> = Vec::new();
        let mut note = |device: &Device| match device.gpu_idx() {
            Some(gpu_idx) => {
                gpus.insert(gpu_idx, device.clone());
            }
            None if device.0.starts_with("nic:") && !cards.contains(device) => cards.push(device.clone()),
            None => {}
        };
        for fact in facts {
            if let (Some((a, b)), Ok(Value::Text(word))) = (ends(&fact.device), &fact.value)
                && fact.key == keys::CONNECTION
            {
                note(&a);
                note(&b);
                named.push((a, b, word.clone()));
            } else if fact.key == keys::CPU_AFFINITY || fact.key == keys::NUMA_AFFINITY {
                note(&fact.device);
            }
        }
        if gpus.is_empty() {
            return None;
        }
        let order: Vec<Device> = gpus.into_values().chain(cards).collect();
        let place: BTreeMap<&Device, usize> = order.iter().enumerate().map(|(idx, device)| (device, idx)).collect();
        let mut links = BTreeMap::new();
        for (a, b, word) in named {
            if let (Some(a), Some(b)) = (place.get(&a), place.get(&b)) {
                links.insert((*a.min(b), *a.max(b)), word);
            }
        }
        let parts = order
            .iter()
            .map(|device| Part {
                gpu: device.gpu_idx(),
                name: device.gpu_idx().map_or_else(
                    || device.0.strip_prefix("nic:").unwrap_or(&device.0).to_owned(),
                    |gpu_idx| format!("GPU {gpu_idx}"),
                ),
            })
            .collect();
        let groups = groups(&order, facts);
        Some(Self { parts, groups, links })
    }

    /// Indices of the GPUs.
    pub fn gpus(&self) -> impl Iterator<Item = usize> {
        (0..self.parts.len()).filter(|idx| self.parts.get(*idx).is_some_and(|part| part.gpu.is_some()))
    }

    /// Indices of the network cards.
    pub fn cards(&self) -> impl Iterator<Item = usize> {
        (0..self.parts.len()).filter(|idx| self.parts.get(*idx).is_some_and(|part| part.gpu.is_none()))
    }

    /// How two parts are connected, in the tool's word ("NV18", "PIX").
    #[must_use]
    pub fn connection(&self, a: usize, b: usize) -> Option<&str> {
        self.links.get(&(a.min(b), a.max(b))).map(String::as_str)
    }

    /// How often each connection stands between two GPUs, nearest first; pairs that the answer leaves out are not counted.
    #[must_use]
    pub fn pairs(&self) -> Vec<(String, usize)> {
        let n_gpus = self.gpus().count();
        let mut count: BTreeMap<(u8, &str), usize> = BTreeMap::new();
        for ((_, b), word) in &self.links {
            if *b < n_gpus {
                *count.entry((distance(word), word)).or_default() += 1;
            }
        }
        count.into_iter().map(|((_, word), n)| (word.to_owned(), n)).collect()
    }

    /// The words of NVLink when every pair of at least two GPUs has it ("NV18", or "NV1, NV2").
    #[must_use]
    pub fn all_nvlink(&self) -> Option<String> {
        let n = self.gpus().count();
        let pairs = self.pairs();
        let counted: usize = pairs.iter().map(|(_, n)| n).sum();
        let all = n >= 2 && counted == n * (n - 1) / 2 && pairs.iter().all(|(word, _)| is_nvlink(word));
        all.then(|| pairs.into_iter().map(|(word, _)| word).collect::<Vec<_>>().join(", "))
    }

    /// Where each card hangs, in the order of [`Topology::cards`]. Cards that are as near to several GPUs are spread.
    #[must_use]
    pub fn places(&self) -> Vec<(usize, Place)> {
        let mut load: BTreeMap<usize, usize> = BTreeMap::new();
        self.cards()
            .map(|card| {
                let nearest = self
                    .gpus()
                    .filter_map(|gpu| self.connection(gpu, card).map(|word| (gpu, word)))
                    .min_by_key(|(gpu, word)| (distance(word), load.get(gpu).copied().unwrap_or(0), *gpu));
                let place = match nearest {
                    Some((gpu, word)) if distance(word) <= distance("PHB") => {
                        *load.entry(gpu).or_default() += 1;
                        Place::Gpu(gpu, word.to_owned())
                    }
                    Some((gpu, "NODE")) => self
                        .groups
                        .iter()
                        .position(|group| group.gpus.contains(&gpu))
                        .map_or(Place::Elsewhere, Place::Group),
                    _ => Place::Elsewhere,
                };
                (card, place)
            })
            .collect()
    }
}

/// Whether a connection is NVLink ("NV18").
#[must_use]
pub fn is_nvlink(word: &str) -> bool {
    word.strip_prefix("NV").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// How far apart two parts are, nearest first: NVLink, one PCIe switch, several, a host bridge, a NUMA node, sockets.
fn distance(word: &str) -> u8 {
    match word {
        nvlink if is_nvlink(nvlink) => 0,
        "PIX" => 1,
        "PXB" => 2,
        "PHB" => 3,
        "NODE" => 4,
        "SYS" | "SOC" => 5,
        _ => 6,
    }
}

/// GPUs that a finding names: "GPU 0, 5: retired pages: 65".
#[must_use]
pub fn gpus_named(text: &str) -> Vec<u32> {
    let Some(list) = text.strip_prefix("GPU ") else { return Vec::new() };
    let end = list.find(|c: char| !(c.is_ascii_digit() || c == ',' || c == ' ')).unwrap_or(list.len());
    // What follows the digits tells an index ("GPU 5: …", "GPU 3 has …") from a bus id ("GPU 0000:02:00.0").
    if list.get(end..).is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(": ")) {
        return Vec::new();
    }
    list.get(..end).unwrap_or_default().split(',').filter_map(|idx| idx.trim().parse().ok()).collect()
}

/// The two ends of a link ("link:gpu:0-nic:mlx5_0").
fn ends(device: &Device) -> Option<(Device, Device)> {
    let rest = device.0.strip_prefix("link:")?;
    let at = [rest.find("-gpu:"), rest.find("-nic:")].into_iter().flatten().min()?;
    let (a, b) = rest.split_at(at);
    Some((Device(a.to_owned()), Device(b.strip_prefix('-')?.to_owned())))
}

fn groups(order: &[Device], facts: &[Fact]) -> Vec<Group> {
    let text = |device: &Device, key| {
        facts.iter().find(|fact| fact.device == *device && fact.key == key).and_then(|fact| match &fact.value {
            Ok(value) => Some(value.to_string()),
            Err(_) => None,
        })
    };
    let mut groups: Vec<Group> = Vec::new();
    for (idx, device) in order.iter().enumerate().filter(|(_, device)| device.gpu_idx().is_some()) {
        let (numa, cpus) = (text(device, keys::NUMA_AFFINITY), text(device, keys::CPU_AFFINITY));
        match groups.iter_mut().find(|group| group.numa == numa && group.cpus == cpus) {
            Some(group) => group.gpus.push(idx),
            None => groups.push(Group { numa, cpus, gpus: vec![idx] }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::fixture::answer;
    use super::*;

    fn topology(facts: &[&str]) -> Topology {
        Topology::of(&answer("e1", "topology", 1, facts).record.facts).unwrap()
    }

    const SWITCHED: [&str; 15] = [
        "link:gpu:0-gpu:1 connection NV18",
        "link:gpu:0-gpu:2 connection NV18",
        "link:gpu:1-gpu:2 connection NV18",
        "link:gpu:0-nic:mlx5_0 connection PXB",
        "link:gpu:1-nic:mlx5_0 connection NODE",
        "link:gpu:2-nic:mlx5_0 connection SYS",
        "link:gpu:0-nic:mlx5_1 connection NODE",
        "link:gpu:1-nic:mlx5_1 connection NODE",
        "link:gpu:2-nic:mlx5_1 connection SYS",
        "link:gpu:2-nic:eth-0 connection SYS",
        "gpu:0 numa_affinity 0",
        "gpu:1 numa_affinity 0",
        "gpu:2 numa_affinity 1",
        "gpu:2 cpu_affinity 56-111",
        "nic:NIC0 nic_name mlx5_0",
    ];

    #[test]
    fn parts_groups_and_places_come_from_the_links() {
        let topology = topology(&SWITCHED);
        let names: Vec<&str> = topology.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["GPU 0", "GPU 1", "GPU 2", "mlx5_0", "mlx5_1", "eth-0"]);
        let groups: Vec<(Option<&str>, &[usize])> =
            topology.groups.iter().map(|group| (group.numa.as_deref(), group.gpus.as_slice())).collect();
        assert_eq!(groups, [(Some("0"), &[0, 1][..]), (Some("1"), &[2])]);
        assert_eq!(topology.all_nvlink().as_deref(), Some("NV18"));
        assert_eq!(topology.places(), [(3, Place::Gpu(0, "PXB".into())), (4, Place::Group(0)), (5, Place::Elsewhere)]);
        assert_eq!(topology.connection(3, 0), Some("PXB"));
        assert_eq!(topology.connection(1, 5), None);
    }

    #[test]
    fn cards_that_share_a_switch_are_spread_over_its_gpus() {
        let shared = topology(&[
            "link:gpu:0-gpu:1 connection PIX",
            "link:gpu:0-nic:a connection PIX",
            "link:gpu:1-nic:a connection PIX",
            "link:gpu:0-nic:b connection PIX",
            "link:gpu:1-nic:b connection PIX",
        ]);
        assert_eq!(shared.places(), [(2, Place::Gpu(0, "PIX".into())), (3, Place::Gpu(1, "PIX".into()))]);
        assert_eq!(shared.all_nvlink(), None);
        assert_eq!(shared.pairs(), [("PIX".to_owned(), 1)]);
    }

    #[test]
    fn a_missing_pair_is_no_proof_of_nvlink_between_all() {
        let cut = topology(&["link:gpu:0-gpu:1 connection NV4", "link:gpu:0-gpu:2 connection NV4"]);
        assert_eq!(cut.all_nvlink(), None);
        let alone = topology(&["gpu:0 cpu_affinity 0-7"]);
        assert_eq!((alone.all_nvlink(), alone.parts.len()), (None, 1));
        assert_eq!(Topology::of(&answer("e1", "os", 1, &["host os Debian"]).record.facts), None);
    }

    #[test]
    fn findings_name_gpus_by_index() {
        for (text, want) in [
            ("GPU 0, 5: retired pages: 65", vec![0, 5]),
            ("GPU 3 has uncorrectable memory errors", vec![3]),
            ("GPU 0000:02:00.0 is lost", vec![]),
            ("The heading says 8 GPUs", vec![]),
        ] {
            assert_eq!(gpus_named(text), want, "{text}");
        }
    }
}
