//! JSON with sorted keys, independent of the order in memory; the name of a run is a hash of it. Of a file that a scenario
//! names, the content counts, not the location.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use serde::ser::{self, Serialize, Serializer};
use serde_json::{Error, Value};

/// Position of a value; in two of them, keys are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    /// The scenario itself.
    Scenario,
    /// Its table `run`.
    Run,
    /// Everything else.
    Inside,
}

impl Level {
    /// Whether a key has no effect on results.
    fn leaves_out(self, key: &str) -> bool {
        matches!((self, key), (Self::Scenario, "title") | (Self::Run, "seed"))
    }

    fn under(self, key: &str) -> Self {
        if self == Self::Scenario && key == "run" { Self::Run } else { Self::Inside }
    }
}

/// The name of a file, beside [`DIGEST`] in its table.
const FILE: &str = "file";
/// The hash of its content, which is there in every scenario that was read.
const DIGEST: &str = "digest";

/// A scenario as JSON with sorted keys and a comma after each element, without its title and its seed, and without the
/// names of files.
pub(super) fn canonical(scenario: &impl Serialize) -> Result<String, Error> {
    let mut out = String::new();
    scenario.serialize(Canonical { out: &mut out, level: Level::Scenario })?;
    Ok(out)
}

/// Writes a value.
struct Canonical<'a> {
    out: &'a mut String,
    level: Level,
}

/// Writes elements.
struct List<'a> {
    out: &'a mut String,
    end: &'static str,
}

/// Writes keys and values, and sorts them at the end.
struct Object<'a> {
    out: &'a mut String,
    level: Level,
    begin: usize,
    /// Keys, with the ranges of their members in the text.
    fields: Vec<(Cow<'static, str>, Range<usize>)>,
    /// The key of the next value.
    key: String,
    end: &'static str,
}

impl<'a> Canonical<'a> {
    /// Begins a table with the name of a choice as its only key.
    fn choice(self, variant: &str) -> &'a mut String {
        self.out.push('{');
        push_text(self.out, variant);
        self.out.push(':');
        self.out
    }
}

impl<'a> List<'a> {
    fn begin(out: &'a mut String, end: &'static str) -> Self {
        out.push('[');
        Self { out, end }
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Canonical { out: self.out, level: Level::Inside })?;
        self.out.push(',');
        Ok(())
    }

    fn close(self) {
        self.out.push_str(self.end);
    }
}

impl<'a> Object<'a> {
    fn begin(out: &'a mut String, level: Level, end: &'static str) -> Self {
        out.push('{');
        Self { begin: out.len(), out, level, fields: Vec::new(), key: String::new(), end }
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        key: Cow<'static, str>,
        value: &T,
    ) -> Result<(), Error> {
        if self.level.leaves_out(&key) {
            return Ok(());
        }
        let start = self.out.len();
        push_text(self.out, &key);
        self.out.push(':');
        value.serialize(Canonical { out: self.out, level: self.level.under(&key) })?;
        self.out.push(',');
        self.fields.push((key, start..self.out.len()));
        Ok(())
    }

    fn close(mut self) {
        let has_digest = self.fields.iter().any(|(key, _)| key == DIGEST);
        let named = self.fields.iter().position(|(key, _)| has_digest && key == FILE);
        if let Some(file) = named {
            self.fields.remove(file);
        }
        if named.is_some() || !self.fields.is_sorted_by(|one, other| one.0 <= other.0) {
            let written = self.out.split_off(self.begin);
            self.fields.sort_by(|one, other| one.0.cmp(&other.0));
            let shift = self.begin;
            let texts =
                self.fields.iter().map(|(_, at)| &written[at.start - shift..at.end - shift]);
            self.out.extend(texts);
        }
        self.out.push_str(self.end);
    }
}

/// Text in quotes.
fn push_text(out: &mut String, text: &str) {
    if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
        out.push_str(&Value::from(text).to_string());
        return;
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}

/// Methods for types of numbers with the same notation.
macro_rules! as_displayed {
    ($($method:ident: $kind:ty),+) => {
        $(fn $method(self, value: $kind) -> Result<(), Error> {
            // Writing to memory cannot fail.
            let _ = write!(self.out, "{value}");
            Ok(())
        })+
    };
}

impl<'a> Serializer for Canonical<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = List<'a>;
    type SerializeTuple = List<'a>;
    type SerializeTupleStruct = List<'a>;
    type SerializeTupleVariant = List<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    as_displayed!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        // As JSON has it: `1.0`, and `null` for what is no number.
        self.out.push_str(&Value::from(value).to_string());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        push_text(self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let out = self.choice(variant);
        value.serialize(Canonical { out, level: Level::Inside })?;
        out.push_str(",}");
        Ok(())
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<List<'a>, Error> {
        Ok(List::begin(self.out, "]"))
    }

    fn serialize_tuple(self, _length: usize) -> Result<List<'a>, Error> {
        Ok(List::begin(self.out, "]"))
    }

    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        _length: usize,
    ) -> Result<List<'a>, Error> {
        Ok(List::begin(self.out, "]"))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<List<'a>, Error> {
        Ok(List::begin(self.choice(variant), "],}"))
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Object<'a>, Error> {
        Ok(Object::begin(self.out, self.level, "}"))
    }

    fn serialize_struct(self, _name: &'static str, _length: usize) -> Result<Object<'a>, Error> {
        Ok(Object::begin(self.out, self.level, "}"))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        _length: usize,
    ) -> Result<Object<'a>, Error> {
        Ok(Object::begin(self.choice(variant), Level::Inside, "},}"))
    }
}

/// Traits of lists, which have the same implementation.
macro_rules! lists {
    ($($kind:ident::$method:ident),+) => {
        $(impl ser::$kind for List<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        })+
    };
}

lists!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// Traits of structures, which have the same implementation.
macro_rules! objects {
    ($($kind:ident),+) => {
        $(impl ser::$kind for Object<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.field(Cow::Borrowed(key), value)
            }

            fn end(self) -> Result<(), Error> {
                self.close();
                Ok(())
            }
        })+
    };
}

objects!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = match serde_json::to_value(key)? {
            Value::String(text) => text,
            other => other.to_string(),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = std::mem::take(&mut self.key);
        self.field(Cow::Owned(key), value)
    }

    fn end(self) -> Result<(), Error> {
        self.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    struct Run {
        seed: u64,
        duration: f64,
    }

    #[derive(Serialize)]
    struct Whole {
        title: &'static str,
        run: Run,
        rest: Rest,
        missing: Option<u8>,
        choices: Vec<Choice>,
    }

    #[derive(Serialize)]
    struct Rest {
        title: &'static str,
        seed: i8,
        map: BTreeMap<u8, f64>,
        a: (bool, char),
    }

    #[derive(Serialize)]
    struct Named {
        file: &'static str,
        digest: &'static str,
        format: u8,
    }

    #[derive(Serialize)]
    enum Choice {
        Unit,
        Newtype(&'static str),
        Tuple(u8, u8),
        Struct { z: u8, a: () },
    }

    fn whole(title: &'static str, seed: u64) -> Whole {
        let map = [(10, 0.5), (9, f64::NAN)].into();
        Whole {
            title,
            run: Run { seed, duration: 1.0 },
            rest: Rest { title: "say \"x\"\n", seed: -3, map, a: (true, 'ä') },
            missing: None,
            choices: vec![
                Choice::Unit,
                Choice::Newtype("\u{1}"),
                Choice::Tuple(1, 2),
                Choice::Struct { z: 1, a: () },
            ],
        }
    }

    #[test]
    fn a_file_counts_by_its_content_and_not_by_its_name() {
        let named = |file, digest| canonical(&Named { file, digest, format: 1 }).expect("JSON");
        assert_eq!(named("a.csv", "x"), r#"{"digest":"x","format":1,}"#);
        assert_eq!(named("a.csv", "x"), named("/elsewhere/b.csv", "x"));
        assert_ne!(named("a.csv", "x"), named("a.csv", "y"));
        // Without a hash, the name is all there is.
        assert_eq!(canonical(&json!({ "file": "a" })).expect("JSON"), r#"{"file":"a",}"#);
    }

    #[test]
    fn keys_are_sorted_at_every_level() {
        let text = canonical(&whole("t", 7)).expect("JSON");
        let expected = concat!(
            r#"{"choices":["Unit",{"Newtype":"\u0001",},{"Tuple":[1,2,],},{"Struct":{"a":null,"z":1,},},],"#,
            r#""missing":null,"rest":{"a":[true,"ä",],"map":{"10":0.5,"9":null,},"seed":-3,"title":"say \"x\"\n",},"#,
            r#""run":{"duration":1.0,},}"#
        );
        assert_eq!(text, expected);
        assert_eq!(text, canonical(&whole("u", 8)).expect("JSON"), "title and seed are elsewhere");
        // What is written is JSON but for its last commas.
        let plain: Value =
            serde_json::from_str(&text.replace(",}", "}").replace(",]", "]")).expect("JSON");
        assert_eq!(plain["rest"]["map"], json!({ "9": null, "10": 0.5 }));
    }
}
