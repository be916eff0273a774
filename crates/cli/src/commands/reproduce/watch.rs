//! How far the work has come.

use polypath_lab::reproduce::{StudyReport, Watch};
use polypath_lab::run::{Progress, Status};

use crate::output;
use crate::progress::Bar;
use crate::time::duration;

/// A line for each study that is over, and the bar of the present one.
pub(super) struct Watcher(pub Bar);

impl Progress for Watcher {
    fn expect(&self, runs: usize) {
        self.0.expect(runs);
    }

    fn done(&self, status: Status) {
        self.0.done(status);
    }
}

impl Watch for Watcher {
    fn begin(&self, paper: &str, study: &str) {
        self.0.begin(&format!("{paper}/{}", study.trim_end_matches(".toml")));
    }

    fn end(&self, paper: &str, study: &StudyReport) {
        if self.0.is_quiet() {
            return;
        }
        self.0.suspend(|| {
            output::tell(format_args!(
                "{paper}/{}: {} runs, {} of them new; {} on one core",
                study.study.trim_end_matches(".toml"),
                study.rows,
                study.new,
                duration(study.core_s),
            ));
        });
    }
}
