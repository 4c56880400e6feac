//! Disks of the host (`lsblk`), with their size, kind and mounts.

use serde_json::Value as Json;

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Device, Severity, Value, keys};

/// The probe. util-linux before 2.27 has no JSON and gives `KEY="value"` pairs.
pub const PROBE: Probe = Probe {
    id: "disks",
    parser: 1,
    command: "env LC_ALL=C lsblk -J -b -o NAME,TYPE,SIZE,ROTA,MODEL,TRAN,MOUNTPOINT,FSTYPE \
              || env LC_ALL=C lsblk -P -b -o NAME,TYPE,SIZE,ROTA,MODEL,TRAN,MOUNTPOINT,FSTYPE,PKNAME",
    deadline_secs: 15,
    parse,
};

/// `size`, `name`, `disk_kind` and `mount` of every whole disk (`disk:nvme0n1`). Loop devices, CD drives and RAM disks are
/// none; partitions and volumes count through the mounts of their disk.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let disks = match out.stdout.find('{').and_then(|start| out.stdout.get(start..)) {
        Some(text) => from_json(text)?,
        None => from_pairs(out),
    };
    if disks.is_empty() {
        return Err(words::why_nothing(out, "lsblk"));
    }
    let mut parsed = Parsed::default();
    let mut rounded = false;
    for disk in disks.iter().filter(|disk| disk.is_whole()).take(500) {
        let device = Device::of("disk", disk.name.trim_start_matches("/dev/"));
        let (size, exact) = size(&disk.size);
        rounded |= !exact;
        parsed.push(&device, keys::SIZE, size, "bytes");
        parsed.text(&device, keys::NAME, &disk.model);
        parsed.text(&device, keys::DISK_KIND, disk.disk_kind());
        parsed.text(&device, keys::MOUNT, &disk.mounts.join(", "));
    }
    if parsed.facts.is_empty() {
        return Err(Absent::new(AbsentKind::NotReported, "no whole disk among the devices"));
    }
    if rounded {
        let what = "Sizes were printed in rounded units and are not exact";
        parsed.finding_of(Severity::NotJudged, "sizes_rounded", what);
    }
    Ok(parsed)
}

#[derive(Debug, Default)]
struct Disk {
    name: String,
    kind: String,
    size: String,
    rotates: String,
    model: String,
    transport: String,
    mounts: Vec<String>,
}

impl Disk {
    fn is_whole(&self) -> bool {
        self.kind == "disk"
            && !["zram", "ram"].iter().any(|start| self.name.trim_start_matches("/dev/").starts_with(start))
    }

    /// The rotation flag of virtual disks says nothing.
    fn disk_kind(&self) -> &'static str {
        let name = self.name.trim_start_matches("/dev/");
        if name.starts_with("nvme") || self.transport == "nvme" {
            "NVMe"
        } else if self.transport == "virtio" || name.starts_with("vd") || name.starts_with("xvd") {
            "virtual"
        } else if matches!(self.rotates.as_str(), "true" | "1") {
            "HDD"
        } else if matches!(self.rotates.as_str(), "false" | "0") {
            "SSD"
        } else {
            ""
        }
    }
}

fn from_json(text: &str) -> Result<Vec<Disk>, Absent> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Json>();
    let root = match stream.next() {
        Some(Ok(root)) => root,
        Some(Err(error)) if error.is_eof() => return Err(Absent::new(AbsentKind::CutShort, error.to_string())),
        Some(Err(error)) => return Err(Absent::new(AbsentKind::Unreadable, error.to_string())),
        None => return Ok(Vec::new()),
    };
    let devices = root.get("blockdevices").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    Ok(devices
        .iter()
        .map(|json| {
            let mut disk = Disk {
                name: cell(json, "name"),
                kind: cell(json, "type"),
                size: cell(json, "size"),
                rotates: cell(json, "rota"),
                model: cell(json, "model"),
                transport: cell(json, "tran"),
                mounts: Vec::new(),
            };
            add_mounts(&mut disk.mounts, json);
            disk
        })
        .collect())
}

/// A cell as text: numbers and flags are bare with some versions and texts with others.
fn cell(json: &Json, key: &str) -> String {
    match json.get(key) {
        Some(Json::String(text)) => text.trim().to_owned(),
        Some(value @ (Json::Number(_) | Json::Bool(_))) => value.to_string(),
        _ => String::new(),
    }
}

/// Mounts of a device and of all that stands on it: `mountpoint`, or from 2.37 on the list `mountpoints`, which may hold
/// null. The many mounts that Kubernetes makes for its pods are left out.
fn add_mounts(mounts: &mut Vec<String>, json: &Json) {
    let one = json.get("mountpoint").and_then(Json::as_str).into_iter();
    let many = json.get("mountpoints").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    for mount in one.chain(many) {
        let of_pod = mount.contains("/kubelet/pods/");
        if !of_pod && !mounts.iter().any(|other| other == mount) && mounts.len() < 100 {
            mounts.push(mount.to_owned());
        }
    }
    for child in json.get("children").and_then(Json::as_array).into_iter().flatten() {
        add_mounts(mounts, child);
    }
}

fn from_pairs(out: &Captured) -> Vec<Disk> {
    let mut disks: Vec<Disk> = Vec::new();
    let mut parents: Vec<(String, String)> = Vec::new();
    for line in out.text_lines().take(5_000) {
        let pair = |key: &str| {
            let quoted = format!("{key}=\"");
            let start =
                line.find(&format!(" {quoted}")).map(|at| at + 1).or_else(|| line.starts_with(&quoted).then_some(0))?;
            line.get(start + quoted.len()..)?.split_once('"').map(|(value, _)| value.trim().to_owned())
        };
        let Some(name) = pair("NAME") else { continue };
        let parent = pair("PKNAME").unwrap_or_default();
        let mount = pair("MOUNTPOINT").unwrap_or_default();
        if !mount.is_empty() {
            // Walk up to the disk that this part or volume stands on.
            let mut top = if parent.is_empty() { name.clone() } else { parent.clone() };
            for _ in 0..8 {
                match parents.iter().find(|(child, _)| *child == top) {
                    Some((_, up)) if !up.is_empty() => top.clone_from(up),
                    _ => break,
                }
            }
            if let Some(disk) = disks.iter_mut().find(|disk| disk.name == top) {
                disk.mounts.push(mount.clone());
            }
        }
        let mut disk = Disk {
            kind: pair("TYPE").unwrap_or_default(),
            size: pair("SIZE").unwrap_or_default(),
            rotates: pair("ROTA").unwrap_or_default(),
            model: pair("MODEL").unwrap_or_default(),
            transport: pair("TRAN").unwrap_or_default(),
            name: name.clone(),
            mounts: Vec::new(),
        };
        if parent.is_empty() && !mount.is_empty() {
            disk.mounts.push(mount);
        }
        parents.push((name, parent));
        disks.push(disk);
    }
    disks
}

/// Bytes, and whether they are exact: without `-b` sizes read like `63.9M`, in powers of 1024.
fn size(cell: &str) -> (Result<Value, Absent>, bool) {
    let exact = words::int(cell);
    let power = match cell.trim().chars().last() {
        Some('K') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some('P') => 5,
        _ => return (exact, true),
    };
    let value = words::float(cell)
        .map(|value| Value::Float((value.as_f64().unwrap_or_default() * 1024_f64.powi(power)).round()));
    (value, false)
}

#[cfg(test)]
mod tests {
    use super::super::captures::check_all;
    use super::*;

    #[test]
    fn reads_captures() {
        check_all(&PROBE);
    }
}
