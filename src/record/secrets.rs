//! What must not be in a journal: environment values and tokens. It works on JSON, so that it needs
//! to know no message: a field called `env` loses its values wherever it stands, a token is known
//! by the field or the option that carries it, and what is known is taken out of every text that
//! follows. It must not know of files.

use serde_json::Value;
use std::collections::BTreeSet;

/// What stands where something was taken out.
pub const GONE: &str = "…";
/// A shorter text is no secret, and would be found everywhere.
const SHORTEST: usize = 6;
/// What the names of secret variables hold.
const TELLING: [&str; 8] = [
    "TOKEN",
    "SECRET",
    "PASS",
    "KEY",
    "CREDENTIAL",
    "AUTH",
    "PRIVATE",
    "COOKIE",
];
/// What fields and options that carry a token end with, without case, `-` and `_`.
const CARRIERS: [&str; 3] = ["accesstoken", "authtoken", "password"];

/// The secrets that are known so far.
#[derive(Debug, Default)]
pub struct Secrets {
    known: BTreeSet<String>,
}

impl Secrets {
    /// Nothing but what is told is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns the values of variables whose names tell that they are secret.
    pub fn learn_env<'a>(&mut self, env: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (name, value) in env {
            let name = name.to_ascii_uppercase();
            if TELLING.iter().any(|telling| name.contains(telling)) {
                self.learn(value);
            }
        }
    }

    fn learn(&mut self, secret: &str) {
        if secret.len() >= SHORTEST && secret != GONE {
            self.known.insert(secret.to_owned());
        }
    }

    /// Takes out of a value what must not be in a journal.
    pub fn scrub(&mut self, value: &mut Value) {
        self.look_through(value);
        self.clear(value);
    }

    /// Learns what is secret in a value, wherever in it that is said.
    fn look_through(&mut self, value: &Value) {
        match value {
            Value::String(text) => tokens(text).iter().for_each(|token| self.learn(token)),
            Value::Array(values) => {
                let mut carries = false;
                for value in values {
                    match value {
                        Value::String(text) if carries => self.learn(text),
                        other => self.look_through(other),
                    }
                    carries = value.as_str().is_some_and(is_carrier);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    match value {
                        Value::String(text) if is_carrier(name) => self.learn(text),
                        other => self.look_through(other),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn clear(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.clear_text(text),
            Value::Array(values) => {
                let mut carries = false;
                for value in values {
                    let next_carries = value.as_str().is_some_and(is_carrier);
                    match value {
                        Value::String(text) if carries => GONE.clone_into(text),
                        other => self.clear(other),
                    }
                    carries = next_carries;
                }
            }
            Value::Object(fields) => {
                if let Some(Value::Array(bytes)) = fields.get_mut("Unix") {
                    return self.clear_bytes(bytes);
                }
                for (name, value) in fields {
                    match value {
                        Value::Object(env) if name == "env" => {
                            env.values_mut()
                                .for_each(|value| *value = Value::String(GONE.to_owned()));
                        }
                        Value::Array(env) if name == "env" => env.clear(),
                        Value::String(text) if is_carrier(name) => GONE.clone_into(text),
                        other => self.clear(other),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn clear_text(&self, text: &mut String) {
        for secret in &self.known {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), GONE);
            }
        }
    }

    /// An operating system's string, which serde writes as the numbers of its bytes.
    fn clear_bytes(&self, bytes: &mut Vec<Value>) {
        let numbers = bytes.iter().map(|byte| u8::try_from(byte.as_u64()?).ok());
        let text = numbers.collect::<Option<Vec<u8>>>().map(String::from_utf8);
        let Some(Ok(before)) = text else {
            return;
        };
        let mut text = before.clone();
        self.clear_text(&mut text);
        if text != before {
            *bytes = text.bytes().map(Value::from).collect();
        }
    }
}

/// Whether a field or an option of this name carries a token.
fn is_carrier(name: &str) -> bool {
    let mut plain = name.to_ascii_lowercase();
    plain.retain(|letter| letter.is_ascii_alphanumeric());
    CARRIERS.iter().any(|carrier| plain.ends_with(carrier))
}

/// The tokens in a command line: `--access-token T`, `access_token='T'`, `"access_token": "T"`.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in ["access-token", "access_token", "accessToken"] {
        for (at, _) in text.match_indices(name) {
            let rest = text.get(at + name.len()..).unwrap_or_default();
            let rest = rest.trim_start_matches(['=', ':', ' ', '\'', '"', '\\']);
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.+/".contains(c)));
            let token = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            if token.len() >= SHORTEST {
                found.push(token.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn environments_lose_their_values_and_tokens_go_wherever_they_stand() {
        let mut secrets = Secrets::new();
        let env = [("API_KEY", "hunter2hunter2"), ("LANG", "en_GB.utf8")];
        secrets.learn_env(env);
        let code = "import pydevd; pydevd.settrace(port=1, client_access_token='b0b5c0ffee', x=1)";
        let mut value = json!({
            "words": ["pydevd.py", "--client-access-token", "deadbeef01", "--file", "a.py"],
            "code": ["python", "-c", code],
            "arguments": { "env": { "A": "plainvalue" }, "accessToken": "cafecafe" },
            "launch": { "env": [["A", "plainvalue"]] },
            "later": "deadbeef01 and hunter2hunter2 and b0b5c0ffee and cafecafe in en_GB.utf8",
        });
        secrets.scrub(&mut value);
        let text = value.to_string();
        for secret in [
            "deadbeef01",
            "b0b5c0ffee",
            "cafecafe",
            "hunter2",
            "plainvalue",
        ] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
        assert!(
            text.contains("en_GB.utf8") && text.contains("--file"),
            "{text}"
        );
        assert_eq!(value["launch"]["env"], json!([]));
        assert_eq!(value["arguments"]["env"], json!({ "A": GONE }));
        assert_eq!(value["words"][2], json!(GONE));
    }

    #[test]
    fn what_is_short_or_no_token_stays() {
        let mut secrets = Secrets::new();
        secrets.learn_env([("TOKEN", ""), ("KEY", "on"), ("PATH", "/usr/bin")]);
        for text in [
            "on /usr/bin",
            "access_token",
            "access_token=''",
            "the access-token of it",
        ] {
            let mut value = json!([text, "next"]);
            secrets.scrub(&mut value);
            assert_eq!(value[0], json!(text));
        }
    }
}
