//! Network interfaces with their addresses, state and speed (`ip`, `/sys/class/net`).

use serde_json::Value as Json;

use super::{Parsed, Probe, words};
use crate::domain::evidence::Captured;
use crate::domain::facts::{Absent, AbsentKind, Device, Key, Value, keys};

/// The probe. It runs in `sh`, whatever the login shell is. `ip` is missing in small images, and its JSON in old ones.
pub const PROBE: Probe = Probe {
    id: "network",
    parser: 1,
    command: "sh -c 'ip -j addr 2>/dev/null || ip -o addr 2>/dev/null || \
              sed \"s/^/inet6 /\" /proc/net/if_inet6; \
              for n in /sys/class/net/*; do \
              echo \"sys ${n##*/} $(cat $n/operstate 2>/dev/null) $(cat $n/speed 2>/dev/null)\"; done'",
    deadline_secs: 15,
    parse,
};

/// `state`, `speed`, `ipv4` and `ipv6` of every interface (`nic:eth0`) but the loopback and the ends of container pairs.
///
/// Addresses are those of global scope: a link-local address does not show that a protocol works. Where `ip` is missing,
/// IPv4 stays unknown.
fn parse(out: &Captured) -> Result<Parsed, Absent> {
    let mut nics: Vec<Nic> = Vec::new();
    let mut rest = out.stdout.as_str();
    // The array of `ip -j` stands first; a lone `[` in a login banner is none.
    if let Some(start) = rest.find("[{") {
        let mut stream = serde_json::Deserializer::from_str(rest.get(start..).unwrap_or_default()).into_iter::<Json>();
        match stream.next() {
            Some(Ok(Json::Array(list))) => {
                for json in list.iter().take(2_000) {
                    from_json(&mut nics, json);
                }
                rest = rest.get(start + stream.byte_offset()..).unwrap_or_default();
            }
            Some(Err(error)) if error.is_eof() => {
                return Err(Absent::new(AbsentKind::CutShort, error.to_string()));
            }
            _ => {}
        }
    }
    for line in rest.lines().take(5_000) {
        from_line(&mut nics, &words::plain(line));
    }
    nics.retain(|nic| nic.name != "lo" && !nic.name.starts_with("veth") && !nic.name.is_empty());
    if nics.is_empty() {
        return Err(words::why_nothing(out, "ip"));
    }
    let mut parsed = Parsed::default();
    for nic in nics.iter().take(500) {
        nic.write(&mut parsed);
    }
    Ok(parsed)
}

#[derive(Debug, Default)]
struct Nic {
    name: String,
    state: Option<String>,
    speed: Option<String>,
    /// Addresses of global scope; `None` when the protocol was not asked about.
    ipv4: Option<Vec<String>>,
    ipv6: Option<Vec<String>>,
}

impl Nic {
    fn write(&self, parsed: &mut Parsed) {
        let device = Device::of("nic", &self.name);
        let not_asked = || Absent::new(AbsentKind::NotReported, "not in the output");
        parsed.text(&device, keys::STATE, self.state.as_deref().unwrap_or("N/A"));
        let speed = match self.speed.as_deref().map(words::int) {
            Some(Ok(Value::Int(mbit))) if mbit > 0 => Ok(Value::Int(mbit)),
            Some(Ok(_)) => Err(Absent::new(AbsentKind::NotReported, "-1")), // The driver does not know.
            Some(Err(absent)) => Err(absent),
            None => Err(not_asked()),
        };
        parsed.push(&device, keys::SPEED, speed, "Mbit/s");
        for (key, addresses) in [(keys::IPV4, &self.ipv4), (keys::IPV6, &self.ipv6)] {
            push_addresses(parsed, &device, key, addresses.as_deref());
        }
    }
}

fn push_addresses(parsed: &mut Parsed, device: &Device, key: Key, addresses: Option<&[String]>) {
    match addresses {
        Some([]) => parsed.absent(device, key, AbsentKind::NotReported, "no address of global scope"),
        Some(list) => parsed.push(device, key, Ok(Value::Text(list.join(", "))), ""),
        None => parsed.absent(device, key, AbsentKind::NotReported, "not in the output"),
    }
}

/// The interface of this name, made when it is new. `ip` writes `eth0@if7` for one end of a pair.
fn nic<'a>(nics: &'a mut Vec<Nic>, name: &str) -> Option<&'a mut Nic> {
    let name = name.split('@').next().unwrap_or(name).trim_end_matches(':');
    let at = match nics.iter().position(|nic| nic.name == name) {
        Some(at) => at,
        None => {
            nics.push(Nic { name: name.to_owned(), ..Nic::default() });
            nics.len() - 1
        }
    };
    nics.get_mut(at)
}

fn from_json(nics: &mut Vec<Nic>, json: &Json) {
    // Old versions print an empty object for what they leave out.
    let Some(nic) = json.get("ifname").and_then(Json::as_str).and_then(|name| nic(nics, name)) else { return };
    nic.state = json.get("operstate").and_then(Json::as_str).map(str::to_lowercase);
    let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
    for address in json.get("addr_info").and_then(Json::as_array).into_iter().flatten().take(100) {
        let field = |key: &str| address.get(key).and_then(Json::as_str).unwrap_or_default();
        if field("scope") == "global" {
            match field("family") {
                "inet" => ipv4.push(field("local").to_owned()),
                "inet6" => ipv6.push(field("local").to_owned()),
                _ => {}
            }
        }
    }
    (nic.ipv4, nic.ipv6) = (Some(ipv4), Some(ipv6));
}

/// `2: eth0    inet 10.0.0.5/24 … scope global eth0` of `ip -o`, `sys eth0 up 10000` of `/sys`, or
/// `inet6 <32 digits> 02 40 00 80 eth0` of `/proc/net/if_inet6`, where scope `00` is global.
fn from_line(nics: &mut Vec<Nic>, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["sys", name, rest @ ..] if *name != "*" => {
            let Some(nic) = nic(nics, name) else { return };
            if let Some(state) = rest.first() {
                nic.state = Some((*state).to_owned());
            }
            nic.speed = rest.get(1).map(|speed| (*speed).to_owned());
        }
        ["inet6", digits, _, _, scope, _, name] if digits.len() == 32 => {
            let address = u128::from_str_radix(digits, 16).map(std::net::Ipv6Addr::from);
            let Some(nic) = nic(nics, name) else { return };
            let list = nic.ipv6.get_or_insert_default();
            if let Ok(address) = address
                && *scope == "00"
                && list.len() < 100
            {
                list.push(address.to_string());
            }
        }
        [number, name, family @ ("inet" | "inet6"), address, rest @ ..] if number.ends_with(':') => {
            let Some(nic) = nic(nics, name) else { return };
            let global = rest.windows(2).any(|two| two == ["scope", "global"]);
            // The tool lists both protocols of an interface, so the other one is known to have none so far.
            let (ipv4, ipv6) = (nic.ipv4.get_or_insert_default(), nic.ipv6.get_or_insert_default());
            let list = if *family == "inet" { ipv4 } else { ipv6 };
            if global && list.len() < 100 {
                list.push(address.split('/').next().unwrap_or(address).to_owned());
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::captures::{check_out, from_text};
    use super::*;

    #[test]
    fn reads_every_form() {
        let want = "nic:eth0 state up
            nic:eth0 speed 10000 Mbit/s
            nic:eth0 ipv4 10.0.0.5
            nic:eth0 ipv6 2001:db8::5";
        check_out(
            &PROBE,
            "ip -j",
            &from_text(
                "[{\"ifname\":\"lo\",\"operstate\":\"UNKNOWN\",\"addr_info\":[{\"family\":\"inet\",\"local\":\"127.0.0.1\",\"scope\":\"host\"}]},{},\
                 {\"ifname\":\"eth0\",\"operstate\":\"UP\",\"addr_info\":[{\"family\":\"inet\",\"local\":\"10.0.0.5\",\"prefixlen\":24,\"scope\":\"global\"},\
                 {\"family\":\"inet6\",\"local\":\"2001:db8::5\",\"scope\":\"global\"},{\"family\":\"inet6\",\"local\":\"fe80::1\",\"scope\":\"link\"}]}]\n\
                 sys eth0 up 10000\nsys lo unknown\nsys veth1a2b up 10000\n",
                "",
                0,
            ),
            want,
        );
        check_out(
            &PROBE,
            "ip -o",
            &from_text(
                "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever\n\
                 2: eth0    inet 10.0.0.5/24 brd 10.0.0.255 scope global dynamic eth0\\   valid_lft 80000sec\n\
                 2: eth0    inet6 2001:db8::5/64 scope global \\   valid_lft forever\n\
                 2: eth0    inet6 fe80::1/64 scope link \\   valid_lft forever\nsys eth0 up 10000\n",
                "",
                0,
            ),
            want,
        );
        check_out(
            &PROBE,
            "no ip",
            &from_text(
                "inet6 20010db8000000000000000000000005 02 40 00 80     eth0\n\
                 inet6 00000000000000000000000000000001 01 80 10 80       lo\nsys eth0 up -1\n",
                "",
                0,
            ),
            "nic:eth0 state up
            nic:eth0 speed (not reported: -1)
            nic:eth0 ipv4 (not reported: not in the output)
            nic:eth0 ipv6 2001:db8::5",
        );
        check_out(
            &PROBE,
            "cut",
            &from_text("[{\"ifname\":\"eth0\"", "", 0),
            "the output was cut short: EOF while parsing an object at line 1 column 17",
        );
        check_out(
            &PROBE,
            "nothing",
            &from_text("", "", 1),
            "the output is not what the parser knows: no output, code 1",
        );
    }
}
