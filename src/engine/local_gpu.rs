//! The GPUs of this computer, asked through NVML: the driver's own library, loaded when it is there.

use std::sync::mpsc::channel;
use std::time::Duration;

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{PerformanceState, TemperatureSensor};
use nvml_wrapper::error::NvmlError;

use crate::domain::facts::{Absent, AbsentKind, Device, Key, Value, keys};
use crate::probe::{Parsed, Reading};

/// Id of the probe in records.
pub(super) const ID: &str = "nvml";
/// Version of the reading.
pub(super) const PARSER: u32 = 1;
/// A driver that hangs answers no call; nothing of it can be cancelled, so the thread is left behind.
const DEADLINE: Duration = Duration::from_secs(30);

/// What NVML says about this computer's GPUs. No driver is a plain absence.
pub(super) fn read() -> Reading {
    let (send, inbox) = channel();
    let asking = std::thread::Builder::new().name("nvml".to_owned()).spawn(move || {
        // Nobody listens after the deadline.
        send.send(ask()).ok();
    });
    let answer = match asking {
        Ok(_thread) => inbox
            .recv_timeout(DEADLINE)
            .unwrap_or_else(|_late| Err(Absent::new(AbsentKind::TimedOut, format!("NVML, {} s", DEADLINE.as_secs())))),
        Err(error) => Err(Absent::new(AbsentKind::NotRun, error.to_string())),
    };
    match answer {
        Ok(parsed) => Reading { facts: parsed.facts, findings: parsed.findings, absent: None },
        Err(absent) => Reading { absent: Some(absent), ..Reading::default() },
    }
}

fn ask() -> Result<Parsed, Absent> {
    let nvml = Nvml::init().map_err(|error| why(&error))?;
    let n_gpus = nvml.device_count().map_err(|error| why(&error))?;
    let mut parsed = Parsed::default();
    let host = Device::host();
    parsed.push(&host, keys::DRIVER_VERSION, text(nvml.sys_driver_version()), "");
    let cuda = nvml.sys_cuda_driver_version().map(|version| {
        let (major, minor) =
            (nvml_wrapper::cuda_driver_version_major(version), nvml_wrapper::cuda_driver_version_minor(version));
        format!("{major}.{minor}")
    });
    parsed.push(&host, keys::CUDA_VERSION, text(cuda), "");
    parsed.push(&host, keys::GPUS_ATTACHED, Ok(Value::Int(n_gpus.into())), "");
    for gpu_idx in 0..n_gpus {
        gpu(&mut parsed, &nvml, gpu_idx);
    }
    Ok(parsed)
}

fn gpu(parsed: &mut Parsed, nvml: &Nvml, gpu_idx: u32) {
    let device = Device::gpu(gpu_idx);
    let gpu = match nvml.device_by_index(gpu_idx) {
        Ok(gpu) => gpu,
        Err(error) => {
            // A card in trouble is counted and cannot be asked.
            parsed.push(&device, keys::NAME, Err(why(&error)), "");
            return;
        }
    };
    let mut put = |key: Key, value: Result<Value, Absent>, unit: &'static str| parsed.push(&device, key, value, unit);
    put(keys::NAME, text(gpu.name()), "");
    put(keys::UUID, text(gpu.uuid()), "");
    put(keys::BUS_ID, text(gpu.pci_info().map(|pci| pci.bus_id)), "");
    match gpu.memory_info() {
        Ok(memory) => {
            put(keys::MEMORY_TOTAL, mib(memory.total), "MiB");
            put(keys::MEMORY_USED, mib(memory.used), "MiB");
            put(keys::MEMORY_FREE, mib(memory.free), "MiB");
            put(keys::MEMORY_RESERVED, mib(memory.reserved), "MiB");
        }
        Err(error) => put(keys::MEMORY_TOTAL, Err(why(&error)), "MiB"),
    }
    put(keys::UTILIZATION, int(gpu.utilization_rates().map(|rates| rates.gpu)), "%");
    put(keys::TEMPERATURE, int(gpu.temperature(TemperatureSensor::Gpu)), "°C");
    put(keys::POWER_DRAW, watts(gpu.power_usage()), "W");
    put(keys::POWER_LIMIT, watts(gpu.enforced_power_limit()), "W");
    put(keys::POWER_LIMIT_DEFAULT, watts(gpu.power_management_limit_default()), "W");
    put(keys::PCIE_GEN, int(gpu.current_pcie_link_gen()), "");
    put(keys::PCIE_GEN_MAX, int(gpu.max_pcie_link_gen()), "");
    put(keys::PCIE_WIDTH, int(gpu.current_pcie_link_width()), "");
    put(keys::PCIE_WIDTH_MAX, int(gpu.max_pcie_link_width()), "");
    put(keys::ECC_MODE, text(gpu.is_ecc_enabled().map(|ecc| switch(ecc.currently_enabled))), "");
    put(keys::PERSISTENCE_MODE, text(gpu.is_in_persistent_mode().map(switch)), "");
    // 1 is NVML_DEVICE_MIG_ENABLE.
    put(keys::MIG_MODE, text(gpu.mig_mode().map(|mig| switch(mig.current == 1))), "");
    put(keys::PSTATE, text(gpu.performance_state().map(pstate)), "");
    put(keys::PROCESSES, int(gpu.running_compute_processes_count()), "");
}

/// As `nvidia-smi` words it.
fn switch(is_on: bool) -> String {
    if is_on { "Enabled" } else { "Disabled" }.to_owned()
}

fn pstate(state: PerformanceState) -> String {
    match state {
        PerformanceState::Zero => "P0",
        PerformanceState::One => "P1",
        PerformanceState::Two => "P2",
        PerformanceState::Three => "P3",
        PerformanceState::Four => "P4",
        PerformanceState::Five => "P5",
        PerformanceState::Six => "P6",
        PerformanceState::Seven => "P7",
        PerformanceState::Eight => "P8",
        PerformanceState::Nine => "P9",
        PerformanceState::Ten => "P10",
        PerformanceState::Eleven => "P11",
        PerformanceState::Twelve => "P12",
        PerformanceState::Thirteen => "P13",
        PerformanceState::Fourteen => "P14",
        PerformanceState::Fifteen => "P15",
        PerformanceState::Unknown => "unknown",
    }
    .to_owned()
}

fn text(answer: Result<String, NvmlError>) -> Result<Value, Absent> {
    answer.map(Value::Text).map_err(|error| why(&error))
}

fn int(answer: Result<u32, NvmlError>) -> Result<Value, Absent> {
    answer.map(|number| Value::Int(number.into())).map_err(|error| why(&error))
}

/// NVML counts bytes; the driver's tools show whole MiB.
fn mib(bytes: u64) -> Result<Value, Absent> {
    i64::try_from(bytes >> 20).map(Value::Int).map_err(|error| Absent::new(AbsentKind::Unreadable, error.to_string()))
}

/// NVML counts milliwatts.
fn watts(answer: Result<u32, NvmlError>) -> Result<Value, Absent> {
    answer.map(|milliwatts| Value::Float(f64::from(milliwatts) / 1_000.0)).map_err(|error| why(&error))
}

/// What an error of NVML says about a value.
fn why(error: &NvmlError) -> Absent {
    let kind = match error {
        NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => {
            return Absent::new(AbsentKind::NoDriver, "NVML");
        }
        NvmlError::DriverNotLoaded => AbsentKind::NoDriver,
        NvmlError::LibRmVersionMismatch => AbsentKind::VersionMismatch,
        NvmlError::NotFound => AbsentKind::NoDevices,
        NvmlError::NoPermission => AbsentKind::Refused,
        NvmlError::NotSupported | NvmlError::FunctionNotFound | NvmlError::FailedToLoadSymbol(_) => {
            AbsentKind::NotReported
        }
        NvmlError::GpuLost
        | NvmlError::ResetRequired
        | NvmlError::IrqIssue
        | NvmlError::InsufficientPower
        | NvmlError::CorruptedInfoROM => AbsentKind::Alarm,
        NvmlError::Timeout => AbsentKind::TimedOut,
        _ => AbsentKind::Unreadable,
    };
    Absent::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_nvml_are_told_apart() {
        for (error, want) in [
            (NvmlError::DriverNotLoaded, AbsentKind::NoDriver),
            (NvmlError::LibRmVersionMismatch, AbsentKind::VersionMismatch),
            (NvmlError::NotSupported, AbsentKind::NotReported),
            (NvmlError::GpuLost, AbsentKind::Alarm),
            (NvmlError::Unknown, AbsentKind::Unreadable),
        ] {
            assert_eq!(why(&error).kind, want, "{error}");
        }
    }

    #[test]
    fn a_reading_says_something_on_every_computer() {
        let reading = read();
        assert!(reading.absent.is_some() == reading.facts.is_empty(), "{reading:?}");
    }

    #[test]
    fn units() {
        assert_eq!(mib(81_559 << 20), Ok(Value::Int(81_559)));
        assert_eq!(watts(Ok(70_930)), Ok(Value::Float(70.93)));
        assert_eq!(switch(true), "Enabled");
    }
}
