//! When two spellings mean the same thing: GPU names, versions, operating systems, addresses.

use std::cmp::Ordering;
use std::net::IpAddr;

/// Words of a GPU's name that say nothing about which GPU it is.
const NOISE: [&str; 8] = ["nvidia", "geforce", "tesla", "quadro", "generation", "gpu", "tensor", "core"];

/// A GPU's name, taken apart.
#[derive(Debug, PartialEq, Eq, Default)]
struct GpuName {
    /// Which GPU: every such word must be the same.
    words: Vec<String>,
    /// Memory in GB, where the name says it.
    memory: Option<String>,
    /// How it is built in ("sxm", "pcie", "nvl"), where the name says it.
    form: Option<&'static str>,
}

/// Whether an offer's name and the driver's name mean the same GPU.
///
/// Vendor words, case and punctuation do not count. What one of them leaves out (memory, form) does not count either;
/// what both say must agree. Any other word makes another card: an "RTX 4090 D" is no "RTX 4090".
#[must_use]
pub fn is_same_gpu(promised: &str, found: &str) -> bool {
    let (promised, found) = (gpu_name(promised), gpu_name(found));
    let both_or_fewer = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
    !promised.words.is_empty()
        && promised.words == found.words
        && both_or_fewer(&promised.memory, &found.memory)
        && (promised.form.is_none() || found.form.is_none() || promised.form == found.form)
}

fn gpu_name(text: &str) -> GpuName {
    let mut name = GpuName::default();
    let lower = text.to_lowercase();
    // "80 GB" is one word.
    let lower = lower.replace(" gb", "gb").replace(" gib", "gb");
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if NOISE.contains(&word) {
            continue;
        }
        if let Some(size) = word.strip_suffix("gb").filter(|size| size.chars().all(|c| c.is_ascii_digit())) {
            name.memory = Some(size.to_owned());
        } else if word.starts_with("sxm") {
            name.form = Some("sxm");
        } else if word == "pcie" {
            name.form = Some("pcie");
        } else if word == "nvl" {
            name.form = Some("nvl");
        } else if word.starts_with("hbm") {
            // The driver names the module by its memory ("H100 80GB HBM3") and the card by its slot ("H100 PCIe").
            name.form = name.form.or(Some("sxm"));
        } else {
            name.words.push(word.to_owned());
        }
    }
    // "RTX 6000 Ada" and "RTX6000 Ada" differ in a space only.
    name.words = vec![name.words.concat()].into_iter().filter(|word| !word.is_empty()).collect();
    name
}

/// Whether a found version keeps a promised one.
///
/// "550" and "550.54" are kept by "550.54.15"; "≥ 550", ">= 550" and "550+" by anything that is not older.
#[must_use]
pub fn is_version(promised: &str, found: &str) -> bool {
    let promised = promised.trim();
    let at_least =
        promised.strip_prefix("≥").or_else(|| promised.strip_prefix(">=")).or_else(|| promised.strip_suffix('+'));
    let found = version_parts(found);
    match at_least {
        Some(lowest) => compare_versions(&found, &version_parts(lowest)) != Ordering::Less,
        None => {
            let promised = version_parts(promised);
            !promised.is_empty() && found.get(..promised.len()) == Some(promised.as_slice())
        }
    }
}

/// Numbers of the first word that begins with a digit.
fn version_parts(text: &str) -> Vec<u64> {
    text.split_whitespace()
        .map(|word| word.trim_start_matches(['v', 'V']))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
        .map(|word| word.split('.').map_while(|part| part.parse().ok()).collect())
        .unwrap_or_default()
}

fn compare_versions(a: &[u64], b: &[u64]) -> Ordering {
    let len = a.len().max(b.len());
    let part = |parts: &[u64], idx: usize| parts.get(idx).copied().unwrap_or(0);
    (0..len).map(|idx| part(a, idx).cmp(&part(b, idx))).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// Whether an image's name and the system's name mean the same release: the distribution must be the same, and the
/// version as far as the image states it. Other words of the image ("CUDA 12.4") are not compared here.
#[must_use]
pub fn is_same_os(image: &str, os: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric() && c != '.')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (image_words, os_words) = (words(image), words(os));
    let Some(distribution) = image_words.first() else { return false };
    os_words.contains(distribution) && (version_parts(image).is_empty() || is_version(&first_version(image), os))
}

/// The first word with a digit in front; the version of the distribution stands before those of anything added.
fn first_version(text: &str) -> String {
    text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default().to_owned()
}

/// Whether a found word stands among the promised ones, in any case ("NVMe SSD" holds "nvme").
#[must_use]
pub fn has_word(promised: &str, found: &str) -> bool {
    let (promised, found) = (promised.to_lowercase(), found.to_lowercase());
    promised.split(|c: char| !c.is_alphanumeric()).any(|word| word == found) || promised == found
}

/// Whether an address, with or without a prefix length, can be reached from anywhere.
#[must_use]
pub fn is_public_address(text: &str) -> bool {
    let address = text.trim().split(['/', '%']).next().unwrap_or_default();
    match address.parse() {
        Ok(IpAddr::V4(v4)) => {
            let [a, b, ..] = v4.octets();
            let is_shared = a == 100 && (64..128).contains(&b);
            !(v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_unspecified() || is_shared)
        }
        // Global unicast is 2000::/3.
        Ok(IpAddr::V6(v6)) => v6.segments().first().is_some_and(|segment| segment >> 13 == 1),
        Err(_not_an_address) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_names() {
        for (promised, found, want) in [
            ("H100 80GB", "NVIDIA H100 80GB HBM3", true),
            ("H100 80 GB SXM5", "NVIDIA H100 80GB HBM3", true),
            ("H100 PCIe", "NVIDIA H100 80GB HBM3", false),
            ("H100 SXM", "NVIDIA H100 PCIe", false),
            ("H100", "NVIDIA H100 NVL", true),
            ("H100 SXM", "NVIDIA H100 NVL", false),
            ("A100 40GB", "NVIDIA A100-SXM4-80GB", false),
            ("NVIDIA A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB", true),
            ("L40", "NVIDIA L40S", false),
            ("l40s", "NVIDIA L40S", true),
            ("RTX 4090", "NVIDIA GeForce RTX 4090", true),
            ("RTX 4090", "NVIDIA GeForce RTX 4090 D", false),
            ("RTX 6000 Ada", "NVIDIA RTX 6000 Ada Generation", true),
            ("RTX A6000", "NVIDIA RTX A6000", true),
            ("Tesla T4", "Tesla T4", true),
            ("", "NVIDIA L4", false),
        ] {
            assert_eq!(is_same_gpu(promised, found), want, "{promised} / {found}");
        }
    }

    #[test]
    fn versions() {
        for (promised, found, want) in [
            ("550", "550.54.15", true),
            ("550.54", "550.54.15", true),
            ("550.5", "550.54.15", false),
            ("550.54.15", "550.54.15", true),
            ("550.54.15", "550.54", false),
            ("≥ 550", "570.86", true),
            (">=12.4", "12.4", true),
            ("12.4+", "12.2", false),
            ("", "12.2", false),
        ] {
            assert_eq!(is_version(promised, found), want, "{promised} / {found}");
        }
    }

    #[test]
    fn systems() {
        for (image, os, want) in [
            ("Ubuntu 22.04", "Ubuntu 22.04.4 LTS", true),
            ("Ubuntu 22.04 CUDA 12.4", "Ubuntu 22.04.4 LTS", true),
            ("Ubuntu 24.04", "Ubuntu 22.04.4 LTS", false),
            ("Debian 12", "Debian GNU/Linux 12 (bookworm)", true),
            ("Ubuntu", "Ubuntu 22.04.4 LTS", true),
            ("Rocky 9", "Debian GNU/Linux 12 (bookworm)", false),
        ] {
            assert_eq!(is_same_os(image, os), want, "{image} / {os}");
        }
    }

    #[test]
    fn addresses() {
        for (address, want) in [
            ("10.0.0.4/24", false),
            ("100.64.1.2", false),
            ("192.168.1.1", false),
            ("203.0.113.7", true),
            ("2001:db8::1/64", true),
            ("fe80::1%eth0", false),
            ("fd00::1", false),
            ("not an address", false),
        ] {
            assert_eq!(is_public_address(address), want, "{address}");
        }
    }
}
