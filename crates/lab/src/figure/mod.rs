//! Figures of results, as SVG, PDF and PNG.
//!
//! A [`Picture`] is curves of plain numbers; it comes from the measures of a study ([`of_measures`]) or from its series
//! ([`of_series`]), according to a [`FigurePlan`], or from other sources. A [`Sheet`] has one or several of them, and becomes a
//! [`Drawing`] in a [`FigureStyle`].

mod axis;
mod canvas;
mod convert;
mod data;
mod facets;
mod font;
mod from_measures;
mod from_series;
mod legend;
mod names;
mod palette;
mod panel;
mod picture;
mod range;
mod script;
mod sheet;
mod style;
mod words;

pub use canvas::{Anchor, Canvas, Drawing, Stroke, TextBox, Type};
pub use convert::Format;
pub use from_measures::of_measures;
pub use from_series::of_series;
pub(crate) use palette::dark_css;
pub use palette::{Ink, MOST};
pub use picture::{Curve, Picture, Shape, Spot};
pub use sheet::{Sharing, Sheet};
pub use style::{Dimensions, FigureStyle};

pub use crate::results::FIGURES as FOLDER;
pub use crate::study::{FigureKind, FigurePlan, Reference, Scale};

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use polypath_sim::document::{DocumentError, Step};

use crate::results::{Dataset, ResultsError, pictures_in};
use crate::study::Study;

/// Why a figure cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// Results cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The plan names something that the study does not have.
    #[error("figure `{name}`: {message}")]
    Plan {
        /// Name of the figure.
        name: String,
        /// The error.
        message: String,
    },
    /// It cannot be drawn.
    #[error("figure `{name}` cannot be drawn: {message}")]
    Draw {
        /// Name of the figure.
        name: String,
        /// The error.
        message: String,
    },
    /// A file cannot be written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

/// Checks that the pictures of a whole study select values that its axes have; its quick form may lack some.
///
/// # Errors
/// An axis does not have a value; the error says where.
pub fn check_selections(study: &Study) -> Result<(), DocumentError> {
    for (index, plan) in study.figures().iter().enumerate() {
        let steps = |key| [Step::Key("figures"), Step::Index(index), Step::Key(key)];
        if let Some(message) = study.selection_problem(&plan.selection) {
            return Err(study.complain(&steps("where"), message));
        }
        let points = study.select(&plan.selection).unwrap_or_default();
        if let Some(Err(message)) = plan.divided_by.as_ref().map(|by| by.check(study, &points)) {
            return Err(study.complain(&steps("divided_by"), message));
        }
    }
    Ok(())
}

/// Draws the pictures that the study of a directory with results names; returns the files of each.
///
/// # Errors
/// Results cannot be read, or files not written.
pub fn draw_all(directory: &Path, style: FigureStyle) -> Result<Vec<Written>, FigureError> {
    let data = Dataset::read(directory)?;
    let mut written = Vec::new();
    for plan in data.study().figures() {
        let picture = match plan.kind {
            FigureKind::Lines | FigureKind::Bars => of_measures(plan, &data)?,
            FigureKind::TimeLines | FigureKind::Sequence => {
                of_series(plan, data.study(), directory)?
            }
        };
        written.push(write(&picture, &directory.join(FOLDER), &plan.name, style)?);
    }
    Ok(written)
}

/// The files of a picture: one in each [`Format`], its numbers as CSV, and a script that draws it from them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    files: [PathBuf; 5],
}

impl Written {
    /// All files, the SVG first.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The SVG.
    pub fn svg(&self) -> &Path {
        &self.files[0]
    }
}

impl fmt::Display for Written {
    /// The first file, and the extensions of the others.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, others @ ..] = &self.files;
        let endings = others.iter().filter_map(|file| file.extension()?.to_str());
        let endings: Vec<String> = endings.map(|ending| format!(".{ending}")).collect();
        write!(f, "{} ({})", first.display(), endings.join(", "))
    }
}

/// Writes a picture as `NAME.svg`, `NAME.pdf` and `NAME.png`, its numbers as `NAME.csv`, and `NAME.py`, which draws it from
/// them with matplotlib.
///
/// # Errors
/// It cannot be drawn, or a file not written.
pub fn write(
    picture: &Picture,
    directory: &Path,
    name: &str,
    style: FigureStyle,
) -> Result<Written, FigureError> {
    let io = |path: &Path, error| FigureError::Io { path: path.to_owned(), error };
    fs::create_dir_all(directory).map_err(|error| io(directory, error))?;
    let wrong = |message| FigureError::Draw { name: name.to_owned(), message };
    let sheet = picture.sheet();
    let drawing = sheet.draw(style);
    let mut contents = Vec::new();
    for format in Format::ALL {
        contents.push(drawing.bytes(format, style).map_err(wrong)?);
    }
    contents.push(sheet.csv().map_err(wrong)?);
    contents.push(sheet.script(name, style).into_bytes());
    let files = pictures_in(directory, name);
    for (path, content) in files.iter().zip(contents) {
        fs::write(path, content).map_err(|error| io(path, error))?;
    }
    Ok(Written { files })
}

#[cfg(test)]
mod tests;
