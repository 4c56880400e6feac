//! Plans that tests of screens start from.

use leasebench::domain::billing::{Category, Component, Per, Rate, Status};
use leasebench::domain::brief::{AcceptRule, Brief, Lengths, Model, Precision, Slo};
use leasebench::domain::candidate::{Boundary, Candidate};
use leasebench::domain::ids::{CandidateId, ComponentId};
use leasebench::domain::terms::Terms;
use leasebench::project::plan::Plan;

/// A whole brief: every field of the gate can be tested.
pub fn full_brief() -> Brief {
    Brief {
        outcome: "Answer support questions in chat, first words within half a second".into(),
        model: Model {
            name: "Qwen2.5-7B-Instruct".into(),
            revision: "a09a354".into(),
            parameters: Some(7_615_616_512),
            layers: Some(28),
            hidden: Some(3584),
            heads: Some(28),
            kv_heads: Some(4),
            head_dim: Some(128),
            vocab: Some(152_064),
        },
        precision: Some(Precision::Bf16),
        context_tokens: Some(8192),
        mean_rate: Some(2.6),
        peak_rate: Some(8.0),
        input_tokens: Lengths { mean: Some(700), p95: Some(2400) },
        output_tokens: Lengths { mean: Some(240), p95: Some(560) },
        slo: Slo { ttft_p95_ms: Some(500.0), itl_p95_ms: Some(50.0), error_share: Some(0.005), ..Slo::default() },
        acceptance: AcceptRule::External("Golden prompts scored ≥ 0.80 by rule set \"support-v3\"".into()),
        golden_prompts: Some(60),
        data_boundary: "Never outside EU regions".into(),
        must_persist: "Chat log, adapters · 500 GB".into(),
        owner: "ML platform team".into(),
        budget_month: Some("1500.00 USD".parse().unwrap()),
        stop_rule: "Ends on 31 March".into(),
        fallback: "Gateway retries elsewhere once, then answers 503".into(),
        ..Brief::default()
    }
}

/// The brief of the design picture: two fields are open.
pub fn open_brief() -> Brief {
    Brief { golden_prompts: Some(12), stop_rule: String::new(), ..full_brief() }
}

/// A plan with this brief.
pub fn with_brief(brief: Brief) -> Plan {
    Plan { name: "Support chat, Q1 rental".into(), brief, ..Plan::default() }
}

fn priced(id: &str, category: Category, label: &str, price: &str, per: Per, when_stopped: Option<bool>) -> Component {
    let rate = Rate { price: price.parse().unwrap(), per, quantity: 1.into() };
    Component {
        id: ComponentId(id.into()),
        category,
        label: label.into(),
        status: Status::Priced(rate),
        when_stopped,
        terms: Terms::default(),
    }
}

fn unpriced(id: &str, category: Category, status: Status, when_stopped: Option<bool>) -> Component {
    Component {
        id: ComponentId(id.into()),
        category,
        label: String::new(),
        status,
        when_stopped,
        terms: Terms::default(),
    }
}

fn offer(id: &str, series: u8, name: &str, short: &str, gpu: (&str, u32, &str)) -> Candidate {
    let mut offer = Candidate::new(CandidateId(id.into()), series, name.into());
    offer.short = short.into();
    offer.promised.gpu_model = Some(gpu.0.into());
    offer.promised.gpu_count = Some(gpu.1);
    offer.promised.gpu_memory = gpu.2.parse().ok();
    offer
}

/// Four offers: A whole, B whole and paid by the month, C and D with gaps.
pub fn four_candidates() -> Vec<Candidate> {
    let mut a = offer("c1", 0, "Candidate A", "1×H100 80GB VM", ("H100 80GB", 1, "80 GB"));
    a.promised.boundary = Some(Boundary::Vm);
    a.promised.vcpu = Some(26);
    a.promised.ram = "200 GB".parse().ok();
    a.promised.disk = "500 GB".parse().ok();
    a.promised.disk_kind = Some("NVMe".into());
    a.promised.network_gbit = Some(10.0);
    a.promised.driver = Some("570.86".into());
    a.promised.cuda = Some("12.8".into());
    a.promised.os_image = Some("Ubuntu 24.04".into());
    a.promised.ipv4 = Some(true);
    a.promised.ipv6 = Some(false);
    a.promised.region = Some("EU".into());
    a.term.months = Some(0);
    a.term.reclaimable = Some(false);
    a.billing = vec![
        priced("b1", Category::Accelerator, "GPU VM", "2.89 USD", Per::Hour, Some(false)),
        priced("b2", Category::Storage, "Boot volume", "60.00 USD", Per::Month, Some(true)),
        unpriced("b3", Category::Network, Status::Included, None),
    ];
    let mut b = a.clone();
    (b.id, b.series) = (CandidateId("c2".into()), 1);
    (b.name, b.short) = ("Candidate B".into(), "2×L40S dedicated".into());
    b.promised.boundary = Some(Boundary::Dedicated);
    b.promised.gpu_model = Some("L40S".into());
    b.promised.gpu_count = Some(2);
    b.promised.gpu_memory = "48 GB".parse().ok();
    b.promised.disk = "2 TB".parse().ok();
    b.term.months = Some(6);
    b.billing = vec![
        priced("b1", Category::Accelerator, "Servers and disk", "1150.00 USD", Per::Month, Some(true)),
        priced("b2", Category::Support, "Support", "60.00 USD", Per::Month, Some(true)),
        priced("b3", Category::OneOff, "Setup", "90.00 USD", Per::Once, None),
        unpriced("b4", Category::Storage, Status::Included, None),
        unpriced("b5", Category::Network, Status::Included, None),
    ];
    let mut c = offer("c3", 2, "Candidate C", "1×RTX 4090 market", ("RTX 4090", 1, "24 GB"));
    c.promised.boundary = Some(Boundary::Container);
    c.promised.vcpu = Some(16);
    c.promised.region = Some("EU, host says".into());
    c.term.months = Some(0);
    c.term.reclaimable = Some(true);
    c.billing = vec![
        priced("b1", Category::Accelerator, "GPU", "0.44 USD", Per::Hour, Some(false)),
        priced("b2", Category::Storage, "Disk", "0.10 USD", Per::GbMonth, Some(true)),
    ];
    let mut d = offer("c4", 3, "Candidate D", "8×H100 80GB node", ("H100 80GB", 8, "80 GB"));
    d.promised.boundary = Some(Boundary::Dedicated);
    d.promised.ram = "2048 GiB".parse().ok();
    d.promised.disk = "30.7 TB".parse().ok();
    d.billing = vec![
        priced("b1", Category::Accelerator, "Node", "19.60 USD", Per::Hour, None),
        unpriced("b2", Category::Snapshot, Status::Unknown, None),
        unpriced("b3", Category::Network, Status::Unknown, Some(false)),
    ];
    vec![a, b, c, d]
}

/// The whole brief with the four offers.
pub fn with_candidates() -> Plan {
    Plan { candidates: four_candidates(), ..with_brief(full_brief()) }
}
