//! One normalised GPU from either long form of `nvidia-smi -q`: which element or label gives which fact.
//!
//! A field has several places, since names moved between driver branches (and inside 570); the first that holds a usable
//! value counts. Nothing is decided by a version.

use super::gpu_health::{self, Flags};
use super::{Parsed, words};
use crate::domain::facts::{Absent, AbsentKind, Device, Key, Severity, Value, keys};
use crate::wire::smi_log::Node;

/// Which long form a tree came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `nvidia-smi -q -x`.
    Xml,
    /// `nvidia-smi -q`.
    Text,
}

impl Form {
    /// The place in this form.
    const fn of<T: Copy>(self, xml: T, text: T) -> T {
        match self {
            Self::Xml => xml,
            Self::Text => text,
        }
    }
}

#[derive(Clone, Copy)]
enum Read {
    Text,
    Int,
    Float,
}

struct Field {
    key: Key,
    read: Read,
    unit: &'static str,
    xml: &'static [&'static str],
    text: &'static [&'static str],
}

const fn field(
    key: Key,
    read: Read,
    unit: &'static str,
    xml: &'static [&'static str],
    text: &'static [&'static str],
) -> Field {
    Field { key, read, unit, xml, text }
}

/// Fields of a GPU, in the order in which they are shown. What needs more than a place is in [`gpu`].
const FIELDS: &[Field] = &[
    field(keys::NAME, Read::Text, "", &["product_name"], &["Product Name"]),
    field(keys::UUID, Read::Text, "", &["uuid"], &["GPU UUID"]),
    field(keys::MEMORY_TOTAL, Read::Int, "MiB", &["fb_memory_usage/total"], &["FB Memory Usage/Total"]),
    field(keys::MEMORY_USED, Read::Int, "MiB", &["fb_memory_usage/used"], &["FB Memory Usage/Used"]),
    field(keys::MEMORY_FREE, Read::Int, "MiB", &["fb_memory_usage/free"], &["FB Memory Usage/Free"]),
    field(keys::MEMORY_RESERVED, Read::Int, "MiB", &["fb_memory_usage/reserved"], &["FB Memory Usage/Reserved"]),
    field(keys::MIG_MODE, Read::Text, "", &["mig_mode/current_mig"], &["MIG Mode/Current"]),
    field(keys::ECC_MODE, Read::Text, "", &["ecc_mode/current_ecc"], &["ECC Mode/Current", "Ecc Mode/Current"]),
    field(keys::PERSISTENCE_MODE, Read::Text, "", &["persistence_mode"], &["Persistence Mode"]),
    field(
        keys::PCIE_GEN,
        Read::Int,
        "",
        &["pci/pci_gpu_link_info/pcie_gen/current_link_gen"],
        &["PCI/GPU Link Info/PCIe Generation/Current"],
    ),
    field(
        keys::PCIE_GEN_MAX,
        Read::Int,
        "",
        &["pci/pci_gpu_link_info/pcie_gen/max_link_gen"],
        &["PCI/GPU Link Info/PCIe Generation/Max"],
    ),
    field(
        keys::PCIE_WIDTH,
        Read::Int,
        "",
        &["pci/pci_gpu_link_info/link_widths/current_link_width"],
        &["PCI/GPU Link Info/Link Width/Current"],
    ),
    field(
        keys::PCIE_WIDTH_MAX,
        Read::Int,
        "",
        &["pci/pci_gpu_link_info/link_widths/max_link_width"],
        &["PCI/GPU Link Info/Link Width/Max"],
    ),
    // The instant value is asked before the average: the average is N/A on some cards and lags under changing load.
    field(
        keys::POWER_DRAW,
        Read::Float,
        "W",
        &[
            "gpu_power_readings/**/power_draw",
            "power_readings/**/power_draw",
            "gpu_power_readings/**/instant_power_draw",
            "gpu_power_readings/**/average_power_draw",
        ],
        &[
            "GPU Power Readings/**/Power Draw",
            "Power Readings/**/Power Draw",
            "GPU Power Readings/**/Instantaneous Power Draw",
            "GPU Power Readings/**/Average Power Draw",
        ],
    ),
    field(
        keys::POWER_LIMIT,
        Read::Float,
        "W",
        &[
            "gpu_power_readings/**/enforced_power_limit",
            "power_readings/**/enforced_power_limit",
            "gpu_power_readings/**/current_power_limit",
            "power_readings/**/power_limit",
        ],
        &[
            "GPU Power Readings/**/Enforced Power Limit",
            "Power Readings/**/Enforced Power Limit",
            "GPU Power Readings/**/Current Power Limit",
            "Power Readings/**/Power Limit",
        ],
    ),
    field(
        keys::POWER_LIMIT_DEFAULT,
        Read::Float,
        "W",
        &["gpu_power_readings/**/default_power_limit", "power_readings/**/default_power_limit"],
        &["GPU Power Readings/**/Default Power Limit", "Power Readings/**/Default Power Limit"],
    ),
    field(keys::TEMPERATURE, Read::Int, "°C", &["temperature/gpu_temp"], &["Temperature/GPU Current Temp"]),
    field(keys::UTILIZATION, Read::Int, "%", &["utilization/gpu_util"], &["Utilization/GPU", "Utilization/Gpu"]),
    field(
        keys::REMAPPED_ROWS_PENDING,
        Read::Text,
        "",
        &["remapped_rows/remapped_row_pending", "remapped_rows"],
        &["Remapped Rows/Pending", "Remapped Rows"],
    ),
    field(
        keys::REMAPPED_ROWS_FAILURE,
        Read::Text,
        "",
        &["remapped_rows/remapped_row_failure", "remapped_rows"],
        &["Remapped Rows/Remapping Failure Occurred", "Remapped Rows"],
    ),
    field(
        keys::REMAPPED_ROWS_UNCORRECTABLE,
        Read::Int,
        "",
        &["remapped_rows/remapped_row_unc", "remapped_rows"],
        &["Remapped Rows/Uncorrectable Error", "Remapped Rows"],
    ),
    field(
        keys::RETIRED_PAGES_PENDING,
        Read::Text,
        "",
        &["retired_pages/pending_retirement", "retired_pages/pending_blacklist"],
        &["Retired Pages/Pending Page Blacklist", "Retired Pages/Pending"],
    ),
    field(
        keys::RETIRED_PAGES_SINGLE_BIT,
        Read::Int,
        "",
        &["retired_pages/multiple_single_bit_retirement/retired_count"],
        &["Retired Pages/Single Bit ECC"],
    ),
    field(
        keys::RETIRED_PAGES_DOUBLE_BIT,
        Read::Int,
        "",
        &["retired_pages/double_bit_retirement/retired_count"],
        &["Retired Pages/Double Bit ECC"],
    ),
    field(keys::PSTATE, Read::Text, "", &["performance_state"], &["Performance State"]),
    field(keys::CLOCK_SM, Read::Int, "MHz", &["clocks/sm_clock"], &["Clocks/SM"]),
    field(keys::CLOCK_SM_MAX, Read::Int, "MHz", &["max_clocks/sm_clock"], &["Max Clocks/SM"]),
    field(keys::VBIOS, Read::Text, "", &["vbios_version"], &["VBIOS Version"]),
    field(
        keys::VIRTUALIZATION,
        Read::Text,
        "",
        &["gpu_virtualization_mode/virtualization_mode"],
        &["GPU Virtualization Mode/Virtualization Mode", "GPU Virtualization Mode/Virtualization mode"],
    ),
];

/// Fields of a MIG device.
const MIG_FIELDS: &[Field] = &[
    field(keys::GPU_INSTANCE, Read::Int, "", &["gpu_instance_id"], &["GPU Instance ID"]),
    field(keys::COMPUTE_INSTANCE, Read::Int, "", &["compute_instance_id"], &["Compute Instance ID"]),
    field(
        keys::MULTIPROCESSORS,
        Read::Int,
        "",
        &["device_attributes/shared/multiprocessor_count"],
        &["Device Attributes/Shared/Multiprocessor count"],
    ),
    field(
        keys::MEMORY_TOTAL,
        Read::Int,
        "MiB",
        &["fb_memory_usage/total"],
        &["Shared FB Memory Usage/Total", "FB Memory Usage/Total"],
    ),
    field(
        keys::MEMORY_USED,
        Read::Int,
        "MiB",
        &["fb_memory_usage/used"],
        &["Shared FB Memory Usage/Used", "FB Memory Usage/Used"],
    ),
    field(
        keys::MEMORY_FREE,
        Read::Int,
        "MiB",
        &["fb_memory_usage/free"],
        &["Shared FB Memory Usage/Free", "FB Memory Usage/Free"],
    ),
    field(
        keys::ECC_UNCORRECTED_VOLATILE,
        Read::Int,
        "",
        &["ecc_error_count/volatile_count/sram_uncorrectable"],
        &["ECC Errors/Volatile/SRAM Uncorrectable"],
    ),
];

/// No machine has more GPUs than this.
const MAX_GPUS: usize = 256;

/// Reads the header and every GPU of a log, and judges them.
pub(super) fn log(root: &Node, form: Form) -> Parsed {
    let mut parsed = Parsed::default();
    let host = Device::host();
    let gpus: Vec<&Node> = root.all(form.of("gpu", "GPU")).collect();
    version(
        &mut parsed,
        root,
        keys::DRIVER_VERSION,
        form.of(["driver_version", "kmd_version"], ["Driver Version", "KMD Version"]),
    );
    version(
        &mut parsed,
        root,
        keys::CUDA_VERSION,
        form.of(["cuda_version", "cuda_umd_version"], ["CUDA Version", "CUDA UMD Version"]),
    );
    let attached = first(root, &[form.of("attached_gpus", "Attached GPUs")], Read::Int);
    parsed.push(&host, keys::GPUS_ATTACHED, attached.clone(), "");
    parsed.count(&host, keys::GPUS_LISTED, gpus.len(), "");
    let mut flags = Flags::default();
    if gpus.len() > MAX_GPUS {
        let what = format!("The answer lists {} GPUs; only the first {MAX_GPUS} are read", gpus.len());
        flags.host(Severity::NotJudged, "output_cut", what);
    }
    for (gpu_idx, node) in (0_u32..).zip(gpus.iter().take(MAX_GPUS)) {
        gpu(&mut parsed, &mut flags, gpu_idx, node, form);
    }
    gpu_health::judge(&mut parsed, &mut flags);
    if let Ok(Value::Int(attached)) = attached
        && usize::try_from(attached).is_ok_and(|attached| attached > gpus.len())
    {
        flags.host(
            Severity::Watch,
            "gpus_hidden",
            format!("The driver counts {attached} GPUs and the answer lists {}", gpus.len()),
        );
    }
    flags.write(&mut parsed);
    parsed
}

/// A version, without what driver 610 adds behind it ("610.57.04 [Deprecated; …]").
fn version(parsed: &mut Parsed, root: &Node, key: Key, places: [&str; 2]) {
    let value = first(root, &places, Read::Text).map(|value| match value {
        Value::Text(text) => Value::Text(text.split(" [").next().unwrap_or_default().trim().to_owned()),
        other => other,
    });
    parsed.push(&Device::host(), key, value, "");
}

/// One GPU with its MIG devices.
fn gpu(parsed: &mut Parsed, flags: &mut Flags, gpu_idx: u32, node: &Node, form: Form) {
    let device = Device::gpu(gpu_idx);
    // `nvidia-smi -q -d SECTION` gives a part only; what it was not asked for is no absence.
    let whole = node.child(form.of("product_name", "Product Name")).is_some();
    let bus = node.id.as_deref().or_else(|| Some(node.at(form.of("pci/pci_bus_id", "PCI/Bus Id"))?.text.as_str()));
    parsed.push(&device, keys::BUS_ID, words::text(bus.unwrap_or_default()), "");
    for field in FIELDS {
        write_field(parsed, &device, node, form, field, whole);
    }
    let special = [
        (keys::THROTTLE_REASONS, reasons(node, form)),
        (keys::ECC_UNCORRECTED_VOLATILE, ecc_uncorrected(node, form)),
        (keys::RECOVERY_ACTION, recovery(node, form)),
        (keys::PROCESSES, processes(node, form)),
    ];
    for (key, value) in special {
        match value {
            Some(value) => parsed.push(&device, key, value, ""),
            None if whole => parsed.absent(&device, key, AbsentKind::NotReported, NOT_THERE),
            None => {}
        }
    }
    let migs = mig_devices(node, form);
    for (position, mig) in (0_u32..).zip(&migs) {
        let idx = mig.child(form.of("index", "Index")).and_then(|index| index.text.parse().ok()).unwrap_or(position);
        for field in MIG_FIELDS {
            write_field(parsed, &device.mig(idx), mig, form, field, true);
        }
    }
    flag_gpu(parsed, flags, gpu_idx, node, form, migs.is_empty());
}

/// What a person should know that no fact carries.
fn flag_gpu(parsed: &Parsed, flags: &mut Flags, gpu_idx: u32, node: &Node, form: Form, no_mig: bool) {
    let mig_on = parsed.get(&Device::gpu(gpu_idx), &keys::MIG_MODE) == Some(&Value::Text("Enabled".into()));
    if mig_on && no_mig {
        flags.gpu(Severity::Configuration, "mig_empty", "MIG mode is on and no MIG device exists", gpu_idx);
    }
    let computing = compute_processes(node, form);
    if computing > 0 {
        flags.gpu(Severity::Watch, "foreign_processes", format!("compute processes run: {computing}"), gpu_idx);
    }
    for (severity, code, xml, text) in [
        (Severity::Reset, "repair_pending", "ecc_errors/channel_repair_pending", "ECC Errors/Channel Repair Pending"),
        (Severity::Reset, "repair_pending", "ecc_errors/tpc_repair_pending", "ECC Errors/TPC Repair Pending"),
        (Severity::Isolate, "unrepairable_memory", "ecc_errors/unrepairable_memory", "ECC Errors/Unrepairable Memory"),
        (
            Severity::Isolate,
            "sram_threshold",
            "ecc_errors/aggregate/sram_threshold_exceeded",
            "ECC Errors/Aggregate/SRAM Threshold Exceeded",
        ),
    ] {
        let place = form.of(xml, text);
        if node.at(place).is_some_and(|node| node.text == "Yes") {
            let label = place.rsplit('/').next().unwrap_or_default().replace('_', " ").to_lowercase();
            flags.gpu(severity, code, format!("{label}: Yes"), gpu_idx);
        }
    }
    let license =
        form.of("vgpu_software_licensed_product/license_status", "vGPU Software Licensed Product/License Status");
    if let Some(license) = node.at(license).filter(|license| license.text.starts_with("Unlicensed")) {
        flags.gpu(Severity::Configuration, "vgpu_unlicensed", format!("vGPU licence: {}", license.text), gpu_idx);
    }
    if let Some(fabric) = node.at(form.of("fabric/state", "Fabric/State"))
        && words::missing(&fabric.text).is_none()
        && !matches!(fabric.text.as_str(), "Completed" | "Not Supported")
    {
        flags.gpu(Severity::Configuration, "fabric_not_ready", format!("fabric state is {}", fabric.text), gpu_idx);
    }
}

const NOT_THERE: &str = "not in the output";

fn write_field(parsed: &mut Parsed, device: &Device, node: &Node, form: Form, field: &Field, whole: bool) {
    let places = form.of(field.xml, field.text);
    if whole || places.iter().any(|place| node.at(place).is_some()) {
        parsed.push(device, field.key.clone(), first(node, places, field.read), field.unit);
    }
}

/// The first usable value of these places; without one, the alarm among them or the first reason why there is none.
fn first(node: &Node, places: &[&str], read: Read) -> Result<Value, Absent> {
    let mut why: Option<Absent> = None;
    for cell in places.iter().filter_map(|place| node.at(place)) {
        let value = match read {
            Read::Text => words::text(&cell.text),
            Read::Int => words::int(&cell.text),
            Read::Float => words::float(&cell.text),
        };
        match value {
            Ok(value) => return Ok(value),
            Err(absent) if why.is_none() || absent.kind == AbsentKind::Alarm => why = Some(absent),
            Err(_) => {}
        }
    }
    Err(why.unwrap_or_else(|| Absent::new(AbsentKind::NotReported, NOT_THERE)))
}

/// What holds the clocks down. The group was renamed from "throttle" to "event" with driver 535.
fn reasons(node: &Node, form: Form) -> Option<Result<Value, Absent>> {
    let groups = form
        .of(["clocks_event_reasons", "clocks_throttle_reasons"], ["Clocks Event Reasons", "Clocks Throttle Reasons"]);
    let group = groups.iter().find_map(|group| node.child(group))?;
    if group.children.is_empty() {
        return Some(words::text(&group.text));
    }
    let mut flat = Vec::new();
    for reason in &group.children {
        flat.push(reason);
        flat.extend(&reason.children); // The text form nests the two hardware reasons under their sum.
    }
    let judged = flat.iter().any(|reason| matches!(reason.text.as_str(), "Active" | "Not Active"));
    if !judged {
        return Some(Err(flat
            .iter()
            .find_map(|reason| words::missing(&reason.text))
            .unwrap_or_else(|| Absent::new(AbsentKind::Unreadable, "no reason is Active or Not Active"))));
    }
    let active = flat.iter().filter(|reason| reason.text == "Active").map(|reason| gpu_health::reason(&reason.name));
    Some(Ok(gpu_health::reasons(active)))
}

/// The sum of uncorrected volatile counters, in whichever layout the generation has: totals of double bit errors to
/// Volta, SRAM and DRAM from Turing on, SRAM split into parity and SEC-DED from driver 550 on.
fn ecc_uncorrected(node: &Node, form: Form) -> Option<Result<Value, Absent>> {
    let volatile = node.at(form.of("ecc_errors/volatile", "ECC Errors/Volatile"))?;
    let counters: Vec<&Node> = match volatile.at(form.of("double_bit/total", "Double Bit/Total")) {
        Some(total) => vec![total],
        None => volatile.children.iter().filter(|child| child.name.to_lowercase().contains("uncorrectable")).collect(),
    };
    let mut sum: Option<i64> = None;
    let mut why = None;
    for counter in counters {
        match words::int(&counter.text) {
            Ok(Value::Int(n)) => sum = Some(sum.unwrap_or(0).saturating_add(n)),
            Ok(_) => {}
            Err(absent) if absent.kind == AbsentKind::Alarm => return Some(Err(absent)),
            Err(absent) => why = why.or(Some(absent)),
        }
    }
    Some(match (sum, why) {
        (Some(sum), _) => Ok(Value::Int(sum)),
        (None, Some(why)) => Err(why),
        (None, None) => Err(Absent::new(AbsentKind::NotReported, NOT_THERE)),
    })
}

/// What the driver asks for: named since 570, two yes-or-no fields before.
fn recovery(node: &Node, form: Form) -> Option<Result<Value, Absent>> {
    if let Some(action) = node.child(form.of("gpu_recovery_action", "GPU Recovery Action")) {
        return Some(words::text(&action.text));
    }
    let status = node.child(form.of("gpu_reset_status", "GPU Reset Status"))?;
    let reset = status.child(form.of("reset_required", "Reset Required"));
    let drain = status.child(form.of("drain_and_reset_recommended", "Drain and Reset Recommended"));
    let says = |node: Option<&Node>, word: &str| node.is_some_and(|node| node.text == word);
    Some(if says(reset, "Yes") {
        Ok(Value::Text("Reset".into()))
    } else if says(drain, "Yes") {
        Ok(Value::Text("Drain and Reset".into()))
    } else if says(reset, "No") {
        Ok(Value::Text("None".into()))
    } else {
        words::text(reset.map_or("", |node| node.text.as_str()))
    })
}

/// Number of processes the driver names.
fn processes(node: &Node, form: Form) -> Option<Result<Value, Absent>> {
    let group = node.child(form.of("processes", "Processes"))?;
    if group.children.is_empty() && !matches!(group.text.as_str(), "" | "None") {
        return Some(words::int(&group.text));
    }
    let n = group.all(form.of("process_info", "Process ID")).count();
    Some(Ok(Value::Int(i64::try_from(n).unwrap_or(i64::MAX))))
}

/// Number of processes that compute (type `C`, `M+C`, `C+G`); a window system's own are `G`.
fn compute_processes(node: &Node, form: Form) -> usize {
    let Some(group) = node.child(form.of("processes", "Processes")) else { return 0 };
    group
        .all(form.of("process_info", "Process ID"))
        .filter(|process| process.child(form.of("type", "Type")).is_some_and(|kind| kind.text.contains('C')))
        .count()
}

fn mig_devices(node: &Node, form: Form) -> Vec<&Node> {
    match form {
        Form::Xml => node.child("mig_devices").map(|group| group.all("mig_device").collect()).unwrap_or_default(),
        Form::Text => node.all("MIG Device").filter(|device| !device.children.is_empty()).collect(),
    }
}
