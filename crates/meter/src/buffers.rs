//! Whether the buffers of both ends have room for the messages of a measurement.

use polypath::config::BufferSize;
use polypath::{Association, AssociationConfig};

use crate::payload::Role;
use crate::proposal::{PlanError, Proposal};

/// Buffers of one side in bytes: no message is longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Buffers {
    pub send: u64,
    pub receive: u64,
}

impl Buffers {
    /// Those that an association with this configuration will have.
    pub fn planned(config: &AssociationConfig) -> Self {
        let size = |policy, bytes| if policy == BufferSize::Infinite { u64::MAX } else { bytes };
        Self {
            send: size(config.policies.send_buffer, config.send_buffer_bytes),
            receive: size(config.policies.receive_buffer, config.receive_buffer_bytes.into()),
        }
    }

    /// Those that an association has. Where they grow, they begin with room for the longest message.
    pub fn present(association: &Association) -> Self {
        let stats = association.stats();
        Self { send: stats.send_buffer_size_bytes, receive: stats.receive_buffer_size_bytes }
    }

    /// The smaller of both.
    pub fn least(self) -> u64 {
        self.send.min(self.receive)
    }

    /// Whether `role`, which has them, can send and receive what is planned.
    pub fn check(self, plan: &Proposal, role: Role) -> Result<(), PlanError> {
        let (whose, peer) = match role {
            Role::Client => ("client", Role::Server),
            Role::Server => ("server", Role::Client),
        };
        for (sender, name, buffer) in
            [(role, "send buffer", self.send), (peer, "receive buffer", self.receive)]
        {
            for flow in &plan.flows {
                let longest = flow.sent_by(sender).map_or(0, |traffic| traffic.longest_sent());
                if u64::from(longest) > buffer {
                    let (flow, bytes) = (flow.id, longest);
                    return Err(PlanError::Buffer { flow, bytes, whose, name, buffer });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::tests::proposal;
    use crate::traffic::Traffic;

    #[test]
    fn no_message_is_longer_than_a_buffer() {
        let mut plan = proposal(2);
        plan.flows[1].to_server = Some(Traffic::saturated(5000));
        plan.flows[1].to_client = Some(Traffic::saturated(7000));
        let told = |role, send, receive| {
            let checked = Buffers { send, receive }.check(&plan, role);
            checked.err().map(|error| error.to_string())
        };
        assert_eq!(told(Role::Client, 5000, 7000), None);
        assert_eq!(told(Role::Server, 7000, 5000), None);
        for (role, send, receive, expected) in [
            (
                Role::Client,
                4999,
                7000,
                "5000 bytes are larger than the client's send buffer of 4999",
            ),
            (
                Role::Client,
                5000,
                4096,
                "7000 bytes are larger than the client's receive buffer of 4",
            ),
            (
                Role::Server,
                6999,
                5000,
                "7000 bytes are larger than the server's send buffer of 6999",
            ),
            (
                Role::Server,
                7000,
                4096,
                "5000 bytes are larger than the server's receive buffer of 4",
            ),
        ] {
            let told = told(role, send, receive).unwrap();
            assert!(told.starts_with("flow 2: ") && told.contains(expected), "{told}");
        }
    }

    #[test]
    fn buffers_without_limit_have_room_for_all() {
        let mut config = AssociationConfig { send_buffer_bytes: 4096, ..Default::default() };
        config.policies.receive_buffer = BufferSize::Infinite;
        let planned = Buffers::planned(&config);
        assert_eq!(planned, Buffers { send: 4096, receive: u64::MAX });
        assert_eq!(planned.least(), 4096);
    }
}
