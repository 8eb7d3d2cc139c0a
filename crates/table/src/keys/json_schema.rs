//! The keys as a JSON Schema, by which editors complete and check a config.

use super::{Explained, all};
use serde_json::{Map, Value, json};

/// The JSON Schema of configs and network files (draft 2020-12).
pub fn json_schema() -> String {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "dzoa: config and network file",
        "type": "object",
        "additionalProperties": false,
        "properties": {},
    });
    for key in all() {
        place(&mut schema, &key);
    }
    format!("{schema:#}\n")
}

/// Puts a key where its path says. What stands above it comes before it in the list, or is a plain
/// table.
fn place(schema: &mut Value, key: &Explained) {
    let mut names: Vec<&str> = key.path.split('.').collect();
    let last = names.pop().unwrap_or_default();
    let mut table = schema;
    for name in names {
        let inner = properties(table).entry(name).or_insert_with(|| json!({ "type": "object" }));
        table = the_table(inner);
    }
    let mut value = of_kind(&key.kind).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        let words = format!("{}. Takes: {}. Default: {}.", key.about, key.kind, key.default);
        fields.insert("description".into(), words.into());
        fields.insert("examples".into(), json!([key.example]));
    }
    properties(table).insert(last.into(), value);
}

/// The keys of a table, which has no others.
fn properties(table: &mut Value) -> &mut Map<String, Value> {
    if !table.is_object() {
        *table = json!({});
    }
    let fields = table.as_object_mut().expect("it was made one");
    fields.insert("additionalProperties".into(), false.into());
    let inner = fields.entry("properties").or_insert_with(|| json!({}));
    inner.as_object_mut().expect("only this function writes it")
}

/// The table in a value that is one, a list of them, or may be one of these.
fn the_table(value: &mut Value) -> &mut Value {
    if value.get("items").is_some() {
        return the_table(&mut value["items"]);
    }
    let Some(ways) = value.get("anyOf").and_then(Value::as_array) else { return value };
    let holds = |way: &Value| way["type"] == "object" || way["items"]["type"] == "object";
    let at = ways.iter().position(holds).unwrap_or(0);
    the_table(&mut value["anyOf"][at])
}

/// What a key takes, from the words in which the reference says it. `None` for words that are not
/// known, which a test does not let pass.
fn of_kind(kind: &str) -> Option<Value> {
    // As in "number above 0, or "auto" under a budget".
    if let Some((first, second)) = kind.split_once(", or ") {
        return Some(json!({ "anyOf": [of_kind(first)?, of_kind(second)?] }));
    }
    if kind.contains(" | ") {
        return Some(json!({ "enum": kind.split(" | ").collect::<Vec<_>>() }));
    }
    if let Some(rest) = kind.strip_prefix('"') {
        let words: Vec<&str> = rest.split('"').step_by(2).filter(|word| !word.is_empty()).collect();
        return Some(json!({ "enum": words }));
    }
    let text = || json!({ "type": "string" });
    let table = || json!({ "type": "object" });
    Some(match kind {
        "true or false" => json!({ "type": "boolean" }),
        "table" | "a table" => table(),
        "list of tables" => json!({ "type": "array", "items": table() }),
        "list of texts" => json!({ "type": "array", "items": text() }),
        "a text or a list of texts" => {
            json!({ "anyOf": [text(), { "type": "array", "items": text() }] })
        }
        "list of pairs of names" => {
            let pair = json!({ "type": "array", "items": text(), "minItems": 2, "maxItems": 2 });
            json!({ "type": "array", "items": pair })
        }
        "lists of column names or indices from 0" => {
            let name = json!({ "type": ["string", "integer"] });
            json!({ "type": "array", "items": { "type": "array", "items": name } })
        }
        "one per agent" => json!({ "type": "array", "items": { "type": "number" } }),
        "with data.file a whole number" => json!({ "type": "integer", "minimum": 1 }),
        "numeric" => json!({ "const": "numeric" }),
        "table of old and new values" | "one such table per column" => json!({ "type": "object" }),
        "HOST:PORT" => json!({ "type": "string", "pattern": ":[0-9]+$" }),
        "one ASCII character" => json!({ "type": "string", "minLength": 1, "maxLength": 2 }),
        "one of the levels" => text(),
        _ if kind.starts_with("text") => text(),
        _ if kind.starts_with("1 to 64 letters") => {
            json!({ "type": "string", "minLength": 1, "maxLength": 64 })
        }
        _ => return of_number(kind.strip_prefix("a finite ").unwrap_or(kind)),
    })
}

/// As in "whole number, 1 or more" and "number from 0.5 to 2".
fn of_number(kind: &str) -> Option<Value> {
    let (kind, name) = match kind.strip_prefix("a ").unwrap_or(kind) {
        whole if whole.starts_with("whole number") => (&whole["whole number".len()..], "integer"),
        number => (number.strip_prefix("number").unwrap_or(number), "number"),
    };
    let mut value = json!({ "type": name });
    for part in kind.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let words: Vec<&str> = part.split(' ').collect();
        let number = |word: &str| word.parse::<f64>().ok().map(Value::from);
        match words[..] {
            ["above", low] if low.parse::<f64>().is_err() => {}
            ["above", low] => value["exclusiveMinimum"] = number(low)?,
            [low, "or", "more"] | ["of", "at", "least", low] => value["minimum"] = number(low)?,
            ["at", "most", high] => value["maximum"] = number(high)?,
            ["from", low, "to", high] | ["between", low, "and", high] => {
                value["minimum"] = number(low)?;
                value["maximum"] = number(high)?;
            }
            ["strictly", "between", low, "and", high] => {
                value["exclusiveMinimum"] = number(low)?;
                value["exclusiveMaximum"] = number(high)?;
            }
            ["of", "seconds"] => {}
            _ => return None,
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_every_key_are_known() {
        for key in all() {
            assert!(of_kind(&key.kind).is_some(), "{}: {}", key.path, key.kind);
        }
    }

    #[test]
    fn numbers_have_their_ranges_and_lists_their_tables() {
        let schema: Value = serde_json::from_str(&json_schema()).unwrap();
        let of = |path: &str| {
            path.split('.').fold(&schema, |at, name| {
                let at = if at["items"].is_object() { &at["items"] } else { at };
                &at["properties"][name]
            })
        };
        assert_eq!(of("problem.eta")["anyOf"][0]["minimum"], 0.0);
        assert_eq!(of("problem.eta")["anyOf"][1]["enum"][0], "auto");
        assert_eq!(of("schema.columns.low")["type"], "number");
        assert_eq!(of("network.agents.address")["type"], "string");
        assert_eq!(of("privacy.delta")["maximum"], 1.0);
        assert_eq!(of("run.seed")["type"], "integer");
        // A list of sites, or with one file for all their number.
        let sites = of("data.agents")["anyOf"].as_array().unwrap();
        assert_eq!(sites[0]["items"]["properties"]["file"]["type"], "string");
        assert_eq!(sites[1]["type"], "integer");
    }
}
