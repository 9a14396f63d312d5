//! The settings of a queue as the document of the API describes them: what is answered, what a new one takes, and what a
//! patch takes.

use serde_json::{Map, Value, json};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use vestibule_core::line::RATE_MAX;

/// The settings of a queue.
pub(crate) struct QueueSettings;
/// The settings of a new queue; what is absent has its default.
pub(crate) struct QueueDraft;
/// What is to differ from the queue that is cloned.
pub(crate) struct QueueClone;
/// Settings that are to be changed: a JSON merge patch (RFC 7396). What is absent stays, `null` is the default again.
pub(crate) struct QueuePatch;

const ID: &str = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";

/// One setting: its schema, whether it may be `null`, and whether a new queue must name it.
struct Setting {
    name: &'static str,
    schema: Value,
    nullable: bool,
    required: bool,
}

fn setting(name: &'static str, schema: Value) -> Setting {
    Setting { name, schema, nullable: false, required: false }
}

impl Setting {
    fn nullable(self) -> Self {
        Self { nullable: true, ..self }
    }

    fn required(self) -> Self {
        Self { required: true, ..self }
    }

    fn schema(&self, nullable: bool) -> Value {
        let mut schema = self.schema.clone();
        if let (true, Some(map)) = (nullable, schema.as_object_mut()) {
            if let Some(kind) = map.get("type").filter(|kind| kind.is_string()).cloned() {
                map.insert("type".to_owned(), json!([kind, "null"]));
            }
            if let Some(values) = map.get_mut("enum").and_then(Value::as_array_mut) {
                values.push(Value::Null);
            }
        }
        schema
    }
}

fn whole(description: &str, least: u64, most: u64) -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": least, "maximum": most, "description": description })
}

fn word(description: &str, words: &[&str]) -> Value {
    json!({ "type": "string", "enum": words, "description": description })
}

fn id(description: &str) -> Value {
    json!({ "type": "string", "pattern": ID, "description": description })
}

fn settings() -> Vec<Setting> {
    vec![
        setting("id", id("ID of the queue.")).required(),
        setting("tenant", id("ID of the tenant.")).required(),
        setting("name", json!({ "type": "string", "maxLength": 120, "description": "Name shown to visitors." })),
        setting("hosts", hosts()).required(),
        setting("rules", rules()),
        setting("mode", word("Mode of the queue.", &["open", "bypass", "paused", "closed", "draining"])),
        setting("quota", whole("Maximum number of active visitors.", 0, 10_000_000)).required(),
        setting("admissions_per_minute", whole("Maximum admissions per minute; `null` for no limit.", 1, RATE_MAX)).nullable(),
        setting("waiting_ttl", whole("Seconds after a visit until a waiting session expires.", 3, 3600)),
        setting("active_ttl", whole("Seconds after a visit until an active session expires.", 1, 86_400)),
        setting("claim_ttl", whole("Seconds for which an admission is held for an absent visitor.", 1, 3600)),
        setting("hold_ttl", whole("Seconds after the last visit for which a ticket restores its position.", 1, 604_800)),
        setting("max_session", whole("Maximum length of an active session in seconds; `null` for no limit.", 1, 2_592_000)).nullable(),
        setting("recheck_after", whole("Seconds for which the gate accepts an admitted ticket without asking the store.", 0, 60)),
        setting("handover", handover()).required(),
        setting("theme", id("ID of the theme; `null` for `default`.")).nullable(),
        setting("queue_status", json!({ "type": "integer", "enum": [200, 202, 429, 503], "description": "Status of the queue page." })),
        setting("store_failure", word("Behavior while the store is unavailable.", &["tickets", "open", "closed"])),
        setting("cookie_domain", json!({ "type": "string", "maxLength": 253, "description": "Domain of the cookies; `null` for the exact host." })).nullable(),
        setting("epoch", whole("Tickets of another epoch are invalid.", 1, 1 << 53)),
        setting("revision", whole("Increases with every change.", 0, 1 << 53)),
    ]
}

fn hosts() -> Value {
    json!({
        "type": "array", "minItems": 1, "maxItems": 100, "items": { "type": "string" },
        "description": "Hosts of the queue, such as `tickets.example.com`, `*.example.com` or `*`.",
    })
}

fn rules() -> Value {
    let texts =
        || json!({ "type": "array", "minItems": 1, "maxItems": 100, "items": { "type": "string", "maxLength": 512 } });
    let named = || {
        json!({
            "type": "object", "required": ["name", "value"], "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": 512 },
                "value": { "type": "string", "minLength": 1, "maxLength": 512 },
            },
        })
    };
    json!({
        "type": "array", "maxItems": 100, "description": "Which requests are queued; the first rule whose conditions all match decides.",
        "items": {
            "type": "object", "required": ["action"], "additionalProperties": false,
            "properties": {
                "action": { "type": "string", "enum": ["queue", "bypass"] },
                "path": texts(), "method": texts(), "source": texts(), "header": named(), "cookie": named(),
            },
        },
    })
}

fn handover() -> Value {
    json!({
        "type": "object", "required": ["kind"], "additionalProperties": false,
        "description": "How admitted visitors reach the site.",
        "properties": {
            "kind": { "type": "string", "enum": ["redirect", "proxy", "check"] },
            "origin": { "type": "string", "description": "Scheme, host and port; only `check` needs none." },
            "preflights": {
                "type": "string", "enum": ["answer", "forward"],
                "description": "Who answers CORS preflights: the gate, for pages of the queue's hosts and origin, or the \
                    origin. `answer` by default.",
            },
        },
    })
}

fn object(description: &str, required: &[&str], properties: &Map<String, Value>) -> RefOr<Schema> {
    let schema = json!({
        "type": "object", "description": description, "required": required, "properties": properties,
        "additionalProperties": false,
    });
    #[expect(clippy::expect_used, reason = "made of constants; a test reads it")]
    RefOr::T(serde_json::from_value(schema).expect("a schema"))
}

fn properties<'a>(all: impl Iterator<Item = &'a Setting>, nullable: impl Fn(&Setting) -> bool) -> Map<String, Value> {
    all.map(|setting| (setting.name.to_owned(), setting.schema(nullable(setting)))).collect()
}

impl PartialSchema for QueueSettings {
    fn schema() -> RefOr<Schema> {
        let all = settings();
        let names: Vec<&str> = all.iter().map(|setting| setting.name).collect();
        object("The settings of a queue.", &names, &properties(all.iter(), |setting| setting.nullable))
    }
}

impl PartialSchema for QueueDraft {
    fn schema() -> RefOr<Schema> {
        let all = settings();
        let required: Vec<&str> = all.iter().filter(|it| it.required).map(|setting| setting.name).collect();
        let description = "The settings of a new queue; absent settings have their defaults.";
        object(description, &required, &properties(all.iter(), |setting| !setting.required))
    }
}

impl PartialSchema for QueueClone {
    fn schema() -> RefOr<Schema> {
        let all = settings();
        let description = "Settings that differ from the cloned queue; `null` resets a setting to its default.";
        object(description, &["id"], &properties(all.iter(), |setting| !setting.required))
    }
}

impl PartialSchema for QueuePatch {
    fn schema() -> RefOr<Schema> {
        let all = settings();
        let fixed = ["id", "tenant", "epoch", "revision"];
        let patched = all.iter().filter(|setting| !fixed.contains(&setting.name));
        let description =
            "Settings that are to be changed (RFC 7396): what is absent stays, `null` is the default again.";
        object(description, &[], &properties(patched, |setting| !setting.required))
    }
}

impl ToSchema for QueueSettings {}
impl ToSchema for QueueDraft {}
impl ToSchema for QueueClone {}
impl ToSchema for QueuePatch {}

#[cfg(test)]
mod tests {
    use vestibule_core::settings::Settings;

    use super::*;

    #[test]
    fn queue_schema_lists_exactly_all_settings() {
        let value = Settings::from_value(&json!({
            "id": "a", "tenant": "a", "hosts": ["x.example"], "quota": 1, "handover": { "kind": "check" },
        }))
        .unwrap()
        .to_value();
        let mut known: Vec<&str> = settings().iter().map(|setting| setting.name).collect();
        known.sort_unstable();
        let mut there: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        there.sort_unstable();
        assert_eq!(known, there);
    }

    #[test]
    fn queue_schema_bounds_match_validation() {
        let base = json!({
            "id": "a", "tenant": "a", "hosts": ["x.example"], "quota": 1, "handover": { "kind": "check" },
            "claim_ttl": 1200, "waiting_ttl": 3600, "hold_ttl": 3600,
        });
        let takes = |name: &str, value: u64| {
            let mut settings = base.clone();
            settings[name] = json!(value);
            let errors = Settings::from_value(&settings).err().unwrap_or_default();
            errors.iter().all(|error| error.fault.code() != "takes_not")
        };
        for setting in settings() {
            let bound = |name: &str| setting.schema.get(name).and_then(Value::as_u64);
            let (Some(least), Some(most)) = (bound("minimum"), bound("maximum")) else { continue };
            assert!(takes(setting.name, least) && takes(setting.name, most), "{}", setting.name);
            assert!(!takes(setting.name, most + 1), "{}", setting.name);
            assert!(least == 0 || !takes(setting.name, least - 1), "{}", setting.name);
        }
    }
}
