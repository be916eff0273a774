//! Reports as files.

use std::fs;
use std::path::{Path, PathBuf};

use super::{index_page, paper_page};
use crate::paper::{Paper, Target};
use crate::reproduce::{PaperReport, Report, ReproduceError};

/// Files of a report.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Written {
    /// The page to open first.
    pub first: PathBuf,
    /// All files.
    pub files: Vec<PathBuf>,
}

/// The name of the page of a paper, or of a figure of it, without its folder and ending.
pub fn page_of(paper: &PaperReport) -> String {
    match &paper.figure {
        Some(figure) => format!("report-{figure}"),
        None => "report".to_owned(),
    }
}

impl Report {
    /// Writes a page and a JSON file for each paper, and an index of both kinds if the target is all papers.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn write(
        &self,
        target: &Target,
        papers: &[Paper],
        out: &Path,
    ) -> Result<Written, ReproduceError> {
        let mut written = Written::default();
        let mut pages = Vec::new();
        for report in &self.papers {
            let Some(paper) = papers.iter().find(|paper| paper.key() == report.key) else {
                continue;
            };
            let folder = out.join(&report.key);
            let name = page_of(report);
            let page = folder.join(format!("{name}.html"));
            let html = paper_page(self, report, &paper.words)
                .map_err(|error| ReproduceError::Io { path: folder.clone(), error })?;
            written.add(page, &html)?;
            let json = serde_json::to_string_pretty(report)? + "\n";
            written.add(folder.join(format!("{name}.json")), &json)?;
            pages.push((report.key.as_str(), format!("{}/{name}.html", report.key)));
        }
        if *target == Target::All {
            written.add(out.join("index.html"), &index_page(self, &pages))?;
            written.add(out.join("report.json"), &(serde_json::to_string_pretty(self)? + "\n"))?;
            written.first = out.join("index.html");
        } else if let Some((_, page)) = pages.first() {
            written.first = out.join(page);
        }
        Ok(written)
    }
}

impl Written {
    fn add(&mut self, path: PathBuf, text: &str) -> Result<(), ReproduceError> {
        let io = |error| ReproduceError::Io { path: path.clone(), error };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io)?;
        }
        fs::write(&path, text).map_err(io)?;
        self.files.push(path);
        Ok(())
    }
}
