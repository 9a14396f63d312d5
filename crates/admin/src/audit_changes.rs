//! The changes of an audit event. Of long values, the event has the parts that changed.

use serde_json::{Value, json};
use vestibule_core::settings::{FieldChange, differences};

/// Maximum size of a value in bytes; longer values are split, or else truncated.
const VALUE_MAX: usize = 2000;
/// Maximum size of the parts of one field in bytes, about; further parts are counted.
const FIELD_MAX: usize = 20_000;

/// Splits changes of long values into their changed entries and members, such as `events.presale.name` or `rules[2].path`,
/// counted from 0. An entry that was added or removed is one change.
pub(crate) fn shortened(changes: impl IntoIterator<Item = FieldChange>) -> Vec<FieldChange> {
    let of_field = |change: FieldChange| {
        let (field, mut parts, mut size) = (change.field.clone(), Vec::new(), 0);
        split(change, &mut parts);
        let fitting = parts.iter().take_while(|FieldChange { field, from, to }| {
            size += field.len() + size_of(from) + size_of(to);
            size <= FIELD_MAX
        });
        let fitting = fitting.count();
        let more = parts.len() - fitting;
        parts.truncate(fitting);
        if more > 0 {
            parts.push(FieldChange { field, from: Value::Null, to: json!(format!("and {more} more changes")) });
        }
        parts
    };
    changes.into_iter().flat_map(of_field).collect()
}

fn split(change: FieldChange, parts: &mut Vec<FieldChange>) {
    let FieldChange { field, from, to } = &change;
    if size_of(from).max(size_of(to)) <= VALUE_MAX {
        parts.push(change);
        return;
    }
    let inner = match (from, to) {
        (Value::Object(_), Value::Object(_)) => members(field, from, to),
        (Value::Array(_) | Value::Null, Value::Array(_) | Value::Null) => entries(field, list(from), list(to)),
        _ => Vec::new(),
    };
    if inner.is_empty() {
        parts.push(FieldChange { from: cut(from), to: cut(to), field: field.clone() });
    }
    for part in inner {
        split(part, parts);
    }
}

fn members(field: &str, from: &Value, to: &Value) -> Vec<FieldChange> {
    let within = |change: FieldChange| FieldChange { field: format!("{field}.{}", change.field), ..change };
    differences(from, to).into_iter().map(within).collect()
}

/// The changes of a list by its entries: by ID if all have one, or else by index, without the first and last entries that are
/// equal.
fn entries(field: &str, before: &[Value], after: &[Value]) -> Vec<FieldChange> {
    let changed = match (ids(before), ids(after)) {
        (Some(ids_before), Some(ids_after)) => by_id(field, (&ids_before, before), (&ids_after, after)),
        _ => Vec::new(),
    };
    // Entries may only have another order.
    let changed = if changed.is_empty() { by_index(field, before, after) } else { changed };
    let within = |FieldChange { field, from, to }: FieldChange| match (&from, &to) {
        (Value::Object(_), Value::Object(_)) => members(&field, &from, &to),
        _ => vec![FieldChange { field, from, to }],
    };
    changed.into_iter().flat_map(within).collect()
}

fn by_id(
    field: &str,
    (ids_before, before): (&[&str], &[Value]),
    (ids_after, after): (&[&str], &[Value]),
) -> Vec<FieldChange> {
    let find = |id: &str, list: &[Value]| list.iter().find(|it| it["id"] == id).cloned().unwrap_or_default();
    let all = ids_before.iter().chain(ids_after.iter().filter(|id| !ids_before.contains(id)));
    let of = |id: &&str| FieldChange { field: format!("{field}.{id}"), from: find(id, before), to: find(id, after) };
    all.map(of).filter(|part| part.from != part.to).collect()
}

fn by_index(field: &str, before: &[Value], after: &[Value]) -> Vec<FieldChange> {
    let first = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[..before.len() - last], &after[..after.len() - last]);
    let at = |list: &[Value], index: usize| list.get(index).cloned().unwrap_or_default();
    let of = |index| FieldChange {
        field: format!("{field}[{}]", first + index),
        from: at(before, index),
        to: at(after, index),
    };
    (0..before.len().max(after.len())).map(of).filter(|part| part.from != part.to).collect()
}

fn ids(list: &[Value]) -> Option<Vec<&str>> {
    list.iter().map(|entry| entry.get("id")?.as_str()).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn size_of(value: &Value) -> usize {
    value.to_string().len()
}

fn cut(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= VALUE_MAX {
        return value.clone();
    }
    let end = (0..=VALUE_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    Value::String(format!("{}..", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(field: &str, from: Value, to: Value) -> Vec<(String, Value, Value)> {
        let changes = shortened([FieldChange { field: field.to_owned(), from, to }]);
        changes.into_iter().map(|it| (it.field, it.from, it.to)).collect()
    }

    fn change(field: &str, from: Value, to: Value) -> (String, Value, Value) {
        (field.to_owned(), from, to)
    }

    #[test]
    fn single_long_values_are_truncated() {
        assert_eq!(shown("paths", json!(null), json!([1, 2])), [change("paths", json!(null), json!([1, 2]))]);
        let long = shown("name", json!(null), json!("\u{e4}".repeat(3000))).remove(0).2;
        assert!(long.as_str().unwrap().len() <= VALUE_MAX + 2 && long.as_str().unwrap().ends_with(".."));
    }

    #[test]
    fn long_lists_are_reduced_to_changed_members() {
        let event = |number: usize| json!({ "id": format!("sale-{number}"), "name": "x".repeat(80), "quota": null });
        let before: Vec<_> = (0..40).map(event).collect();
        let mut after = before.clone();
        after[30]["quota"] = json!(7);
        let removed = after.remove(3);
        after.push(event(40));
        let expected = [
            change("events.sale-3", removed, json!(null)),
            change("events.sale-30.quota", json!(null), json!(7)),
            change("events.sale-40", json!(null), event(40)),
        ];
        assert_eq!(shown("events", json!(before), json!(after)), expected);
        assert_eq!(shown("events", json!(null), json!(before)).len(), 40, "those of a new queue");
    }

    #[test]
    fn entries_without_an_id_are_found_by_their_index() {
        let rule = |number: usize| json!({ "action": "bypass", "path": format!("/{number}/{}", "x".repeat(80)) });
        let before: Vec<_> = (0..40).map(rule).collect();
        let mut after = before.clone();
        after.insert(2, rule(99));
        assert_eq!(shown("rules", json!(before), json!(after)), [change("rules[2]", json!(null), rule(99))]);
        let mut after = before.clone();
        after[39]["action"] = json!("queue");
        let wanted = change("rules[39].action", json!("bypass"), json!("queue"));
        assert_eq!(shown("rules", json!(before), json!(after)), [wanted]);
        let hosts: Vec<_> = (0..100).map(|number| format!("shop-{number}.tickets.example.com")).collect();
        let removed = [change("hosts[7]", json!("shop-7.tickets.example.com"), json!(null))];
        assert_eq!(shown("hosts", json!(hosts), json!([&hosts[..7], &hosts[8..]].concat())), removed);
    }

    #[test]
    fn new_order_of_entries_is_a_change() {
        let event = |number: usize| json!({ "id": number.to_string(), "name": "x".repeat(100) });
        let before: Vec<_> = (0..50).map(event).collect();
        let mut after = before.clone();
        after.swap(3, 4);
        let fields: Vec<_> = shown("events", json!(before), json!(after)).into_iter().map(|it| it.0).collect();
        assert_eq!(fields, ["events[3].id", "events[4].id"]);
    }

    #[test]
    fn an_event_has_a_limited_number_of_parts() {
        let event = |number: usize| json!({ "id": number.to_string(), "name": "x".repeat(1000) });
        let events: Vec<_> = (0..50).map(event).collect();
        let parts = shown("events", json!(null), json!(events));
        let (last, sizes) = (parts.last().unwrap(), parts.iter().map(|part| size_of(&part.2)).sum::<usize>());
        assert_eq!(last.2, json!(format!("and {} more changes", 51 - parts.len())));
        assert!(sizes <= FIELD_MAX + 100, "{sizes}");
    }
}
