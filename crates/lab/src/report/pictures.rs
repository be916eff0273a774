//! Pictures inside a page.

use std::fs;
use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};

use crate::reproduce::StudyReport;

/// Maximum size of an inline SVG in bytes. Larger drawings would make pages slow, and are shown as PNG.
const LARGE: usize = 400_000;

/// All pictures of all studies.
///
/// # Errors
/// A file cannot be read.
pub(super) fn all(studies: &[StudyReport]) -> io::Result<Markup> {
    let mut all = Vec::new();
    for study in studies.iter().filter(|study| !study.pictures.is_empty()) {
        let pictures: Vec<Markup> = study
            .pictures
            .iter()
            .map(|(title, file)| picture(title, file))
            .collect::<io::Result<_>>()?;
        all.push((&study.title, pictures));
    }
    Ok(html! {
        @for (title, pictures) in all {
            h3 { (title) }
            div.figures { @for picture in pictures { (picture) } }
        }
    })
}

fn picture(title: &str, file: &Path) -> io::Result<Markup> {
    let svg = fs::read_to_string(file)?;
    let is_large = svg.len() > LARGE;
    let drawn = match is_large {
        true => {
            let png = STANDARD.encode(fs::read(file.with_extension("png"))?);
            html! { img src={ "data:image/png;base64," (png) } alt=(title); }
        }
        false => PreEscaped(svg.trim().to_owned()),
    };
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    Ok(html! {
        figure class=[is_large.then_some("raster")] {
            (drawn)
            figcaption { (title) " " code { (name) } }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Canvas, FigureStyle, Format, Ink, Type};

    #[test]
    fn drawings_follow_the_theme_of_the_page_and_large_ones_stay_on_white() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.svg");
        let mut canvas = Canvas::new("a < b", "what it shows");
        canvas.text([1.0, 9.0], Type::new(8.0, Ink::Text), "word");
        let drawing = canvas.clone().finish([40.0, 20.0], None);
        fs::write(&file, drawing.svg()).expect("written");
        let html = picture("a < b", &file).expect("a picture").into_string();
        assert!(html.starts_with("<figure><svg") && html.contains("class=\"f-text\""), "{html}");
        assert!(html.contains("<desc>what it shows</desc>") && !html.contains(" id="), "{html}");
        let long = "word ".repeat(LARGE / 5 + 1);
        canvas.text([1.0, 9.0], Type::new(8.0, Ink::Text), &long);
        fs::write(&file, canvas.finish([40.0, 20.0], None).svg()).expect("written");
        let png = drawing.bytes(Format::Png, FigureStyle::Screen).expect("a PNG");
        fs::write(file.with_extension("png"), png).expect("written");
        let html = picture("a < b", &file).expect("a picture").into_string();
        assert!(html.starts_with("<figure class=\"raster\"><img src=\"data:image/png"), "{html}");
    }
}
