//! The keys that a schema describes, in tables: one for each kind of object, at the shortest path that leads to it.

use std::collections::HashMap;

use serde_json::Value;

/// Definitions that have a page of their own.
const ELSEWHERE: [(&str, &str); 1] = [("Policies", "policies.md#keys")];

/// The keys of a kind of object.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    /// The path of these keys; empty at the top.
    pub(super) path: String,
    /// What the object is.
    pub(super) meaning: String,
    /// Further paths with the same keys.
    pub(super) also: Vec<String>,
    pub(super) keys: Vec<Key>,
}

/// A key.
#[derive(Debug, PartialEq)]
pub(super) struct Key {
    /// The whole path, without numbers in lists.
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) omitted: Omitted,
    pub(super) meaning: String,
    /// The names that it accepts, with their meanings.
    pub(super) choices: Vec<(String, String)>,
}

/// What a key is set to.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    /// A number, text or quantity, by its description.
    Plain(String),
    /// An object; the path of its table, or a link to its page.
    Table(String),
    /// Such objects in a list.
    Tables(String),
    /// The path of a key with the same alternatives.
    Same(String),
}

/// What an omitted key means.
#[derive(Debug, PartialEq)]
pub(super) enum Omitted {
    /// An error.
    Required,
    /// What the description says, if anything.
    Described,
    /// This value, as it stands in a file.
    Default(String),
}

/// All tables of a schema, each before those below it.
pub(super) fn tables(schema: &Value) -> Vec<Table> {
    let mut walk = Walk::new(schema);
    let mut open = walk.add("", schema);
    while let Some((name, path)) = open.pop() {
        let below = walk.add(&path, walk.definition(&name));
        open.extend(below);
    }
    for table in &mut walk.tables {
        table.also = walk.also.remove(&table.path).unwrap_or_default();
    }
    walk.tables
}

/// The state of a walk through a schema.
struct Walk<'a> {
    definitions: &'a Value,
    /// Definitions that were reached, with their path.
    reached: HashMap<String, String>,
    /// Those of the present table that get tables of their own, with their paths.
    below: Vec<(String, String)>,
    also: HashMap<String, Vec<String>>,
    tables: Vec<Table>,
}

/// A schema without the parts that only say that a value is optional or in a list.
struct Core<'a> {
    schema: &'a Value,
    /// The name of its definition.
    name: Option<&'a str>,
    is_list: bool,
}

/// What is known of a key before its schema is read.
struct Property<'a> {
    property: &'a Value,
    is_required: bool,
    /// Empty, where only its definition has a description.
    meaning: String,
}

impl<'a> Walk<'a> {
    fn new(schema: &'a Value) -> Self {
        let definitions = &schema["$defs"];
        let (reached, also) = (HashMap::new(), HashMap::new());
        Self { definitions, reached, below: Vec::new(), also, tables: Vec::new() }
    }

    fn definition(&self, name: &str) -> &'a Value {
        &self.definitions[name]
    }

    fn core(&self, mut schema: &'a Value) -> Core<'a> {
        let (mut name, mut is_list) = (None, false);
        loop {
            if let Some(reference) = schema["$ref"].as_str() {
                let last = reference.rsplit('/').next().unwrap_or(reference);
                name = Some(last);
                schema = self.definition(last);
            } else if let Some(only) = only_value(schema) {
                schema = only;
            } else if schema["items"].is_object() && name.is_none() {
                is_list = true;
                schema = &schema["items"];
            } else {
                return Core { schema, name, is_list };
            }
        }
    }

    /// Adds a table of the keys of `schema` at `path`, required keys first. Returns the definitions of tables below it,
    /// the first last.
    fn add(&mut self, path: &str, schema: &'a Value) -> Vec<(String, String)> {
        let mut keys = Vec::new();
        let required = |name: &str| {
            schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name))
        };
        let (first, then): (Vec<_>, Vec<_>) =
            properties(schema).partition(|(name, _)| required(name));
        for (name, property) in first.into_iter().chain(then) {
            let (is_required, meaning) = (required(name), text(property));
            self.key(&mut keys, joined(path, name), Property { property, is_required, meaning });
        }
        let (path, meaning) = (path.to_owned(), text(schema));
        self.tables.push(Table { path, meaning, also: Vec::new(), keys });
        self.below.reverse();
        std::mem::take(&mut self.below)
    }

    /// A key, and below it those that its alternatives have.
    fn key(&mut self, keys: &mut Vec<Key>, path: String, of: Property<'a>) {
        let Property { property, is_required, meaning } = of;
        let core = self.core(property);
        let meaning = if meaning.is_empty() { text(core.schema) } else { meaning };
        let alternatives = self.alternatives(core.schema);
        let choices = alternatives.iter().filter_map(|it| named(it)).collect();
        let kind = self.kind(&core, &path);
        let omitted = match (&property["default"], is_required, &kind) {
            (_, true, _) => Omitted::Required,
            (Value::Null, ..) | (_, _, Kind::Table(_) | Kind::Tables(_)) => Omitted::Described,
            (value, ..) => Omitted::Default(as_toml(value)),
        };
        keys.push(Key { path: path.clone(), kind, omitted, meaning, choices });
        // The keys of alternatives are listed where their definition was reached first.
        let first = core.name.and_then(|name| self.reached.get(name));
        if first.is_some_and(|first| *first != path) {
            return;
        }
        for alternative in alternatives {
            for (name, property) in properties(alternative) {
                let meaning = text(alternative);
                let of = Property { property, is_required: false, meaning };
                self.key(keys, joined(&path, name), of);
            }
        }
    }

    /// The alternatives of a choice, also where some of them are a choice of their own.
    fn alternatives(&self, schema: &'a Value) -> Vec<&'a Value> {
        let lists = ["oneOf", "anyOf"].into_iter().filter_map(|word| schema[word].as_array());
        let mut found = Vec::new();
        for alternative in lists.flatten().filter(|it| it["type"] != "null") {
            let core = self.core(alternative).schema;
            let inner = self.alternatives(core);
            if inner.is_empty() { found.push(core) } else { found.extend(inner) }
        }
        found
    }

    fn kind(&mut self, core: &Core<'a>, path: &str) -> Kind {
        let alternatives = self.alternatives(core.schema);
        let plain = || {
            let of = plain(core.schema, &alternatives);
            if core.is_list { format!("list of: {of}") } else { of }
        };
        if let Some((_, link)) = ELSEWHERE.iter().find(|(name, _)| core.name == Some(name)) {
            return Kind::Table((*link).to_owned());
        }
        let map = &core.schema["additionalProperties"];
        if map.is_object() {
            let value = self.core(map);
            let below = joined(path, "NAME");
            if value.schema["properties"].is_object()
                && let Some(table) = self.reach(&value, &below)
            {
                return Kind::Table(table);
            }
            let of = self::plain(value.schema, &self.alternatives(value.schema));
            let list = if value.is_list { "list of: " } else { "" };
            return Kind::Plain(format!("table of: {list}{of}"));
        }
        let is_object = core.schema["properties"].is_object();
        let has_objects = alternatives.iter().any(|it| it["properties"].is_object());
        if !is_object && !has_objects {
            return Kind::Plain(plain());
        }
        match (self.reach(core, path), is_object, core.is_list) {
            (Some(table), true, false) => Kind::Table(table),
            (Some(table), true, true) => Kind::Tables(table),
            (Some(first), false, _) if first != path => Kind::Same(first),
            _ => Kind::Plain(plain()),
        }
    }

    /// Where the keys of a definition are described: here, unless it was reached before.
    fn reach(&mut self, core: &Core<'a>, path: &str) -> Option<String> {
        let name = core.name?;
        if let Some(first) = self.reached.get(name) {
            self.also.entry(first.clone()).or_default().push(path.to_owned());
            return Some(first.clone());
        }
        self.reached.insert(name.to_owned(), path.to_owned());
        if core.schema["properties"].is_object() {
            self.below.push((name.to_owned(), path.to_owned()));
        }
        Some(path.to_owned())
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}

/// What is optional, where a schema says no more than that.
fn only_value(schema: &Value) -> Option<&Value> {
    let [first, second] = schema["anyOf"].as_array()?.as_slice() else { return None };
    (second["type"] == "null").then_some(first)
}

/// A name that can be chosen, with its meaning.
fn named(alternative: &Value) -> Option<(String, String)> {
    Some((alternative["const"].as_str()?.to_owned(), text(alternative)))
}

/// What a value without keys of its own is.
fn plain(schema: &Value, alternatives: &[&Value]) -> String {
    let is_choice = |it: &&&Value| it["const"].is_string() || it["properties"].is_object();
    if alternatives.is_empty() {
        return scalar(schema);
    }
    let mut kinds: Vec<String> =
        alternatives.iter().filter(|it| !is_choice(it)).map(|it| scalar(it)).collect();
    if alternatives.iter().any(|it| is_choice(&it)) {
        kinds.push("choice".to_owned());
    }
    kinds.join(" or ")
}

fn scalar(schema: &Value) -> String {
    let description = text(schema);
    if let Some(quantity) = description.strip_prefix("a ").filter(|_| schema["pattern"].is_string())
    {
        return quantity.split([',', ':']).next().unwrap_or(quantity).to_owned();
    }
    let types = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).find(|it| *it != "null"),
        other => other.as_str(),
    };
    match types {
        Some("string") | None => "text",
        Some("array") => "list",
        Some(other) => other,
    }
    .to_owned()
}

/// The description of a schema in one line.
fn text(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    without_links(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Text whose links to items of the code are names only.
fn without_links(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((name, rest)) = part.split_once("`]") else {
            out.push_str("[`");
            out.push_str(part);
            continue;
        };
        let rest = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((_, rest)) => rest,
            None => rest,
        };
        out.push('`');
        out.push_str(name.rsplit("::").next().unwrap_or(name));
        out.push('`');
        out.push_str(rest);
    }
    without_targets(&out)
}

/// Text whose links with words of their own are these words.
fn without_targets(text: &str) -> String {
    let Some((before, after)) = text.split_once("](") else { return text.to_owned() };
    match (before.rsplit_once('['), after.split_once(')')) {
        (Some((start, words)), Some((target, rest))) if target.contains("::") => {
            format!("{start}{words}{}", without_targets(rest))
        }
        _ => format!("{before}]({}", without_targets(after)),
    }
}

fn as_toml(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| format!("{name} = {}", as_toml(value)));
            match fields.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "{}".to_owned(),
                fields => format!("{{ {fields} }}"),
            }
        }
        Value::Array(values) => {
            format!("[{}]", values.iter().map(as_toml).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn example() -> Value {
        json!({
            "type": "object",
            "required": ["links"],
            "properties": {
                "burst": { "$ref": "#/$defs/Burst", "default": "off" },
                "links": { "type": "array", "items": { "$ref": "#/$defs/Link" } },
                "spare": { "anyOf": [{ "$ref": "#/$defs/Link" }, { "type": "null" }] },
                "weights": { "type": "object", "additionalProperties": { "type": "number" }, "default": {} },
            },
            "$defs": {
                "Burst": { "description": "Limit of bursts.", "oneOf": [
                    { "const": "off", "description": "No limit." },
                    { "properties": { "max": { "type": "integer" } }, "description": "See [`a::Max`](b)." },
                ] },
                "Link": { "description": "A link.", "properties": { "burst": { "$ref": "#/$defs/Burst" } } },
            },
        })
    }

    #[test]
    fn keys_have_one_place_and_required_ones_come_first() {
        let tables = tables(&example());
        let [top, link] = tables.as_slice() else { panic!("{tables:?}") };
        let paths: Vec<&str> = top.keys.iter().map(|key| key.path.as_str()).collect();
        assert_eq!(paths, ["links", "burst", "burst.max", "spare", "weights"]);
        assert_eq!((top.keys[0].omitted == Omitted::Required, &link.path[..]), (true, "links"));
        assert_eq!((&link.also, &link.meaning[..]), (&vec!["spare".to_owned()], "A link."));
        assert_eq!(link.keys[0].kind, Kind::Same("burst".to_owned()));
    }

    #[test]
    fn choices_have_their_names_and_defaults() {
        let tables = tables(&example());
        let burst = &tables[0].keys[1];
        assert_eq!(burst.choices, [("off".to_owned(), "No limit.".to_owned())]);
        assert_eq!(burst.omitted, Omitted::Default("\"off\"".to_owned()));
        assert_eq!(
            (&burst.meaning[..], &burst.kind),
            ("Limit of bursts.", &Kind::Plain("choice".to_owned()))
        );
        assert_eq!(tables[0].keys[2].meaning, "See `Max`.");
    }

    #[test]
    fn links_to_the_code_are_their_words() {
        for (text, expected) in [
            ("If [asked](a::B) for, [twice](a::B::c).", "If asked for, twice."),
            (
                "[`B`](a::B) of [a page](https://x.org), [0, 1](",
                "`B` of [a page](https://x.org), [0, 1](",
            ),
        ] {
            assert_eq!(without_links(text), expected);
        }
    }

    #[test]
    fn values_without_keys_have_no_table_of_their_own() {
        let mut example = example();
        let weights = |schema: &Value| {
            let top = tables(schema).remove(0);
            let key = top.keys.into_iter().find(|key| key.path == "weights");
            key.map(|key| (key.kind, key.omitted))
        };
        let plain = Kind::Plain("table of: number".to_owned());
        assert_eq!(weights(&example), Some((plain, Omitted::Default("{}".to_owned()))));
        example["properties"]["weights"]["additionalProperties"] =
            json!({ "$ref": "#/$defs/Link" });
        let table = Kind::Table("links".to_owned());
        assert_eq!(weights(&example), Some((table, Omitted::Described)));
    }
}
