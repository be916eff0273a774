//! Pictures inside a page.

use std::fs;
use std::io;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::text::escape;
use crate::reproduce::StudyReport;

/// Drawings beyond this many bytes would make pages slow: their PNG is shown.
const LARGE: usize = 400_000;

/// All pictures of all studies.
///
/// # Errors
/// A file cannot be read.
pub(super) fn all(studies: &[StudyReport]) -> io::Result<String> {
    let mut html = String::new();
    let mut number = 0;
    for study in studies.iter().filter(|study| !study.pictures.is_empty()) {
        html += &format!("<h3>{}</h3>\n<div class=\"figures\">\n", escape(&study.title));
        for (title, file) in &study.pictures {
            number += 1;
            html += &picture(number, title, file)?;
        }
        html += "</div>\n";
    }
    Ok(html)
}

fn picture(number: usize, title: &str, file: &Path) -> io::Result<String> {
    let svg = fs::read_to_string(file)?;
    let drawn = match svg.len() > LARGE {
        true => {
            let png = STANDARD.encode(fs::read(file.with_extension("png"))?);
            format!("<img src=\"data:image/png;base64,{png}\" alt=\"{}\">", escape(title))
        }
        false => inline(number, title, &svg),
    };
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    Ok(format!(
        "<figure>\n{drawn}\n<figcaption>{} <code>{}</code></figcaption>\n</figure>\n",
        escape(title),
        escape(name)
    ))
}

/// A drawing as a part of the page: with the width of its place, names of its own, and words for those who do not see it.
fn inline(number: usize, title: &str, svg: &str) -> String {
    let svg = svg.trim();
    let Some((head, rest)) = svg.split_once('>') else { return String::new() };
    let size = |name: &str| {
        let (_, value) = head.split_once(&format!(" {name}=\""))?;
        value.split_once('"').map(|(value, _)| value.to_owned())
    };
    let view = size("width").zip(size("height"));
    let view = view.map(|(width, height)| format!(" viewBox=\"0 0 {width} {height}\""));
    let head = format!(
        "{head}{} role=\"img\" aria-label=\"{}\">",
        view.unwrap_or_default(),
        escape(title)
    );
    let own = format!("p{number}-");
    let rest = rest
        .replace("id=\"kuva-", &format!("id=\"{own}kuva-"))
        .replace("url(#kuva-", &format!("url(#{own}kuva-"));
    head + &rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawings_have_names_of_their_own() {
        let svg = "<svg xmlns=\"x\" width=\"76\" height=\"52\"><clipPath id=\"kuva-clip-1\"/><g clip-path=\"url(#kuva-clip-1)\"/></svg>\n";
        let html = inline(7, "a < b", svg);
        assert!(
            html.contains("viewBox=\"0 0 76 52\" role=\"img\" aria-label=\"a &lt; b\">"),
            "{html}"
        );
        assert!(html.contains("id=\"p7-kuva-clip-1\"") && html.contains("url(#p7-kuva-clip-1)"));
    }
}
