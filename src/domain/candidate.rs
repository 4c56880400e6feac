//! A candidate: one rental offer under comparison, as promised.

use chrono::NaiveDate;
use serde::{Deserialize, Serialize};

use super::billing::Component;
use super::ids::CandidateId;
use super::units::StatedSize;

/// One rental offer. A field that the offer does not state is `None` and becomes a question to the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Its id in this project.
    pub id: CandidateId,
    /// Its place in colours, markers and dashes; kept for ever.
    pub series: u8,
    /// Short name ("Candidate A").
    pub name: String,
    /// One line about it ("1×H100 80GB VM").
    #[serde(default)]
    pub short: String,
    /// What is promised.
    #[serde(default)]
    pub promised: Promised,
    /// What it costs, line by line.
    #[serde(default)]
    pub billing: Vec<Component>,
    /// How long it is rented.
    #[serde(default)]
    pub term: Term,
    /// Where the offer was read.
    #[serde(default)]
    pub source: OfferSource,
}

impl Candidate {
    /// An offer of which nothing is known but its name.
    #[must_use]
    pub fn new(id: CandidateId, series: u8, name: String) -> Self {
        Self {
            id,
            series,
            name,
            short: String::new(),
            promised: Promised::default(),
            billing: Vec::new(),
            term: Term::default(),
            source: OfferSource::default(),
        }
    }
}

/// What the provider promises. Memory is for one GPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Promised {
    /// What is handed over.
    pub boundary: Option<Boundary>,
    /// GPU model as named in the offer.
    pub gpu_model: Option<String>,
    /// GPUs in one unit of the offer.
    pub gpu_count: Option<u32>,
    /// Memory of one GPU, as stated.
    pub gpu_memory: Option<StatedSize>,
    /// NVIDIA driver version.
    pub driver: Option<String>,
    /// CUDA version.
    pub cuda: Option<String>,
    /// Virtual CPUs.
    pub vcpu: Option<u32>,
    /// Host memory, as stated.
    pub ram: Option<StatedSize>,
    /// Disk size, as stated.
    pub disk: Option<StatedSize>,
    /// Disk kind in words ("NVMe").
    pub disk_kind: Option<String>,
    /// Network in Gbit/s.
    pub network_gbit: Option<f64>,
    /// Operating system image.
    pub os_image: Option<String>,
    /// Public IPv4.
    pub ipv4: Option<bool>,
    /// Public IPv6.
    pub ipv6: Option<bool>,
    /// Region in the provider's words.
    pub region: Option<String>,
}

/// What is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Boundary {
    /// Functions or workers that scale to zero.
    Serverless,
    /// A virtual machine.
    Vm,
    /// A container on a shared machine.
    Container,
    /// A whole machine.
    Dedicated,
    /// Several machines with a fabric.
    Cluster,
    /// Tokens through somebody's API.
    ManagedApi,
}

impl Boundary {
    /// Every boundary, in the order a list offers them.
    pub const ALL: [Self; 6] =
        [Self::Serverless, Self::Container, Self::Vm, Self::Dedicated, Self::Cluster, Self::ManagedApi];

    /// Its name for `Text::name`.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Serverless => "boundary_serverless",
            Self::Vm => "boundary_vm",
            Self::Container => "boundary_container",
            Self::Dedicated => "boundary_dedicated",
            Self::Cluster => "boundary_cluster",
            Self::ManagedApi => "boundary_managed_api",
        }
    }
}

/// How long it is rented and how it ends.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Term {
    /// Committed months; `None` when not stated, 0 when it can end at any hour.
    pub months: Option<u32>,
    /// Whether the provider may take it back ("spot").
    pub reclaimable: Option<bool>,
    /// In words.
    pub note: String,
}

/// Where an offer was read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OfferSource {
    /// Who said it ("price page", a person, a quote number).
    pub who: String,
    /// When it was read.
    pub read_on: Option<NaiveDate>,
    /// The offer's own text, as pasted.
    pub text: String,
}
