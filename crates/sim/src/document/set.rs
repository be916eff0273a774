//! Edits from the command line.

use super::Step;
use super::error::{Problem, nearest};
use super::node::{self, Entry, Node, Origin, Value};

/// Applies edit number `index`, `key.to.value=value`.
pub(super) fn apply(root: &mut Node, edit: &str, index: usize) -> Result<(), Problem> {
    let origin = Origin::Set(index);
    let Some((key, value)) = edit.split_once('=') else {
        return Err(Problem::new("an edit has the form key=value")
            .with_help("for example: run.duration=\"10 s\"")
            .at(origin));
    };
    check(key, origin)?;
    let value = value_of(value.trim(), origin)?;
    put(root, key, value, origin)
}

/// Puts a value at `key.to.value`.
pub(super) fn put(root: &mut Node, key: &str, value: Node, origin: Origin) -> Result<(), Problem> {
    check(key, origin)?;
    let steps: Vec<&str> = steps(key).collect();
    *place(root, &steps, origin)? = value;
    Ok(())
}

fn steps(key: &str) -> impl Iterator<Item = &str> {
    key.split('.').map(str::trim)
}

fn check(key: &str, origin: Origin) -> Result<(), Problem> {
    if steps(key).any(str::is_empty) {
        return Err(Problem::new("a key has names with dots between them").at(origin));
    }
    Ok(())
}

/// Parses TOML; other text is a string without quotes.
fn value_of(text: &str, origin: Origin) -> Result<Node, Problem> {
    match node::parse_value(text, origin) {
        Ok(node) if !matches!(node.value, Value::Date(_)) => Ok(node),
        // Text that begins like TOML was meant as TOML, so its errors are reported.
        Err(problem) if text.starts_with(['"', '\'', '[', '{']) => Err(problem),
        _ => Ok(Node { value: Value::String(text.to_owned()), origin }),
    }
}

/// The place at `steps`; missing tables are created.
fn place<'a>(root: &'a mut Node, steps: &[&str], origin: Origin) -> Result<&'a mut Node, Problem> {
    let mut node = root;
    for (done, step) in steps.iter().enumerate() {
        let under = |problem: Problem| {
            steps[..done]
                .iter()
                .rev()
                .fold(problem.at(origin), |problem, step| problem.under(&Step::Key(step)))
        };
        // A choice with parameters replaces one without.
        if matches!(node.value, Value::String(_)) {
            *node = Node::table(origin);
        }
        node = match &mut node.value {
            Value::Table(entries) => entry(entries, step, origin),
            Value::Array(nodes) => element(nodes, step).map_err(under)?,
            value => {
                let found = value.describe();
                return Err(under(Problem::new(format!("{found} has no key `{step}`"))));
            }
        };
    }
    Ok(node)
}

fn entry<'a>(entries: &'a mut Vec<Entry>, key: &str, origin: Origin) -> &'a mut Node {
    let at = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
        let node = Node::table(origin);
        entries.push(Entry { key: key.to_owned(), key_origin: origin, node });
        entries.len() - 1
    });
    &mut entries[at].node
}

/// The element with that number or `name`.
fn element<'a>(nodes: &'a mut [Node], step: &str) -> Result<&'a mut Node, Problem> {
    let len = nodes.len();
    let names: Vec<Option<String>> = nodes.iter().map(name).collect();
    let at = match step.parse::<usize>() {
        Ok(index) => Some(index).filter(|index| *index < len),
        Err(_) => names.iter().position(|name| name.as_deref() == Some(step)),
    };
    if let Some(at) = at {
        return Ok(&mut nodes[at]);
    }
    let problem = Problem::new(format!(
        "there is no element `{step}`; elements are named by number from 0 or by their name, and there are {len}"
    ));
    Err(match nearest(step, names.iter().flatten().map(String::as_str)) {
        Some(near) => problem.with_help(format!("did you mean `{near}`?")),
        None => problem,
    })
}

fn name(node: &Node) -> Option<String> {
    match &node.child(&Step::Key("name"))?.value {
        Value::String(name) => Some(name.clone()),
        _ => None,
    }
}
