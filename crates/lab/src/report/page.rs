//! The frame of a page. A page loads nothing from elsewhere.

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

use crate::figure::dark_css;

const STYLE: &str = include_str!("style.css");
/// Content security policy: no script, and nothing from elsewhere.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A page.
pub(super) struct Page {
    title: String,
    sections: Vec<Section>,
}

struct Section {
    name: String,
    title: String,
    content: Markup,
}

impl Page {
    /// Creates an empty page.
    pub fn new(title: &str) -> Self {
        Self { title: title.to_owned(), sections: Vec::new() }
    }

    /// Adds a section, unless it is empty.
    pub fn section(&mut self, name: &str, title: &str, content: Markup) {
        if !content.0.is_empty() {
            self.sections.push(Section { name: name.to_owned(), title: title.to_owned(), content });
        }
    }

    /// Renders the page, with line breaks between its parts, so that pages can be compared by line. `lead` is placed below the title.
    pub fn html(&self, lead: &Markup, foot: &Markup) -> String {
        let dark = dark_css();
        let style = format!(
            "\n{STYLE}@media screen and (prefers-color-scheme: dark) {{\n  {dark}figure.raster {{ background: #ffffff; color: #1a1a1a; }} }}\n"
        );
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(CONTENT_POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    link rel="icon" href="data:,";
                    title { (self.title) }
                    style { (PreEscaped(style)) }
                }
                "\n"
                body {
                    a.skip href="#main" { "Skip to the content" }
                    header {
                        h1 { (self.title) }
                        (lead)
                        nav aria-label="Sections" {
                            ul {
                                @for Section { name, title, .. } in &self.sections {
                                    li { a href={ "#" (name) } { (title) } }
                                }
                            }
                        }
                    }
                    "\n"
                    main id="main" {
                        @for Section { name, title, content } in &self.sections {
                            section id=(name) aria-labelledby={ (name) "-title" } {
                                h2 id={ (name) "-title" } { (title) }
                                "\n"
                                (content)
                            }
                            "\n"
                        }
                    }
                    footer { (foot) }
                }
            }
        };
        page.into_string() + "\n"
    }
}

/// A table.
pub(super) struct TableHtml {
    caption: String,
    columns: Vec<String>,
    rows: Vec<Markup>,
    layout: Layout,
}

/// What a table does on a narrow screen.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// Scrolls inside the page.
    Scrolls,
    /// Shows its rows below each other, with the name of the column before each cell.
    Stacks,
}

/// Kind of a row.
#[derive(Clone, Copy)]
pub(super) enum RowKind<'a> {
    Plain,
    /// Has this identifier as the target of links.
    Target(&'a str),
    /// Is highlighted.
    Beyond,
}

impl TableHtml {
    /// Creates a table with these columns.
    pub fn new(caption: &str, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { caption: caption.to_owned(), columns, rows: Vec::new(), layout: Layout::Scrolls }
    }

    /// The same for cells with much content: on a narrow screen they are below each other.
    pub fn stacked(caption: &str, columns: &[&str]) -> Self {
        Self { layout: Layout::Stacks, ..Self::new(caption, columns) }
    }

    /// Adds a row; the first cell is its heading.
    pub fn row(
        &mut self,
        kind: RowKind<'_>,
        name: &impl Render,
        cells: impl IntoIterator<Item = Markup>,
    ) {
        let (id, class) = match kind {
            RowKind::Plain => (None, None),
            RowKind::Target(id) => (Some(id), None),
            RowKind::Beyond => (None, Some("beyond")),
        };
        // A cell that is displayed as a block has no role of its own.
        let [row, head, cell_role] =
            ["row", "rowheader", "cell"].map(|role| self.stacks().then_some(role));
        let mut labels = self.columns.iter().map(|column| self.stacks().then_some(column));
        self.rows.push(html! {
            tr id=[id] class=[class] role=[row] {
                th scope="row" role=[head] data-label=[labels.next().flatten()] { (name) }
                @for cell in cells {
                    td role=[cell_role] data-label=[labels.next().flatten()] { (cell) }
                }
            }
        });
    }

    fn stacks(&self) -> bool {
        self.layout == Layout::Stacks
    }

    /// Renders the table.
    pub fn html(&self) -> Markup {
        html! {
            div.scroll role="region" aria-label=(self.caption) tabindex="0" {
                table class=[self.stacks().then_some("stack")] role=[self.stacks().then_some("table")] {
                    caption { (self.caption) }
                    thead { tr { @for column in &self.columns { th scope="col" { (column) } } } }
                    "\n"
                    tbody { @for row in &self.rows { (row) "\n" } }
                }
            }
            "\n"
        }
    }
}
