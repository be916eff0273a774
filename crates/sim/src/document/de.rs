//! Deserializes structures from layers of trees.

use std::collections::BTreeMap;
use std::slice;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::{Problem, nearest};
use super::node::{Entry, Node, Origin, Value};
use super::{Step, words};

/// Values for one place, by precedence; tables are merged when a structure is read.
#[derive(Clone, Debug)]
pub(super) struct Layers<'a>(Vec<&'a Node>);

impl<'a> Layers<'a> {
    pub fn new(nodes: impl IntoIterator<Item = &'a Node>) -> Self {
        Self(nodes.into_iter().collect())
    }

    /// The value with the highest precedence; without any, an empty table.
    fn top(&self) -> &'a Node {
        static NOTHING: Node = Node { value: Value::Table(Vec::new()), origin: Origin::Default };
        self.0.first().copied().unwrap_or(&NOTHING)
    }

    /// The fields of a table; for other values, an error that names what was `expected`.
    fn fields<V: Visitor<'a>>(
        self,
        visitor: V,
        expected: impl FnOnce(&V) -> String,
    ) -> Result<V::Value, Problem> {
        match &self.top().value {
            Value::Table(_) => self.deserialize_any(visitor),
            other => Err(unfit(&expected(&visitor), other).at(self.top().origin)),
        }
    }

    /// The elements of a list of this length.
    fn elements<V: Visitor<'a>>(self, len: usize, visitor: V) -> Result<V::Value, Problem> {
        match &self.top().value {
            Value::Array(nodes) if nodes.len() == len => self.deserialize_any(visitor),
            other => Err(unfit(&words::list_of(len), other).at(self.top().origin)),
        }
    }

    /// All keys of these tables, with the values of each.
    fn merged(&self) -> Vec<(&'a Entry, Self)> {
        let tables: Vec<&'a [Entry]> = self
            .0
            .iter()
            .map_while(|node| match &node.value {
                Value::Table(entries) => Some(entries.as_slice()),
                _ => None,
            })
            .collect();
        let mut keys: Vec<(&'a Entry, Self)> = Vec::new();
        let mut places = BTreeMap::new();
        for entry in tables.iter().copied().flatten() {
            let place = *places.entry(entry.key.as_str()).or_insert(keys.len());
            match keys.get_mut(place) {
                Some((_, layers)) => layers.0.push(&entry.node),
                None => keys.push((entry, Self(vec![&entry.node]))),
            }
        }
        keys
    }
}

impl<'de> Deserializer<'de> for Layers<'de> {
    type Error = Problem;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let Node { value, origin } = self.top();
        let result = match value {
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => match u64::try_from(*number) {
                Ok(number) => visitor.visit_u64(number),
                Err(_) => visitor.visit_i64(*number),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(truth) => visitor.visit_bool(*truth),
            Value::Date(text) => Err(de::Error::invalid_type(
                Unexpected::Other(&format!("the date {text}")),
                &visitor,
            )),
            Value::Array(nodes) => visitor.visit_seq(Elements { nodes: nodes.iter(), done: 0 }),
            Value::Table(_) => {
                visitor.visit_map(Fields { rest: self.merged().into_iter(), value: None })
            }
        };
        result.map_err(|problem| problem.at(*origin))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.fields(visitor, |visitor| words::table(visitor, fields))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.fields(visitor, |visitor| words::expected(visitor))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let Node { value, origin } = self.top();
        if matches!(value, Value::Array(_)) {
            return self.deserialize_any(visitor);
        }
        let problem = unfit(&words::expected(&visitor), value).at(*origin);
        Err(match value {
            Value::String(text) => problem.with_help(format!("write [\"{text}\"]")),
            Value::Integer(number) => problem.with_help(format!("write [{number}]")),
            Value::Float(number) => problem.with_help(format!("write [{number:?}]")),
            Value::Table(_) => problem.with_help("write [{ … }], or [[…]] above its keys"),
            _ => problem,
        })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.elements(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.elements(len, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let Node { value, origin } = self.top();
        let choice = match value {
            Value::String(name) => Choice { name, name_origin: *origin, content: None },
            Value::Table(entries) => match entries.as_slice() {
                [Entry { key, key_origin, node }] => {
                    Choice { name: key, name_origin: *key_origin, content: Some(node) }
                }
                _ => return Err(not_one(value, variants, &visitor).at(*origin)),
            },
            _ => return Err(not_one(value, variants, &visitor).at(*origin)),
        };
        if let Some(problem) = no_choice(choice.name, variants, &visitor) {
            return Err(problem.at(choice.name_origin));
        }
        visitor.visit_enum(choice).map_err(|problem| problem.at(*origin))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct identifier
        ignored_any
    }
}

fn unfit(expected: &str, found: &Value) -> Problem {
    Problem::new(format!("expected {expected}, found {}", words::found_value(found)))
}

/// The error for a value that is neither the name of a choice nor a table with it as the only key. The type may
/// describe what it expects; the names alone do not show which of them take a value.
fn not_one(value: &Value, variants: &[&str], by: &dyn Expected) -> Problem {
    let names = variants.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let found = words::found_value(value);
    match words::own(by) {
        Some(text) => Problem::new(format!("expected {text}, found {found}"))
            .with_help(format!("choices: {names}")),
        None => Problem::new(format!(
            "expected one of {names}, by itself or as the only key of a table, found {found}"
        )),
    }
}

/// The error for an unknown choice, with the nearest name or else the description of the type.
fn no_choice(name: &str, variants: &'static [&'static str], by: &dyn Expected) -> Option<Problem> {
    if variants.contains(&name) {
        return None;
    }
    let problem: Problem = de::Error::unknown_variant(name, variants);
    let near = nearest(name, variants.iter().copied());
    match words::own(by).filter(|_| near.is_none()) {
        Some(text) => {
            let names: Vec<String> = variants.iter().map(|name| format!("`{name}`")).collect();
            Some(problem.with_help(format!("expected {text}; choices: {}", names.join(", "))))
        }
        None => Some(problem),
    }
}

/// Elements of an array; arrays are not merged.
struct Elements<'de> {
    nodes: slice::Iter<'de, Node>,
    done: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        let Some(node) = self.nodes.next() else {
            return Ok(None);
        };
        let step = Step::Index(self.done);
        self.done += 1;
        let result = seed.deserialize(Layers(vec![node]));
        result.map(Some).map_err(|problem| problem.at(node.origin).under(&step))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.nodes.len())
    }
}

/// Keys and values of merged tables.
struct Fields<'de> {
    rest: std::vec::IntoIter<(&'de Entry, Layers<'de>)>,
    value: Option<(&'de Entry, Layers<'de>)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Problem> {
        let Some((entry, layers)) = self.rest.next() else {
            return Ok(None);
        };
        self.value = Some((entry, layers));
        let name: StrDeserializer<'_, Problem> = entry.key.as_str().into_deserializer();
        seed.deserialize(name).map(Some).map_err(|problem| problem.at(entry.key_origin))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Problem> {
        let Some((entry, layers)) = self.value.take() else {
            return Err(Problem::new("a value was asked for before its key"));
        };
        let result = seed.deserialize(layers);
        result.map_err(|problem| problem.at(entry.node.origin).under(&Step::Key(&entry.key)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// One variant: its name, and its content if it was written as a table.
struct Choice<'de> {
    name: &'de str,
    name_origin: Origin,
    content: Option<&'de Node>,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Problem;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Problem> {
        let name: StrDeserializer<'_, Problem> = self.name.into_deserializer();
        let value = seed.deserialize(name).map_err(|problem| problem.at(self.name_origin))?;
        Ok((value, self))
    }
}

impl<'de> Choice<'de> {
    fn content(&self) -> Result<&'de Node, Problem> {
        self.content.ok_or_else(|| {
            let name = self.name;
            Problem::new(format!("`{name}` needs a value"))
                .with_help(format!("write {{ {name} = … }}"))
                .at(self.name_origin)
        })
    }

    fn inside<T>(&self, result: Result<T, Problem>) -> Result<T, Problem> {
        result.map_err(|problem| problem.under(&Step::Key(self.name)))
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        match self.content {
            None => Ok(()),
            Some(node) => {
                let name = self.name;
                Err(Problem::new(format!("`{name}` takes no value"))
                    .with_help(format!("write \"{name}\""))
                    .at(node.origin))
            }
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Problem> {
        let node = self.content()?;
        self.inside(seed.deserialize(Layers(vec![node])))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Problem> {
        let node = self.content()?;
        self.inside(Layers(vec![node]).elements(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let node = self.content()?;
        self.inside(Layers(vec![node]).fields(visitor, |visitor| words::table(visitor, fields)))
    }
}
