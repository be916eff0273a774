//! `polypath ss`.

use super::sockets::{self, ServiceArgs};
use crate::failure::Outcome;
use crate::output;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A line for each socket, and below it one for each association and path: addresses, state, congestion window, round-trip time,
MTU, bytes of user data. Unsupported socket options that programs requested are counted at the end.

Examples:
  polypath ss
  watch -n 1 polypath ss")]
pub(crate) struct Args {
    #[command(flatten)]
    service: ServiceArgs,
}

/// Shows the sockets.
pub(crate) fn run(args: &Args) -> Outcome {
    match sockets::status(&args.service.path())? {
        None => output::tell(format_args!(
            "no program has SCTP sockets here: `polypath with PROGRAM` starts one"
        )),
        Some(text) if text.is_empty() => {
            output::tell(format_args!("no program has SCTP sockets at the moment"));
        }
        Some(text) => return output::show(&text),
    }
    Ok(())
}
