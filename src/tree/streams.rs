//! The last step before a child runs: while it is parked it mends what would hold it up, and puts
//! output streams of its own in the place of the tree's that it inherited, so that what it prints
//! is known to be its own. Streams that the program made itself are never touched.

use super::requests::{ANSWER, Asked};
use super::{ConnectionId, Effect, Phase, Run, StreamOffer, Tree};
use crate::dap::message::Response;
use daptree_model::{EngineError, RowId};
use serde_json::json;

/// How long a child may take to take its streams before it is let go without, in ms.
const TAKING: u64 = 400;

impl Tree {
    /// The last step of a handshake: streams where the child gets some, then
    /// `configurationDone`.
    pub(super) fn let_child_go(
        &mut self,
        row: RowId,
        run: Run,
        connection: ConnectionId,
        stops: bool,
    ) {
        let wanted = stops
            && row != run.root
            && self
                .trees
                .get(&run.root)
                .is_some_and(|tree| tree.own_streams);
        if !wanted {
            self.configuration_done(connection);
            return;
        }
        let mut above = Vec::new();
        let mut next = self.view(row).and_then(|view| view.parent);
        while let Some(id) = next {
            above.push(id);
            next = self.view(id).and_then(|view| view.parent);
        }
        self.effect(Effect::OpenStreams(row, above));
    }

    pub(super) fn streams_opened(&mut self, row: RowId, offers: &[StreamOffer]) {
        let Some(data) = self.rows.get(&row) else {
            self.effect(Effect::StreamsTaken(row));
            return;
        };
        let Some(connection) = data.connection else {
            self.effect(Effect::StreamsTaken(row));
            return;
        };
        let pairs: Vec<(String, String)> = offers
            .iter()
            .map(|offer| (offer.inherited.clone(), offer.path.clone()))
            .collect();
        let expression = self
            .policy_of(data.view.root)
            .and_then(|policy| policy.settling_in(&pairs));
        let Some(expression) = expression else {
            self.effect(Effect::StreamsTaken(row));
            self.configuration_done(connection);
            return;
        };
        let arguments = json!({ "expression": expression, "context": "repl" });
        self.ask(
            connection,
            "evaluate",
            arguments,
            Asked::Streams,
            TAKING,
            None,
        );
    }

    pub(super) fn streams_taken(
        &mut self,
        connection: ConnectionId,
        row: RowId,
        result: &Result<&Response, EngineError>,
    ) {
        if let Err(error) = result {
            tracing::debug!(%row, "it keeps the streams that it inherited: {error}");
        }
        self.effect(Effect::StreamsTaken(row));
        if self.phase(connection) == Some(Phase::Configuring) {
            self.configuration_done(connection);
        }
    }

    /// The session is set up: its process goes on.
    pub(super) fn configuration_done(&mut self, connection: ConnectionId) {
        let what = Asked::ConfigurationDone;
        self.ask(
            connection,
            "configurationDone",
            json!({}),
            what,
            ANSWER,
            None,
        );
    }
}
