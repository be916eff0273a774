//! Conversion of SVG to PDF and PNG, so that all three have the same lines, dashes and fonts.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use svg2pdf::{ConversionOptions, PageOptions};

use super::canvas::Drawing;
use super::font;
use super::style::FigureStyle;

/// Points per inch: the unit of a drawing is a point.
const POINTS_PER_INCH: f32 = 72.0;
/// Maximum width and height of a PNG in pixels.
const MOST_PIXELS: f32 = 16_000.0;

/// A file format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For browsers and drawing programs.
    Svg,
    /// For LaTeX.
    Pdf,
    /// For other programs.
    Png,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Svg, Self::Pdf, Self::Png];

    /// The extension of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Pdf => "pdf",
            Self::Png => "png",
        }
    }

    /// The format of a file, by its extension.
    pub fn of(file: &Path) -> Option<Self> {
        let ending = file.extension()?.to_str()?;
        Self::ALL.into_iter().find(|format| ending.eq_ignore_ascii_case(format.ending()))
    }
}

impl Drawing {
    /// The content of a file of this format; a PNG has the resolution of the style.
    ///
    /// # Errors
    /// It cannot be drawn; the error says why.
    pub fn bytes(&self, format: Format, style: FigureStyle) -> Result<Vec<u8>, String> {
        match format {
            Format::Svg => Ok(self.svg().as_bytes().to_vec()),
            Format::Pdf => self.pdf(),
            Format::Png => self.png(style.dimensions().pixels_per_inch),
        }
    }

    /// As PDF, with text as text and only the used glyphs of the font.
    ///
    /// # Errors
    /// It cannot be drawn; the error says why.
    pub fn pdf(&self) -> Result<Vec<u8>, String> {
        let page = PageOptions { dpi: POINTS_PER_INCH };
        svg2pdf::to_pdf(&self.tree()?, ConversionOptions::default(), page)
            .map_err(|error| error.to_string())
    }

    /// As PNG with this number of pixels per inch.
    ///
    /// # Errors
    /// It cannot be drawn; the error says why.
    pub fn png(&self, pixels_per_inch: f64) -> Result<Vec<u8>, String> {
        let tree = self.tree()?;
        let size = tree.size();
        let wanted = pixels_per_inch as f32 / POINTS_PER_INCH;
        let scale = wanted.min(MOST_PIXELS / size.width().max(size.height()));
        let [width, height] =
            [size.width(), size.height()].map(|length| (length * scale).ceil().max(1.0) as u32);
        let mut pixels = Pixmap::new(width, height).ok_or("it has no size")?;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
        pixels.encode_png().map_err(|error| error.to_string())
    }

    pub(super) fn tree(&self) -> Result<Tree, String> {
        let options = Options {
            dpi: POINTS_PER_INCH,
            font_family: font::NAME.into(),
            fontdb: fonts(),
            ..Options::default()
        };
        Tree::from_str(&self.svg, &options).map_err(|error| error.to_string())
    }
}

/// The one font of figures, whatever a drawing requests: figures are the same on every machine.
fn fonts() -> Arc<fontdb::Database> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    Arc::clone(FONTS.get_or_init(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(font::bytes().to_vec());
        fonts.set_sans_serif_family(font::NAME);
        Arc::new(fonts)
    }))
}
