//! Messages as adapters send them, tolerated or refused by name, and back to the same JSON.

use super::*;
use crate::dap::types::{ContinueArguments, NoBody};
use proptest::prelude::*;
use serde_json::json;

fn read(value: &Value) -> Result<Message, MessageError> {
    Message::from_slice(value.to_string().as_bytes())
}

#[test]
fn every_kind_comes_back_as_it_was() {
    for value in [
        json!({"seq": 1, "type": "request", "command": "next", "arguments": {"threadId": 1}}),
        json!({"seq": 2, "type": "request", "command": "threads"}),
        json!({"seq": 3, "type": "response", "request_seq": 1, "success": true, "command": "next"}),
        json!({"seq": 4, "type": "response", "request_seq": 1, "success": false,
               "command": "next", "message": "notStopped", "body": {"error": {"id": 1}}}),
        json!({"seq": 5, "type": "event", "event": "stopped", "body": {"reason": "step"}}),
        json!({"seq": 6, "type": "event", "event": "x", "body": [1], "vendor": {"a": null}}),
    ] {
        let message = read(&value).unwrap();
        assert_eq!(serde_json::to_value(&message).unwrap(), value);
        assert_eq!(serde_json::from_value::<Message>(value).unwrap(), message);
    }
}

#[test]
fn what_adapters_leave_out_is_tolerated() {
    let message = read(&json!({"type": "event", "event": "initialized", "body": null})).unwrap();
    assert_eq!(message, Event::new(0, "initialized", None).into());
    let message = read(&json!({"type": "response", "request_seq": 7, "success": true})).unwrap();
    let Message::Response(response) = message else {
        panic!("{message:?}");
    };
    assert_eq!((response.seq, response.request_seq), (0, 7));
    assert_eq!(response.command, "");
}

#[test]
fn a_wrong_message_is_refused_by_the_fields_name() {
    for (value, text) in [
        (json!([]), "a message is an array, expected an object"),
        (json!({}), "a message has no field `type`"),
        (
            json!({"type": 1}),
            "the field `type` of a message is a number, expected a string",
        ),
        (json!({"type": "x"}), "a message has the type \"x\""),
        (json!({"type": "event"}), "an event has no field `event`"),
        (
            json!({"type": "event", "event": "x", "seq": "1"}),
            "the field `seq` of an event is a string, expected an integer",
        ),
        (
            json!({"type": "request", "command": null}),
            "a request has no field `command`",
        ),
        (
            json!({"type": "response", "success": true}),
            "a response has no field `request_seq`",
        ),
        (
            json!({"type": "response", "request_seq": 1.5, "success": true}),
            "the field `request_seq` of a response is a number, expected an integer",
        ),
        (
            json!({"type": "response", "request_seq": 1, "success": "yes"}),
            "the field `success` of a response is a string, expected a boolean",
        ),
    ] {
        let error = read(&value).unwrap_err().to_string();
        assert!(error.starts_with(text), "{value}: {error}");
    }
}

#[test]
fn a_body_that_is_no_json_is_an_error() {
    let deep = "[".repeat(100_000);
    for body in ["", "{", "nonsense", "{} {}", "\u{0}", deep.as_str()] {
        assert!(matches!(
            Message::from_slice(body.as_bytes()),
            Err(MessageError::NotJson(_))
        ));
    }
    assert!(Message::from_slice(b"\"\xff\"").is_err());
}

#[test]
fn answers_name_the_request() {
    let request = Request::of(
        12,
        &ContinueArguments {
            thread_id: 3,
            single_thread: None,
        },
    );
    assert_eq!(request.arguments, Some(json!({"threadId": 3})));
    assert_eq!(
        serde_json::to_value(Message::from(Response::ok(5, &request, None))).unwrap(),
        json!({"seq": 5, "type": "response", "request_seq": 12, "success": true,
               "command": "continue"})
    );
    let refused = Response::err(6, &request, "not now");
    assert_eq!(refused.failure().as_deref(), Some("not now"));
    let error = refused.result_as::<NoBody>().unwrap_err();
    assert_eq!(error.to_string(), "`continue` was refused: not now");
}

#[test]
fn the_formatted_error_wins_over_the_short_one() {
    let mut refused = Response::err(6, &Request::new(1, "launch", None), "failed");
    refused.body = Some(json!({"error": {"id": 1, "format": "no {file}",
                                         "variables": {"file": "a.py"}}}));
    assert_eq!(refused.failure().as_deref(), Some("no a.py"));
    refused.body = Some(json!({"error": "a string"}));
    assert_eq!(refused.failure().as_deref(), Some("failed"));
    refused.message = None;
    refused.body = None;
    assert_eq!(
        refused.failure().as_deref(),
        Some("the adapter gave no reason")
    );
    refused.success = true;
    assert_eq!(refused.failure(), None);
}

proptest! {
    #[test]
    fn random_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Message::from_slice(&body);
    }

    #[test]
    fn random_fields_never_panic(
        kind in "request|response|event|.{0,3}",
        fields in prop::collection::hash_map(
            "seq|command|arguments|request_seq|success|message|body|event|x",
            prop_oneof![
                Just(Value::Null),
                any::<bool>().prop_map(Value::from),
                any::<f64>().prop_map(Value::from),
                any::<i64>().prop_map(Value::from),
                ".{0,4}".prop_map(Value::from),
                Just(json!({"error": {"format": "{", "variables": {"": 1}}})),
            ],
            0..9,
        ),
    ) {
        let mut map: Map<String, Value> = fields.into_iter().collect();
        map.insert("type".to_owned(), Value::from(kind));
        if let Ok(message) = Message::try_from(Value::Object(map)) {
            let value = serde_json::to_value(&message).unwrap();
            prop_assert_eq!(Message::try_from(value).unwrap(), message.clone());
            if let Message::Response(response) = message {
                prop_assert_eq!(response.failure().is_none(), response.success);
            }
        }
    }
}
