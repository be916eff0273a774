//! The program under test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

pub(crate) fn polypath() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    command.stdin(Stdio::null());
    command
}

/// A server that listens.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) addresses: String,
    pub(crate) port: String,
    stderr: BufReader<ChildStderr>,
}

impl Server {
    pub(crate) fn start(addresses: &str, more: &[&str]) -> Self {
        let mut command = polypath();
        command.args(["meter", "server", "-B", addresses, "--encap-port", "0"]).args(more);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("it speaks");
        let port = line.trim().rsplit(' ').next().expect("a port").to_owned();
        assert!(line.starts_with("listening on "), "{line}");
        Self { child, addresses: addresses.to_owned(), port, stderr }
    }

    /// A client of this server.
    pub(crate) fn client(&self, from: &str, more: &[&str]) -> Command {
        let mut command = polypath();
        command
            .args(["meter", "client", &self.addresses, "-B", from, "--encap-port", &self.port])
            .args(more);
        command
    }

    /// What a client tells as JSON, and the document, which follows its schema.
    pub(crate) fn measure(&self, from: &str, more: &[&str]) -> Value {
        let output = self.client(from, more).arg("--json").output().expect("the program starts");
        assert!(output.status.success(), "{}", stderr(&output));
        let document = serde_json::from_slice(&output.stdout).expect("JSON");
        schema("measurement").check(&document);
        document
    }

    /// Waits for its end: exit status, standard output and the rest of standard error.
    pub(crate) fn wait(&mut self) -> (ExitStatus, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        let mut stdout = self.child.stdout.take().expect("piped");
        stdout.read_to_string(&mut out).expect("text");
        self.stderr.read_to_string(&mut err).expect("text");
        (self.child.wait().expect("it ends"), out, err)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A JSON Schema that the program prints.
pub(crate) struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

pub(crate) fn schema(kind: &str) -> Schema {
    let printed = polypath().args(["schema", kind]).output().expect("the program starts");
    let printed = serde_json::from_slice(&printed.stdout).expect("JSON");
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("schema.json", printed).expect("a resource");
    let index = compiler.compile("schema.json", &mut schemas).expect("a schema");
    Schema { schemas, index }
}

impl Schema {
    pub(crate) fn check(&self, value: &Value) {
        let checked = self.schemas.validate(value, self.index);
        checked.unwrap_or_else(|error| panic!("{error}\n{value:#}"));
    }
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}
