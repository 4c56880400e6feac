//! Facts: what a raw answer says, as (device, key, value with unit). Scripts compare by these names.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::format;

/// What a fact is about, as a text path: `host`, `gpu:0`, `gpu:0/mig:1`, `nic:mlx5_0`, `disk:nvme0n1`, `fs:/data`,
/// `cpu`, `numa:0`, `link:gpu:0-gpu:1`, `test:memory`, `run:1/rank:0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Device(pub String);

impl Device {
    /// The machine itself.
    #[must_use]
    pub fn host() -> Self {
        Self("host".to_owned())
    }

    /// The processor.
    #[must_use]
    pub fn cpu() -> Self {
        Self("cpu".to_owned())
    }

    /// A GPU by the driver's index.
    #[must_use]
    pub fn gpu(gpu_idx: u32) -> Self {
        Self(format!("gpu:{gpu_idx}"))
    }

    /// A MIG device of this GPU by the driver's index.
    #[must_use]
    pub fn mig(&self, mig_idx: u32) -> Self {
        Self(format!("{}/mig:{mig_idx}", self.0))
    }

    /// A device of another kind: `Device::of("disk", "nvme0n1")`.
    #[must_use]
    pub fn of(kind: &str, name: impl fmt::Display) -> Self {
        Self(format!("{kind}:{name}"))
    }

    /// The connection of two devices.
    #[must_use]
    pub fn link(a: &Self, b: &Self) -> Self {
        Self(format!("link:{}-{}", a.0, b.0))
    }

    /// The index when this is a whole GPU (not a MIG device of it).
    #[must_use]
    pub fn gpu_idx(&self) -> Option<u32> {
        self.0.strip_prefix("gpu:")?.parse().ok()
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a fact, snake case without the unit. [`keys`] lists every name the program writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(pub Cow<'static, str>);

impl Key {
    /// A key of [`keys`].
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One typed value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// Words.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A measured number.
    Float(f64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Int(n) => write!(f, "{n}"),
            Self::Float(x) => write!(f, "{x}"),
        }
    }
}

impl Value {
    /// The value with its unit, as people read it: memory in GiB, disks in GB, measured numbers to three digits.
    #[must_use]
    pub fn shown(&self, unit: &str) -> String {
        let with_unit = |number: String| if unit.is_empty() { number } else { format!("{number} {unit}") };
        match (self, self.as_f64(), unit) {
            (_, Some(mib), "MiB") => format::bytes_binary(mib * 1_048_576.0),
            (_, Some(bytes), "bytes") if bytes >= 1e6 => format::bytes_measured(bytes),
            (Self::Int(n), ..) if !unit.is_empty() => with_unit(format::group_thousands(&n.to_string())),
            (Self::Float(x), ..) if x.is_finite() => {
                let size = x.abs();
                // Three digits that say something, also of an offset far below one.
                let places = (0..6).find(|places| size * 10_f64.powi(*places) >= 100.0).unwrap_or(6);
                let text = format::fixed(*x, usize::try_from(places).unwrap_or(0));
                let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
                with_unit(text.to_owned())
            }
            _ => with_unit(self.to_string()),
        }
    }

    /// The value as a number, when it is one.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "facts of machines are below 2^53")]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Text(_) => None,
            Self::Int(n) => Some(*n as f64),
            Self::Float(x) => Some(*x),
        }
    }
}

/// Why there is no value. `NotReported` is ordinary; `Alarm` says that something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbsentKind {
    /// The tool says that it does not report this here ("N/A", "[Not Supported]", empty).
    NotReported,
    /// The tool says that the device is in trouble ("[GPU requires reset]", "ERR!").
    Alarm,
    /// The tool is not installed.
    ToolMissing,
    /// The driver is not loaded or cannot be talked to.
    NoDriver,
    /// The driver and its library have different versions.
    VersionMismatch,
    /// The driver runs but lists no device.
    NoDevices,
    /// Permission was refused.
    Refused,
    /// The tool is there but does not know the question on this platform or version.
    NotSupported,
    /// A service the tool needs is not running.
    ServiceDown,
    /// The output was cut short, by a limit or in the middle.
    CutShort,
    /// The command ran past its deadline.
    TimedOut,
    /// The command could not be run at all.
    NotRun,
    /// The host was not reached, or did not let us in.
    NoConnection,
    /// There is text, and it is not what the parser knows.
    Unreadable,
}

/// Why there is no value, with the tool's own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Which kind of absence.
    pub kind: AbsentKind,
    /// What it is about: the tool's name, or the tool's own sentence.
    pub detail: String,
}

impl Absent {
    /// An absence of this kind with the tool's name or sentence.
    #[must_use]
    pub fn new(kind: AbsentKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

impl fmt::Display for Absent {
    /// English, stable: scripts read it as the `absent` of `parse --json`. The window shows `Text::absent`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = &self.detail;
        match self.kind {
            AbsentKind::NotReported => write!(f, "not reported: {detail}"),
            AbsentKind::Alarm => write!(f, "alarm: {detail}"),
            AbsentKind::ToolMissing => write!(f, "{detail} is not installed"),
            AbsentKind::NoDriver => write!(f, "the NVIDIA driver cannot be reached: {detail}"),
            AbsentKind::VersionMismatch => f.write_str("the driver and its library have different versions"),
            AbsentKind::NoDevices => f.write_str("the driver runs but lists no device"),
            AbsentKind::Refused => write!(f, "permission was refused: {detail}"),
            AbsentKind::NotSupported => write!(f, "the command is not supported there: {detail}"),
            AbsentKind::ServiceDown => write!(f, "a service it needs is not running: {detail}"),
            AbsentKind::CutShort => write!(f, "the output was cut short: {detail}"),
            AbsentKind::TimedOut => write!(f, "the command ran past its deadline: {detail}"),
            AbsentKind::NotRun => write!(f, "the command could not be run: {detail}"),
            AbsentKind::NoConnection => write!(f, "no connection to the host: {detail}"),
            AbsentKind::Unreadable => write!(f, "the output is not what the parser knows: {detail}"),
        }
    }
}

/// One fact: a value, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is about.
    pub device: Device,
    /// What it says.
    pub key: Key,
    /// The value, or why there is none.
    pub value: Result<Value, Absent>,
    /// Unit of the value ("MiB", "W", "°C", "%", "s"), or empty.
    #[serde(default)]
    pub unit: Cow<'static, str>,
}

/// How much a finding matters, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Take the part out of use.
    Isolate,
    /// A reset or reboot is needed.
    Reset,
    /// A setting is wrong; the part may be fine.
    Configuration,
    /// Worth watching.
    Watch,
    /// Nothing wrong was found where something was looked at.
    Fine,
    /// The tool skipped or could not judge.
    NotJudged,
}

impl Severity {
    /// The word scripts read ("isolate").
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Isolate => "isolate",
            Self::Reset => "reset",
            Self::Configuration => "configuration",
            Self::Watch => "watch",
            Self::Fine => "fine",
            Self::NotJudged => "not_judged",
        }
    }
}

/// Something a person should know about the machine, read from a raw answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Which kind of finding, snake case ("gpu_lost"); advice in both languages hangs on it (`findings` in the text
    /// files).
    pub code: Cow<'static, str>,
    /// What was read, in the tool's words, in English.
    pub text: String,
}

/// Every key the program writes, with its unit and meaning.
pub mod keys {
    use super::Key;

    macro_rules! keys {
        ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
            $($(#[$doc])* pub const $name: Key = Key::new($text);)*
            /// All of them, for tests.
            pub const ALL: &[Key] = &[$($name),*];
        };
    }

    keys! {
        /// Product name of a GPU, MIG profile, disk or CPU model.
        NAME = "name";
        /// NVML UUID.
        UUID = "uuid";
        /// PCI bus id as the driver writes it.
        BUS_ID = "bus_id";
        /// Framebuffer size as the driver counts, MiB.
        MEMORY_TOTAL = "memory_total";
        /// Framebuffer in use, MiB.
        MEMORY_USED = "memory_used";
        /// Framebuffer free, MiB.
        MEMORY_FREE = "memory_free";
        /// Framebuffer kept by the driver, MiB.
        MEMORY_RESERVED = "memory_reserved";
        /// MIG mode now ("Enabled", "Disabled").
        MIG_MODE = "mig_mode";
        /// ECC mode now.
        ECC_MODE = "ecc_mode";
        /// Persistence mode.
        PERSISTENCE_MODE = "persistence_mode";
        /// PCIe generation now.
        PCIE_GEN = "pcie_gen";
        /// PCIe generation at most.
        PCIE_GEN_MAX = "pcie_gen_max";
        /// PCIe lanes now.
        PCIE_WIDTH = "pcie_width";
        /// PCIe lanes at most.
        PCIE_WIDTH_MAX = "pcie_width_max";
        /// Power drawn now, W.
        POWER_DRAW = "power_draw";
        /// Power limit in force, W.
        POWER_LIMIT = "power_limit";
        /// Default power limit, W.
        POWER_LIMIT_DEFAULT = "power_limit_default";
        /// Core temperature, °C.
        TEMPERATURE = "temperature";
        /// Share of time with a kernel running, %.
        UTILIZATION = "utilization";
        /// Reasons that hold the clocks down, comma separated, or "none".
        THROTTLE_REASONS = "throttle_reasons";
        /// Uncorrected ECC errors since the driver loaded.
        ECC_UNCORRECTED_VOLATILE = "ecc_uncorrected_volatile";
        /// Whether rows wait for a reset to be remapped ("Yes", "No").
        REMAPPED_ROWS_PENDING = "remapped_rows_pending";
        /// Whether remapping failed.
        REMAPPED_ROWS_FAILURE = "remapped_rows_failure";
        /// Rows remapped for uncorrectable errors.
        REMAPPED_ROWS_UNCORRECTABLE = "remapped_rows_uncorrectable";
        /// Whether pages wait for retirement.
        RETIRED_PAGES_PENDING = "retired_pages_pending";
        /// Pages retired for repeated corrected errors.
        RETIRED_PAGES_SINGLE_BIT = "retired_pages_single_bit";
        /// Pages retired for uncorrected errors.
        RETIRED_PAGES_DOUBLE_BIT = "retired_pages_double_bit";
        /// What the driver asks for ("None", "Reset"…).
        RECOVERY_ACTION = "recovery_action";
        /// Number of processes on the GPU.
        PROCESSES = "processes";
        /// Performance state ("P0").
        PSTATE = "pstate";
        /// SM clock now, MHz.
        CLOCK_SM = "clock_sm";
        /// SM clock at most, MHz.
        CLOCK_SM_MAX = "clock_sm_max";
        /// VBIOS version.
        VBIOS = "vbios";
        /// Virtualisation mode ("None", "Pass-Through"…).
        VIRTUALIZATION = "virtualization";
        /// Streaming multiprocessors of a MIG device.
        MULTIPROCESSORS = "multiprocessors";
        /// GPU instance id of a MIG device.
        GPU_INSTANCE = "gpu_instance";
        /// Compute instance id of a MIG device.
        COMPUTE_INSTANCE = "compute_instance";
        /// NVIDIA driver version.
        DRIVER_VERSION = "driver_version";
        /// Highest CUDA version the driver supports.
        CUDA_VERSION = "cuda_version";
        /// GPUs the driver counts.
        GPUS_ATTACHED = "gpus_attached";
        /// GPUs the answer lists.
        GPUS_LISTED = "gpus_listed";
        /// Operating system ("Ubuntu 22.04.4 LTS").
        OS = "os";
        /// Operating system's short name ("ubuntu").
        OS_ID = "os_id";
        /// Operating system's version ("22.04").
        OS_VERSION = "os_version";
        /// Kernel release.
        KERNEL = "kernel";
        /// Host name.
        HOST_NAME = "host_name";
        /// Machine architecture ("x86_64").
        ARCHITECTURE = "architecture";
        /// CPU model.
        CPU_MODEL = "cpu_model";
        /// Logical CPUs.
        CPUS = "cpus";
        /// Sockets.
        SOCKETS = "sockets";
        /// Cores of a socket.
        CORES_PER_SOCKET = "cores_per_socket";
        /// Threads of a core.
        THREADS_PER_CORE = "threads_per_core";
        /// NUMA nodes that have CPUs.
        NUMA_NODES = "numa_nodes";
        /// NUMA nodes without CPUs, which is how Grace shows the memory of its GPUs.
        NUMA_NODES_MEMORY_ONLY = "numa_nodes_memory_only";
        /// CPUs of a NUMA node, as a list.
        CPU_LIST = "cpu_list";
        /// Hypervisor vendor, when the machine is virtual.
        HYPERVISOR = "hypervisor";
        /// Memory available for new programs, MiB.
        MEMORY_AVAILABLE = "memory_available";
        /// Swap size, MiB.
        SWAP_TOTAL = "swap_total";
        /// Size of a disk or file system, bytes.
        SIZE = "size";
        /// Free space of a file system, bytes.
        FREE = "free";
        /// Used space of a file system, bytes.
        USED = "used";
        /// Kind of disk ("NVMe", "SSD", "HDD", "virtual").
        DISK_KIND = "disk_kind";
        /// File system type.
        FS_TYPE = "fs_type";
        /// Device or share behind a file system.
        FS_SOURCE = "fs_source";
        /// Where a disk or its parts are mounted, comma separated.
        MOUNT = "mount";
        /// IPv4 addresses of a network interface, comma separated.
        IPV4 = "ipv4";
        /// IPv6 addresses of a network interface, comma separated.
        IPV6 = "ipv6";
        /// State of a link or interface.
        STATE = "state";
        /// Speed, Mbit/s.
        SPEED = "speed";
        /// The host's clock when it answered, s since 1970 in UTC; a whole number when the host gives no fraction.
        CLOCK = "clock";
        /// Host clock minus ours, s; half the round trip is its uncertainty.
        CLOCK_OFFSET = "clock_offset";
        /// Uncertainty of the clock offset, s.
        CLOCK_OFFSET_UNCERTAINTY = "clock_offset_uncertainty";
        /// How two devices are connected ("NV18", "PIX", "SYS").
        CONNECTION = "connection";
        /// Whether GPU pairs are connected by NVLink: "all", "some", "none".
        NVLINK = "nvlink";
        /// NUMA affinity of a device.
        NUMA_AFFINITY = "numa_affinity";
        /// CPU affinity of a device.
        CPU_AFFINITY = "cpu_affinity";
        /// NUMA id of a GPU's own memory.
        GPU_NUMA_ID = "gpu_numa_id";
        /// Name of a NIC behind its column.
        NIC_NAME = "nic_name";
        /// Version of DCGM.
        DCGM_VERSION = "dcgm_version";
        /// Result of a diagnostic test ("pass", "fail", "skip", "warn"); of the whole run on `host`, where "not_judged"
        /// means that too little ran.
        RESULT = "result";
        /// PCI device of a DCGM entity.
        PCI_BUS_ID = "pci_bus_id";
        /// A serving engine that wrote a log ("vllm", "sglang", "llama.cpp").
        ENGINE = "engine";
        /// Version of the engine.
        ENGINE_VERSION = "engine_version";
        /// Which of vLLM's two engines ran ("V0", "V1").
        ENGINE_CORE = "engine_core";
        /// How a start of the engine went: "ready", "refused", "out_of_memory". Absent where the log ends before.
        ENGINE_START = "engine_start";
        /// Model as the engine was told, a name or a path.
        MODEL = "model";
        /// Class of the model ("Qwen3MoeForCausalLM") or its kind ("gpt-oss").
        MODEL_ARCHITECTURE = "model_architecture";
        /// Number format of weights that are not quantised ("bfloat16").
        DTYPE = "dtype";
        /// Quantisation of the weights as the engine calls it, or "none".
        QUANTISATION = "quantisation";
        /// Bits of a weight over the whole file.
        BITS_PER_WEIGHT = "bits_per_weight";
        /// Size of the checkpoint's files, GiB.
        CHECKPOINT = "checkpoint";
        /// Kernels for 4-bit float weights, on which their padding depends.
        KERNEL_BACKEND = "kernel_backend";
        /// Number format of the KV cache; "auto" is the model's. Key and value apart by a slash where they differ.
        KV_DTYPE = "kv_dtype";
        /// Ranks over which each layer is split.
        TENSOR_PARALLEL = "tensor_parallel";
        /// Ranks over which the layers are dealt out.
        PIPELINE_PARALLEL = "pipeline_parallel";
        /// Copies of the engine over which requests are dealt out.
        DATA_PARALLEL = "data_parallel";
        /// Share of a card's memory that the engine was given, 0 to 1: of all memory (vLLM), or weights and pool (SGLang).
        MEMORY_UTILIZATION = "memory_utilization";
        /// Longest request, tokens.
        MAX_MODEL_LEN = "max_model_len";
        /// Most tokens of one step, tokens: vLLM's batch, SGLang's prefill chunk, llama.cpp's physical batch.
        MAX_BATCHED_TOKENS = "max_batched_tokens";
        /// Most requests of one step.
        MAX_SEQUENCES = "max_sequences";
        /// Whether graphs are off ("yes", "no").
        EAGER = "eager";
        /// Draft method and its tokens, or "none".
        SPECULATIVE = "speculative";
        /// Whether LoRA slots are on ("yes", "no").
        LORA = "lora";
        /// Layers on the GPU of all ("25/25").
        LAYERS_OFFLOADED = "layers_offloaded";
        /// Tokens of a block of the KV cache.
        BLOCK_SIZE = "block_size";
        /// Weights on one rank or device, GiB; of a run, on the fullest.
        WEIGHTS = "weights";
        /// Weights of a draft model that is loaded apart, GiB.
        DRAFT_WEIGHTS = "draft_weights";
        /// KV cache of one rank, GiB; of a run, of the smallest rank, which limits all. Negative when nothing was left.
        KV_CACHE = "kv_cache";
        /// States of linear-attention layers, GiB.
        RECURRENT_STATE = "recurrent_state";
        /// KV cache as the engine counts it, tokens. Not its capacity where layers differ in kind.
        KV_TOKENS = "kv_tokens";
        /// Blocks of the KV cache.
        KV_BLOCKS = "kv_blocks";
        /// KV cache that one request of full length needs, GiB.
        KV_NEEDED = "kv_needed";
        /// Longest request for which there is room, tokens, as a refused start says.
        MAX_MODEL_LEN_POSSIBLE = "max_model_len_possible";
        /// Requests of `concurrency_length` tokens that the KV cache holds.
        CONCURRENCY = "concurrency";
        /// Tokens of a request for which the concurrency is counted.
        CONCURRENCY_LENGTH = "concurrency_length";
        /// Peak of activations in the profile, or llama.cpp's compute buffer, GiB.
        ACTIVATIONS = "activations";
        /// Memory outside the tensor library: communication buffers, context, GiB.
        NON_TORCH = "non_torch";
        /// Weights and memory outside the tensor library, where an engine gives only their sum, GiB.
        WEIGHTS_AND_NON_TORCH = "weights_and_non_torch";
        /// Graphs as measured, GiB; negative in some logs, which means nothing.
        GRAPHS = "graphs";
        /// Graphs as estimated before the pool was cut, GiB.
        GRAPHS_ESTIMATED = "graphs_estimated";
        /// Memory of a card as CUDA reports it to the engine, GiB.
        CUDA_MEMORY_TOTAL = "cuda_memory_total";
        /// Memory of a card that was free when the engine started, GiB.
        CUDA_MEMORY_FREE = "cuda_memory_free";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_as_people_write_them() {
        for (value, unit, want) in [
            (Value::Float(24105.55078125), "MiB", "23.5 GiB"),
            (Value::Int(0), "MiB", "0 MiB"),
            (Value::Int(274_877_906_944), "bytes", "274.9 GB"),
            (Value::Int(4096), "bytes", "4,096 bytes"),
            (Value::Float(-0.001_234_567), "s", "−0.00123 s"),
            (Value::Float(71.349_999), "W", "71.3 W"),
            (Value::Float(30.0), "%", "30 %"),
            (Value::Int(1980), "MHz", "1,980 MHz"),
            (Value::Int(1980), "", "1980"),
            (Value::Text("12".into()), "", "12"),
        ] {
            assert_eq!(value.shown(unit), want, "{value:?} {unit}");
        }
    }
}
