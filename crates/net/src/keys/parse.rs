//! The text of a file of keys.

use thiserror::Error;

use super::{Key, KeyRing, MAX_KEYS, Secret};

/// Shortest key in bytes.
const MIN_BYTES: usize = 16;

/// Longest key in bytes. A longer one makes HMAC-SHA-256 no safer.
const MAX_BYTES: usize = 64;

/// Longest name in characters.
const MAX_NAME: usize = 64;

/// Error in the text of a file of keys. Errors contain nothing of the text, which may be a misplaced key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum KeyTextError {
    /// There is no key.
    #[error("it has no key: `polypath key new` makes a file with one")]
    Empty,
    /// A line does not have two words.
    #[error("line {0}: a line must have a name, a space and a key")]
    Words(usize),
    /// A name has invalid characters or is too long.
    #[error(
        "line {0}: a name must have at most {MAX_NAME} characters, only letters, digits and . - _ @"
    )]
    Name(usize),
    /// The key is not written in hexadecimal digits.
    #[error("line {0}: the key is not written in pairs of hexadecimal digits")]
    Digits(usize),
    /// The key is too short or too long.
    #[error(
        "line {line}: a key of {bytes} bytes; it must have {MIN_BYTES} to {MAX_BYTES} \
         ({} to {} digits)", 2 * MIN_BYTES, 2 * MAX_BYTES
    )]
    Length {
        /// Line.
        line: usize,
        /// Its length.
        bytes: usize,
    },
    /// A name, a key, or the identifier of a key occurs twice.
    #[error("line {line}: {what} is that of line {before}; every key needs its own")]
    Taken {
        /// Line.
        line: usize,
        /// What occurs twice.
        what: &'static str,
        /// Line of the first one.
        before: usize,
    },
    /// There are too many keys.
    #[error("line {0}: a file has at most {MAX_KEYS} keys")]
    TooMany(usize),
}

impl KeyRing {
    /// Reads the text of a file of keys.
    ///
    /// # Errors
    ///
    /// The first error in the text, with its line.
    pub fn parse(text: &str) -> Result<Self, KeyTextError> {
        let mut keys: Vec<(usize, Key)> = Vec::new();
        for (line, written) in (1..).zip(text.lines()) {
            let written = written.split_once('#').map_or(written, |(before, _)| before);
            if written.trim().is_empty() {
                continue;
            }
            let key = read(line, written)?;
            if let Some((before, what)) = keys.iter().find_map(|(at, known)| {
                let what = repeated(known, &key)?;
                Some((*at, what))
            }) {
                return Err(KeyTextError::Taken { line, what, before });
            }
            if keys.len() == MAX_KEYS {
                return Err(KeyTextError::TooMany(line));
            }
            keys.push((line, key));
        }
        if keys.is_empty() {
            return Err(KeyTextError::Empty);
        }
        Ok(Self(keys.into_iter().map(|(_, key)| key).collect()))
    }
}

fn read(line: usize, written: &str) -> Result<Key, KeyTextError> {
    let mut words = written.split_whitespace();
    let (Some(name), Some(digits), None) = (words.next(), words.next(), words.next()) else {
        return Err(KeyTextError::Words(line));
    };
    if !is_name(name) {
        return Err(KeyTextError::Name(line));
    }
    let secret = bytes(digits).ok_or(KeyTextError::Digits(line))?;
    match secret.len() {
        MIN_BYTES..=MAX_BYTES => Ok(Key::new(name, secret)),
        bytes => Err(KeyTextError::Length { line, bytes }),
    }
}

/// Whether this is a valid name of a key.
pub(super) fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@');
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(allowed)
}

fn bytes(digits: &str) -> Option<Secret> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    // In place: a vector that grows leaves a copy behind.
    let mut secret = Secret::new(vec![0; pairs.len()].into());
    for (byte, &[high, low]) in secret.iter_mut().zip(pairs) {
        *byte = u8::try_from(digit(high)? * 16 + digit(low)?).ok()?;
    }
    rest.is_empty().then_some(secret)
}

/// The part in which two keys must differ and do not.
fn repeated(known: &Key, key: &Key) -> Option<&'static str> {
    if known.name == key.name {
        Some("the name")
    } else if known.secret == key.secret {
        Some("the key")
    } else if known.id == key.id {
        Some("the identifier of the key (make another)")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: &str = "000102030405060708090a0b0c0d0e0f";
    const L: &str = "0f0e0d0c0b0a09080706050403020100";

    #[test]
    fn a_file_has_a_key_per_line() {
        for (text, names) in [
            (format!("alice {K}"), &["alice"][..]),
            (format!("alice {K}\r\n"), &["alice"]),
            (format!("# keys\n\n \talice\t {K}   # laptop\n#bob {L}\n"), &["alice"]),
            (format!("alice {K}\nbob@example.net {L}"), &["alice", "bob@example.net"]),
            (format!("a {}", K.to_uppercase()), &["a"]),
            (format!("a-1_2.x {}", K.repeat(4)), &["a-1_2.x"]),
        ] {
            let ring = KeyRing::parse(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(ring.names().collect::<Vec<_>>(), names, "{text:?}");
        }
    }

    #[test]
    fn whatever_is_no_key_is_refused_with_its_line_and_without_its_text() {
        use KeyTextError as E;
        let many: String = (0..=MAX_KEYS).map(|n| format!("k{n} {:032x}\n", n + 100)).collect();
        for (text, error) in [
            (String::new(), E::Empty),
            ("# nothing\n\n".to_owned(), E::Empty),
            (K.to_owned(), E::Words(1)),
            (format!("\nalice {K} {L}"), E::Words(2)),
            (format!("alice{K}\n"), E::Words(1)),
            (format!("al/ice {K}"), E::Name(1)),
            (format!("\u{1b}[31m {K}"), E::Name(1)),
            (format!("älice {K}"), E::Name(1)),
            (format!("{} {K}", "a".repeat(65)), E::Name(1)),
            (format!("{K} alice"), E::Digits(1)),
            (format!("alice {K}0"), E::Digits(1)),
            (format!("alice +{}", &K[1..]), E::Digits(1)),
            (format!("alice {}", "é".repeat(16)), E::Digits(1)),
            (format!("alice {}", &K[2..]), E::Length { line: 1, bytes: 15 }),
            (format!("alice {}00", K.repeat(4)), E::Length { line: 1, bytes: 65 }),
            (
                format!("alice {K}\n# x\nalice {L}"),
                E::Taken { line: 3, what: "the name", before: 1 },
            ),
            (
                format!("alice {K}\nbob {}", K.to_uppercase()),
                E::Taken { line: 2, what: "the key", before: 1 },
            ),
            (
                format!("alice {:032x}\nbob {:032x}", 18, 29),
                E::Taken { line: 2, what: "the identifier of the key (make another)", before: 1 },
            ),
            (many, E::TooMany(MAX_KEYS + 1)),
        ] {
            let told = KeyRing::parse(&text).expect_err(&text);
            assert_eq!(told, error, "{text:?}");
            let told = told.to_string();
            assert!(!told.contains(&K[..8]) && !told.contains("ice"), "{text:?}: {told}");
        }
    }
}
