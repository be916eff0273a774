//! A checksum at the end of each line, which detects changes by a damaged disk or an editor.

use polypath_netsim::TraceHasher;

/// Between the JSON of a line and its checksum. Within JSON this character is written as an escape.
const MARK: u8 = b'\t';

/// Fault of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("its checksum is wrong, so something has changed it")]
pub(super) struct WrongChecksum;

/// A line with its checksum and line end.
pub(super) fn seal(mut json: String) -> String {
    let checksum = checksum(json.as_bytes());
    json.push(char::from(MARK));
    json.push_str(&checksum);
    json.push('\n');
    json
}

/// JSON of a line. Lines of older programs have no checksum, and are accepted.
pub(super) fn open(line: &[u8]) -> Result<&[u8], WrongChecksum> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let Some(mark) = line.iter().rposition(|byte| *byte == MARK) else { return Ok(line) };
    let (json, found) = (&line[..mark], &line[mark + 1..]);
    if found == checksum(json).as_bytes() { Ok(json) } else { Err(WrongChecksum) }
}

fn checksum(json: &[u8]) -> String {
    let mut hasher = TraceHasher::new();
    hasher.bytes(json);
    hasher.hash().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_changes_in_a_line_is_found() {
        let json = "{\"a\":\"b\\t\",\"c\":0.125}";
        let sealed = seal(json.to_owned());
        assert_eq!(open(sealed.as_bytes()), Ok(json.as_bytes()));
        for (place, byte) in sealed.bytes().enumerate() {
            for other in [byte ^ 1, byte ^ 0x10, b'0', b'9', 0] {
                let mut changed = sealed.clone().into_bytes();
                changed[place] = other;
                // The rest of a damaged mark is not JSON, which the parser reports.
                let is_found = match open(&changed) {
                    Err(WrongChecksum) => true,
                    Ok(opened) => serde_json::from_slice::<serde_json::Value>(opened).is_err(),
                };
                assert!(is_found || other == byte || byte == b'\n', "{place}: {other}");
            }
        }
    }

    #[test]
    fn lines_of_before_are_read() {
        assert_eq!(open(b"{\"shape\":[]}\n"), Ok(&b"{\"shape\":[]}"[..]));
    }
}
