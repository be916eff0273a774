//! The frame of a page: everything that it shows is in its file.

use super::text::escape;
use crate::figure::dark_css;

const STYLE: &str = include_str!("style.css");

/// A page.
pub(super) struct Page {
    title: String,
    body: String,
    /// Name and title of each section.
    sections: Vec<(String, String)>,
}

impl Page {
    /// An empty one.
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), body: String::new(), sections: Vec::new() }
    }

    /// Adds a section with HTML in it, which is nothing if there is none.
    pub fn section(&mut self, name: &str, title: &str, html: &str) {
        if html.is_empty() {
            return;
        }
        self.body += &format!(
            "<section id=\"{name}\" aria-labelledby=\"{name}-title\">\n<h2 id=\"{name}-title\">{}</h2>\n{html}</section>\n",
            escape(title)
        );
        self.sections.push((name.to_owned(), title.to_owned()));
    }

    /// The whole file. `lead` stands below the title.
    pub fn html(self, lead: &str, foot: &str) -> String {
        let title = escape(&self.title);
        let links: Vec<String> = self
            .sections
            .iter()
            .map(|(name, title)| format!("<li><a href=\"#{name}\">{}</a></li>", escape(title)))
            .collect();
        let dark = dark_css();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
             <title>{title}</title>\n<style>\n{STYLE}@media screen and (prefers-color-scheme: dark) {{\n  {dark}figure.raster {{ background: #ffffff; color: #1a1a1a; }} }}\n</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
             <header>\n<h1>{title}</h1>\n{lead}<nav aria-label=\"Sections\"><ul>{}</ul></nav>\n</header>\n\
             <main id=\"main\">\n{}</main>\n<footer>{foot}</footer>\n</body>\n</html>\n",
            links.concat(),
            self.body,
        )
    }
}

/// A table. Cells are HTML; wide tables are scrolled inside the page.
pub(super) struct TableHtml {
    caption: String,
    html: String,
}

impl TableHtml {
    /// One with these columns.
    pub fn new(caption: &str, columns: &[&str]) -> Self {
        let head: Vec<String> =
            columns.iter().map(|name| format!("<th scope=\"col\">{}</th>", escape(name))).collect();
        let html = format!("<thead><tr>{}</tr></thead>\n<tbody>\n", head.concat());
        Self { caption: caption.to_owned(), html }
    }

    /// Adds a line; the first cell names it.
    pub fn row(&mut self, attributes: &str, cells: &[String]) {
        self.html += &format!("<tr{attributes}>");
        for (number, cell) in cells.iter().enumerate() {
            self.html += &match number {
                0 => format!("<th scope=\"row\">{cell}</th>"),
                _ => format!("<td>{cell}</td>"),
            };
        }
        self.html += "</tr>\n";
    }

    /// The table.
    pub fn html(self) -> String {
        let caption = escape(&self.caption);
        format!(
            "<div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table>\n\
             <caption>{caption}</caption>\n{}</tbody>\n</table>\n</div>\n",
            self.html
        )
    }
}
