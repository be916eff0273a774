//! The README of a paper in its report.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Prefixes of headings whose sections follow the verdicts, since they discuss the outcome.
const AFTER: [&str; 4] = ["What differs", "Results", "Errors in", "Not reproduced"];

/// The parts before and after the verdicts, as HTML. A heading that begins the second one is left out if it is `title`, which the
/// section already has.
pub(super) fn split(words: &str, title: &str) -> [Markup; 2] {
    let begins = |line: &str| {
        let headline = line.strip_prefix("## ");
        headline.is_some_and(|headline| AFTER.iter().any(|begin| headline.starts_with(begin)))
    };
    let mut place = 0;
    for line in words.split_inclusive('\n') {
        if begins(line) {
            break;
        }
        place += line.len();
    }
    let [before, after] = [&words[..place], &words[place..]];
    let (head, rest) = after.split_once('\n').unwrap_or((after, ""));
    let after = if head.strip_prefix("## ") == Some(title) { rest } else { after };
    [before, after].map(html_of)
}

/// Converts Markdown to HTML without the title, with headings one level lower, and without links and images.
fn html_of(markdown: &str) -> Markup {
    let mut in_title = false;
    let events =
        Parser::new_ext(markdown, Options::ENABLE_TABLES).filter_map(|event| match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }) => {
                in_title = true;
                None
            }
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => {
                in_title = false;
                None
            }
            _ if in_title => None,
            // Their words stay, but they would lead out of the report.
            Event::Start(Tag::Image { .. } | Tag::Link { .. }) => None,
            Event::End(TagEnd::Image | TagEnd::Link) => None,
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
            Event::Start(Tag::Heading { level, id, classes, attrs }) => {
                Some(Event::Start(Tag::Heading { level: deeper(level), id, classes, attrs }))
            }
            Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(deeper(level)))),
            other => Some(other),
        });
    let mut out = String::new();
    html::push_html(&mut out, events);
    PreEscaped(out)
}

fn deeper(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H2,
        HeadingLevel::H2 => HeadingLevel::H3,
        HeadingLevel::H3 => HeadingLevel::H4,
        _ => HeadingLevel::H5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "# title\n\nAll of it, and `code`.\n\n## Set-up\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n\
        ## What differs, and why\n\n* one <script>alert(1)</script> [there](http://elsewhere)\n\n\
        ![a picture](x.png)\n";

    #[test]
    fn words_stand_before_and_behind_the_verdicts() {
        let [before, behind] = split(WORDS, "Differences").map(Markup::into_string);
        assert!(before.contains("<code>code</code>") && before.contains("<td>1</td>"), "{before}");
        assert!(before.contains("<h3>Set-up</h3>") && !before.contains("title"), "{before}");
        assert!(behind.contains("What differs") && behind.contains("there"));
        let title = "What differs, and why";
        let [_, titled] = split(WORDS, title).map(Markup::into_string);
        assert!(!titled.contains(title) && titled.contains("there"), "{titled}");
        assert_eq!(split("no headline", title)[1].0, "");
    }

    #[test]
    fn nothing_leads_out_of_the_report() {
        let [_, behind] = split(WORDS, "Differences").map(Markup::into_string);
        assert!(
            !behind.contains("<script") && !behind.contains("http:") && !behind.contains("<img")
        );
        assert!(behind.contains("&lt;script&gt;") && behind.contains("a picture"), "{behind}");
    }
}
