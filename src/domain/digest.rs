//! SHA-256 as hexadecimal text.

use sha2::{Digest, Sha256};

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").ok();
        hex
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn digest_of_nothing_and_of_abc() {
        assert_eq!(super::sha256_hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(super::sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
