//! How GPUs and network cards are connected (`nvidia-smi topo -m`).

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Device, Key, Severity, Value, keys};

/// The probe.
pub const PROBE: Probe = Probe { id: "topology", parser: 1, command: "nvidia-smi topo -m", deadline_secs: 30, parse };

/// More columns than this are refused; a machine with 16 GPUs and 32 network cards has 48.
const MAX_COLUMNS: usize = 128;

/// `connection` for every pair (`link:gpu:0-gpu:1`, `link:gpu:0-nic:mlx5_0`), affinities for every GPU, `nic_name` for
/// every column that the legend explains, and `nvlink` for the host.
///
/// Generations differ in their columns (device names or `NIC0`; with and without NUMA and GPU NUMA columns), so cells are
/// counted from the header. Pasted copies have blanks for tabs, a header that lost its first tab, or wrapped lines.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let lines: Vec<String> = out.text_lines().take(2_000).map(words::plain).collect();
    let Some(matrix) = Matrix::read(&lines) else {
        return Err(words::why_nothing(out, PROBE.tool()));
    };
    if let Some(cell) = matrix.peer_cell() {
        let what = format!("this is a peer-to-peer table (\"{cell}\"), not the connections of `topo -m`");
        return Err(Absent::new(AbsentKind::Unreadable, what));
    }
    let mut parsed = Parsed::default();
    let legend = Legend::read(&lines);
    let devices: Vec<Device> = matrix.columns.iter().map(|name| legend.device(name)).collect();
    parsed.count(&Device::host(), keys::GPUS_LISTED, matrix.columns.iter().filter(|name| is_gpu(name)).count(), "");
    matrix.write_links(&mut parsed, &devices);
    matrix.write_affinities(&mut parsed, &legend);
    for (column, name) in &legend.nics {
        parsed.text(&Device::of("nic", column), keys::NIC_NAME, name);
    }
    nvlink(&mut parsed, &matrix, &legend);
    matrix.write_gaps(&mut parsed);
    for line in out.stderr.lines().take(500) {
        if let Some(alarm) = words::driver_sentence(line) {
            parsed.finding(alarm);
        }
    }
    Ok(parsed)
}

/// The table as it stands.
struct Matrix {
    /// Device columns in order: `GPU0`, `NIC0`, `mlx5_0`.
    columns: Vec<String>,
    /// The columns behind them.
    affinities: Vec<Key>,
    rows: Vec<Row>,
}

/// One row; cells that a cut line lacks are missing at its end.
struct Row {
    name: String,
    cells: Vec<String>,
    affinities: Vec<String>,
    /// The line kept its tabs, so that an empty cell can be seen.
    tabbed: bool,
}

/// Names of the columns behind the devices, as they are printed.
const AFFINITIES: [(&str, Key); 3] =
    [("CPU Affinity", keys::CPU_AFFINITY), ("NUMA Affinity", keys::NUMA_AFFINITY), ("GPU NUMA ID", keys::GPU_NUMA_ID)];

impl Matrix {
    fn read(lines: &[String]) -> Option<Self> {
        let start = lines.iter().position(|line| is_header(line))?;
        let mut matrix = Self { columns: Vec::new(), affinities: Vec::new(), rows: Vec::new() };
        for line in lines.get(start..)? {
            if line.trim_start().starts_with("Legend") || line.trim_start().starts_with("NIC Legend") {
                break;
            }
            if line.trim().is_empty() {
                continue;
            }
            if matrix.rows.is_empty() && is_header(line) {
                matrix.add_header(line);
            } else {
                matrix.add_row(line);
            }
        }
        (matrix.columns.len() <= MAX_COLUMNS && !matrix.rows.is_empty()).then_some(matrix)
    }

    /// Adds a header line, or its wrapped rest.
    fn add_header(&mut self, line: &str) {
        let mut devices = line.to_owned();
        for (label, key) in AFFINITIES {
            if let Some((before, after)) = devices.split_once(label) {
                devices = format!("{before}\t{after}");
                self.affinities.push(key);
            }
        }
        self.columns.extend(devices.split_whitespace().map(str::to_owned));
    }

    fn add_row(&mut self, line: &str) {
        let tabbed = line.contains('\t');
        let mut cells: Vec<&str> = if tabbed {
            line.trim_start().split('\t').map(str::trim).collect()
        } else {
            line.split_whitespace().collect()
        };
        let name = cells.first().copied().unwrap_or_default();
        let starts = self.columns.iter().any(|column| column == name) && cells.get(1).is_none_or(|cell| is_cell(cell));
        if starts {
            if self.rows.iter().any(|row| row.name == name) {
                return; // A second table; the first counts.
            }
            cells.remove(0);
            self.rows.push(Row { name: name.to_owned(), cells: Vec::new(), affinities: Vec::new(), tabbed });
        }
        let n_columns = self.columns.len();
        let Some(row) = self.rows.last_mut() else { return };
        if !starts && row.cells.len() >= n_columns && !row.affinities.is_empty() {
            return; // Text behind the table.
        }
        for cell in cells {
            if row.cells.len() < n_columns {
                if is_cell(cell) {
                    row.cells.push(cell.to_owned());
                }
            } else if row.affinities.len() < 8 {
                row.affinities.push(cell.to_owned());
            }
        }
    }

    /// The cell of two columns, from either row.
    fn cell(&self, a: usize, b: usize) -> [Option<&str>; 2] {
        [(a, b), (b, a)].map(|(row, column)| {
            let name = self.columns.get(row)?;
            self.rows.iter().find(|row| row.name == *name)?.cells.get(column).map(String::as_str)
        })
    }

    /// A cell that only the peer-to-peer tables of `topo -p2p` have.
    fn peer_cell(&self) -> Option<&str> {
        let mut cells = self.rows.iter().flat_map(|row| &row.cells).map(String::as_str);
        cells.find(|cell| matches!(*cell, "OK" | "CNS" | "GNS" | "TNS" | "NS" | "DR" | "U"))
    }

    fn write_links(&self, parsed: &mut Parsed, devices: &[Device]) {
        for (a, first) in devices.iter().enumerate() {
            for (b, second) in devices.iter().enumerate().skip(a + 1) {
                let [there, back] = self.cell(a, b);
                let Some(cell) = there.or(back) else { continue };
                parsed.text(&Device::link(first, second), keys::CONNECTION, cell);
                if let (Some(there), Some(back)) = (there, back)
                    && there != back
                {
                    let what = format!("{first} and {second}: one row says {there}, the other {back}");
                    parsed.finding_of(Severity::NotJudged, "topology_unclear", what);
                }
            }
        }
    }

    fn write_affinities(&self, parsed: &mut Parsed, legend: &Legend) {
        for row in self.rows.iter().filter(|row| is_gpu(&row.name) && row.cells.len() == self.columns.len()) {
            let device = legend.device(&row.name);
            for (n, key) in self.affinities.iter().enumerate() {
                // Without tabs an empty cell leaves no trace, so a short row cannot be told apart behind its first cell.
                if n > 0 && !row.tabbed && row.affinities.len() < self.affinities.len() {
                    parsed.absent(&device, key.clone(), AbsentKind::Unreadable, &row.affinities.join(" "));
                    continue;
                }
                // An empty cell stands before the last column; a row without tabs lost it.
                let cell = if *key == keys::GPU_NUMA_ID {
                    row.affinities.iter().skip(n).find(|cell| !cell.is_empty())
                } else {
                    row.affinities.get(n)
                };
                parsed.text(&device, key.clone(), cell.map_or("", String::as_str));
            }
        }
    }

    /// Says which rows are missing or broken.
    fn write_gaps(&self, parsed: &mut Parsed) {
        let broken = |gpus: bool| {
            let columns = self.columns.iter().filter(|name| is_gpu(name) == gpus);
            let missing = columns.clone().filter(|name| {
                !self.rows.iter().any(|row| row.name == **name && row.cells.len() == self.columns.len())
            });
            (missing.count(), columns.count())
        };
        for (gpus, what) in [(true, "GPUs"), (false, "other devices")] {
            let (missing, all) = broken(gpus);
            if missing > 0 {
                let text = format!("The matrix names {all} {what}; the rows of {missing} are missing or incomplete");
                parsed.finding_of(Severity::NotJudged, "output_cut", text);
            }
        }
    }
}

/// What stands under the table.
struct Legend {
    /// Whether there is one, and whether it explains NVLink.
    explains: Option<bool>,
    /// Column name and the device's name.
    nics: Vec<(String, String)>,
}

impl Legend {
    fn read(lines: &[String]) -> Self {
        let mut legend = Self { explains: None, nics: Vec::new() };
        let rest = lines.iter().skip_while(|line| !line.trim_start().starts_with("Legend"));
        for line in rest.map(|line| line.trim()) {
            if let Some((word, _)) = line.split_once('=') {
                legend.explains = Some(legend.explains.unwrap_or(false) || word.trim() == "NV#");
            }
        }
        for line in lines.iter().skip_while(|line| !line.trim_start().starts_with("NIC Legend")).skip(1) {
            if let Some((column, name)) = line.split_once(':')
                && column.trim().starts_with("NIC")
                && legend.nics.len() < MAX_COLUMNS
            {
                legend.nics.push((column.trim().to_owned(), name.trim().to_owned()));
            }
        }
        legend
    }

    /// The device behind a column: `gpu:0`, and network cards by their own name where the legend gives it.
    fn device(&self, column: &str) -> Device {
        match column.strip_prefix("GPU").and_then(|idx| idx.parse().ok()) {
            Some(gpu_idx) => Device::gpu(gpu_idx),
            None => {
                let name = self.nics.iter().find(|(other, _)| other == column).map(|(_, name)| name.as_str());
                Device::of("nic", name.unwrap_or(column))
            }
        }
    }
}

/// Whether all, some or no GPU pairs have NVLink. `topo -mp` hides it, which its legend shows.
fn nvlink(parsed: &mut Parsed, matrix: &Matrix, legend: &Legend) {
    let gpus: Vec<usize> =
        matrix.columns.iter().enumerate().filter(|(_, name)| is_gpu(name)).map(|(column, _)| column).collect();
    let mut pairs = Vec::new();
    for (n, a) in gpus.iter().enumerate() {
        for b in gpus.iter().skip(n + 1) {
            let [there, back] = matrix.cell(*a, *b);
            pairs.push(there.or(back).map(|cell| cell.starts_with("NV")));
        }
    }
    let host = Device::host();
    if legend.explains == Some(false) {
        parsed.absent(&host, keys::NVLINK, AbsentKind::NotReported, "the matrix shows PCIe paths only");
        let what = "The matrix shows PCIe paths only (`topo -mp`); it says nothing about NVLink";
        parsed.finding_of(Severity::NotJudged, "nvlink_hidden", what);
    } else if pairs.is_empty() {
        parsed.absent(&host, keys::NVLINK, AbsentKind::NotReported, "one GPU has no pair");
    } else if pairs.contains(&None) {
        parsed.absent(&host, keys::NVLINK, AbsentKind::CutShort, "rows are missing");
    } else {
        let n = pairs.iter().filter(|pair| **pair == Some(true)).count();
        let word = if n == pairs.len() {
            "all"
        } else if n == 0 {
            "none"
        } else {
            "some"
        };
        parsed.push(&host, keys::NVLINK, Ok(Value::Text(word.to_owned())), "");
    }
}

/// `GPU0`, `GPU15`.
fn is_gpu(name: &str) -> bool {
    name.strip_prefix("GPU")
        .is_some_and(|idx| !idx.is_empty() && idx.len() <= 4 && idx.bytes().all(|b| b.is_ascii_digit()))
}

/// A line of device names alone: the header, or the rest of one that was wrapped.
fn is_header(line: &str) -> bool {
    let mut devices = line.to_owned();
    let mut named = false;
    for (label, _) in AFFINITIES {
        named |= devices.contains(label);
        devices = devices.replace(label, "\t");
    }
    let mut names = devices.split_whitespace().peekable();
    let begins = names.peek().is_some_and(|name| is_device(name)) || named;
    begins && names.all(is_device)
}

/// A device's column: a GPU, a numbered NIC, or a network device by its name (`mlx5_0`, `hfi1_0`, `bnxt_re0`).
fn is_device(name: &str) -> bool {
    is_gpu(name)
        || name.strip_prefix("NIC").is_some_and(|idx| !idx.is_empty() && idx.bytes().all(|b| b.is_ascii_digit()))
        || (name.starts_with(|c: char| c.is_ascii_lowercase()) && name.ends_with(|c: char| c.is_ascii_digit()))
}

/// A cell of the matrix: `X`, `NV18`, `PIX`, `SYS`, `SOC`, a word to come, or a spelling of "no value".
fn is_cell(cell: &str) -> bool {
    let word = !cell.is_empty()
        && cell.len() <= 6
        && cell.starts_with(|c: char| c.is_ascii_uppercase())
        && cell.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    (word && !is_device(cell)) || cell == "N/A"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::captures::{capture, check_all, check_out, from_text};
    use super::*;

    #[test]
    fn reads_captures() {
        check_all(&PROBE);
    }

    /// How often each connection stands between two GPUs.
    fn pairs(case: &str) -> BTreeMap<String, usize> {
        let mut count = BTreeMap::new();
        for fact in parse(&capture(PROBE.id, case, 0)).unwrap().facts {
            if fact.key == keys::CONNECTION && fact.device.0.matches("gpu:").count() == 2 {
                *count.entry(fact.value.unwrap().to_string()).or_default() += 1;
            }
        }
        count
    }

    #[test]
    fn counts_the_connections_of_every_generation() {
        for (case, want) in [
            ("v100x8_rented_nic", &[("NV1", 8), ("NV2", 8), ("SYS", 12)][..]),
            ("v100x8_cloud_vm", &[("NV1", 8), ("NV2", 8), ("PHB", 12)]),
            ("pcie4_pxb_pix", &[("PIX", 1), ("PXB", 1), ("SYS", 4)]),
            ("rtx4090x8_all_sys", &[("SYS", 28)]),
            ("h100x8_nic0_header_shifted", &[("NV18", 28)]),
            ("b200x8_16nics_ansi", &[("NV18", 28)]),
            ("dgx2_16gpu_first4rows", &[("NV6", 54)]),
            ("topo_mp_x8_12nics", &[("NODE", 12), ("SYS", 16)]),
            ("rtx5090x2_phb", &[("PHB", 1)]),
        ] {
            let want = want.iter().map(|(word, n)| ((*word).to_owned(), *n)).collect();
            assert_eq!(pairs(case), want, "{case}");
        }
    }

    #[test]
    fn a_wrapped_paste_gives_the_same_links() {
        let whole = capture(PROBE.id, "v100x8_rented_nic", 0);
        let wrapped: Vec<String> = whole
            .stdout
            .lines()
            .flat_map(|line| {
                let cells: Vec<&str> = line.split('\t').map(str::trim).filter(|cell| !cell.is_empty()).collect();
                cells.chunks(7).map(|part| part.join("   ")).collect::<Vec<_>>()
            })
            .collect();
        let links = |out: &Captured| {
            let facts = parse(out).unwrap().facts;
            facts.into_iter().filter(|fact| fact.key == keys::CONNECTION).collect::<Vec<_>>()
        };
        assert_eq!(links(&from_text(&wrapped.join("\n"), "", 0)), links(&whole));
    }

    #[test]
    fn a_list_of_nodes_stays_a_list() {
        check_out(
            &PROBE,
            "Grace",
            &from_text(
                "\t\u{1b}[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u{1b}[0m\nGPU0\t X \tNV18\t0-71\t0,3-9,11-17\t\t2\nGPU1\tNV18\t X \t72-143\t\t\t10\n",
                "",
                0,
            ),
            "host gpus_listed 2
            link:gpu:0-gpu:1 connection NV18
            gpu:0 cpu_affinity 0-71
            gpu:0 numa_affinity 0,3-9,11-17
            gpu:0 gpu_numa_id 2
            gpu:1 cpu_affinity 72-143
            gpu:1 numa_affinity (not reported: empty)
            gpu:1 gpu_numa_id 10
            host nvlink all",
        );
    }
}
