//! Pictures of results, as SVG and PNG.
//!
//! A [`Picture`] is curves of plain numbers; it comes from the measures of a study ([`of_measures`]) or from its series
//! ([`of_series`]), as a [`FigurePlan`] says, or from anywhere else.

mod draw;
mod from_measures;
mod from_series;
mod names;
mod palette;
mod picture;
mod words;

pub use from_measures::of_measures;
pub use from_series::of_series;
pub use picture::{Curve, Picture, Shape, Spot};

pub use crate::results::FIGURES as FOLDER;
pub use crate::study::{FigureKind, FigurePlan, Reference, Scale};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use polypath_sim::document::{DocumentError, Step};

use crate::results::{Dataset, ResultsError, pictures_in};
use crate::study::Study;

/// Why a picture cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// Results cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The plan names what the study does not have.
    #[error("figure `{name}`: {message}")]
    Plan {
        /// Name of the figure.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// It cannot be drawn.
    #[error("figure `{name}` cannot be drawn: {message}")]
    Draw {
        /// Name of the figure.
        name: String,
        /// Why.
        message: String,
    },
    /// A file cannot be written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Whether the pictures of a whole study select values that its axes have. Its quick form may lack some of them.
///
/// # Errors
/// A value is on no axis; the error says where it stands.
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

/// Draws the pictures that the study of a directory with results names; returns the files.
///
/// # Errors
/// Results cannot be read, or files not written.
pub fn draw_all(directory: &Path) -> Result<Vec<PathBuf>, FigureError> {
    let data = Dataset::read(directory)?;
    let mut files = Vec::new();
    for plan in data.study().figures() {
        let picture = match plan.kind {
            FigureKind::Lines | FigureKind::Bars => of_measures(plan, &data)?,
            FigureKind::TimeLines | FigureKind::Sequence => {
                of_series(plan, data.study(), directory)?
            }
        };
        files.extend(write(&picture, &directory.join(FOLDER), &plan.name)?);
    }
    Ok(files)
}

/// Writes a picture as `NAME.svg` and `NAME.png`.
///
/// # Errors
/// It cannot be drawn, or a file not written.
pub fn write(picture: &Picture, directory: &Path, name: &str) -> Result<[PathBuf; 2], FigureError> {
    let io = |path: &Path, error| FigureError::Io { path: path.to_owned(), error };
    fs::create_dir_all(directory).map_err(|error| io(directory, error))?;
    let png =
        picture.png().map_err(|message| FigureError::Draw { name: name.to_owned(), message })?;
    let files = pictures_in(directory, name);
    for (path, bytes) in files.iter().zip([picture.svg().into_bytes(), png]) {
        fs::write(path, bytes).map_err(|error| io(path, error))?;
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
