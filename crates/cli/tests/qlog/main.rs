//! Traces in qlog: the same events from a simulation and from the network, and what the program does with `--qlog`.

mod program;
mod trace;
mod worlds;
