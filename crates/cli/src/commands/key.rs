//! `polypath key`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Subcommand;
use polypath::{KeyFileError, KeyRing};

use crate::failure::{Failure, Outcome};
use crate::output;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file has a line for each key: a name, a space, and 32 to 128 hexadecimal digits; # begins a comment. Only its owner
may have access to it (chmod 600). Both sides need the key; the name may differ. A receiver accepts every key of its file
and rereads the file when it changes: a key whose line was removed is no longer accepted, and its associations end. Keys authenticate the peer and protect data against changes. They do not encrypt: anybody on the path can read the data.

Examples:
  polypath key new alice.key
  (umask 077; cat alice.key bob.key > receiver.keys)
  polypath receive --listen 192.0.2.1 --out inbox --key receiver.keys
  polypath send film.mkv --to 192.0.2.1 --key alice.key")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

/// What to do.
#[derive(Debug, Subcommand)]
enum What {
    /// Create a file with a new key, readable by its owner only
    New(New),
}

/// Arguments of `key new`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath key new
  polypath key new alice.key
  polypath key new secret.txt --name alice")]
struct New {
    /// The key file; an existing file is never replaced
    #[arg(default_value = "polypath.key", value_name = "FILE")]
    file: PathBuf,
    /// Name of the key: letters, digits and . - _ @ [default: the name of the file without its extension]
    #[arg(long)]
    name: Option<String>,
}

/// Makes a key.
pub(crate) fn run(args: &Args) -> Outcome {
    let What::New(New { file, name }) = &args.what;
    let name = match (name, file.file_stem()) {
        (Some(name), _) => name.clone(),
        (None, Some(stem)) => stem.to_string_lossy().into_owned(),
        (None, None) => {
            return Err(Failure::Usage(anyhow!("{} is not the name of a file", file.display())));
        }
    };
    KeyRing::create(file, &name).map_err(failure)?;
    let line = format!(
        "{}: key {name}. The other host needs a copy that nobody else can read (scp -p); --key names it at both ends\n",
        file.display()
    );
    output::print(line.as_bytes())?;
    Ok(())
}

fn failure(error: KeyFileError) -> Failure {
    match error {
        KeyFileError::NoRandomness => Failure::Unfit(error.into()),
        KeyFileError::Name(_) => {
            Failure::Usage(anyhow::Error::from(error).context("the name of the key (--name)"))
        }
        _ => Failure::Usage(error.into()),
    }
}
