//! Options and output formats of figures, shared by all commands that draw.

use std::fs;
use std::path::Path;

use anyhow::anyhow;
use clap::ValueEnum;
use polypath_lab::figure::{Drawing, FigureStyle, Format};

use crate::failure::{Failure, Outcome};

/// Options of figures.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct FigureArgs {
    /// Purpose of figures, which determines their size, font and lines
    #[arg(long, value_name = "STYLE", value_enum, default_value_t = Style::Screen)]
    figure_style: Style,
}

/// The styles as options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Style {
    /// A column of a paper: 88 mm wide, 181 mm with several panels, a font of 8 points, no title
    Paper,
    /// A slide of 254 mm by 143 mm, a font of 16 points
    Slides,
    /// A web page: 200 mm wide, a font of 10.5 points
    Screen,
}

impl FigureArgs {
    /// The style in the library's type.
    pub fn style(self) -> FigureStyle {
        match self.figure_style {
            Style::Paper => FigureStyle::Paper,
            Style::Slides => FigureStyle::Slides,
            Style::Screen => FigureStyle::Screen,
        }
    }

    /// Writes a drawing in the format that the ending of the file says.
    pub fn write(self, drawing: &Drawing, file: &Path) -> Outcome {
        let cannot =
            |why: String| Failure::Failed(anyhow!("cannot write {}: {why}", file.display()));
        let bytes = drawing.bytes(format(file)?, self.style()).map_err(cannot)?;
        fs::write(file, bytes).map_err(|error| cannot(error.to_string()))
    }
}

/// The format that the ending of a file says; SVG for a file without one, such as a pipe.
pub(crate) fn format(file: &Path) -> Result<Format, Failure> {
    let endings = Format::ALL.map(|format| format!(".{}", format.ending())).join(", ");
    match Format::of(file) {
        Some(format) => Ok(format),
        None if file.extension().is_none() => Ok(Format::Svg),
        None => Err(Failure::usage(anyhow!(
            "cannot write {}: a picture ends with one of {endings}",
            file.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_style_can_be_chosen_and_says_its_sizes() {
        for (option, style) in Style::value_variants().iter().zip(FigureStyle::ALL) {
            let args = FigureArgs { figure_style: *option };
            let value = option.to_possible_value().expect("a value");
            assert_eq!((args.style(), value.get_name()), (style, style.name()));
            let (help, sizes) = (value.get_help().expect("help").to_string(), style.dimensions());
            for number in [format!("{} mm", sizes.column_mm), format!("{} points", sizes.font_pt)] {
                assert!(help.contains(&number), "{help}: {number}");
            }
        }
        let paper = FigureStyle::Paper.dimensions();
        let help = Style::Paper.to_possible_value().and_then(|v| v.get_help().cloned());
        let help = help.expect("help").to_string();
        assert!(help.contains(&format!("{} mm with several", paper.page_mm)), "{help}");
    }

    #[test]
    fn the_ending_says_the_format() {
        assert!(matches!(format(Path::new("a/b.PDF")), Ok(Format::Pdf)));
        assert!(matches!(format(Path::new("/dev/stdout")), Ok(Format::Svg)));
        assert!(format(Path::new("b.jpg")).is_err());
    }
}
