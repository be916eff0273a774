//! Bytes as text.

use std::fmt::Write;

pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String");
        text
    })
}

pub fn decode(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "odd number of hexadecimal digits");
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}
