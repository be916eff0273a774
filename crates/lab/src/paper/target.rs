//! Targets of `reproduce`: all papers, a paper, or a figure of it.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::Paper;
use crate::study::unknown;
use crate::verdict::Statement;

/// What to reproduce.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// Every paper.
    All,
    /// A paper.
    Paper(String),
    /// A figure, table, section, study or statement of a paper.
    Figure {
        /// The key of the paper.
        paper: String,
        /// The figure, or the identifier of the statement.
        figure: String,
    },
}

/// `all`, `PAPER`, `PAPER/FIGURE` or `PAPER/STATEMENT`.
impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            None if text == "all" => Ok(Self::All),
            None if !text.is_empty() => Ok(Self::Paper(text.into())),
            Some((paper, figure)) if !paper.is_empty() && !slug(figure).is_empty() => {
                Ok(Self::Figure { paper: paper.into(), figure: figure.into() })
            }
            _ => Err(format!("`{text}` is not all, PAPER, PAPER/FIGURE or PAPER/STATEMENT")),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Paper(paper) => f.write_str(paper),
            Self::Figure { paper, figure } => write!(f, "{paper}/{figure}"),
        }
    }
}

/// The selected part of a paper.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Number of the paper.
    pub paper: usize,
    /// File names of the studies.
    pub studies: Vec<String>,
    /// The figure, in the form of [`slug`]; default: all.
    pub figure: Option<String>,
    /// The only statement that is judged; default: all about the studies.
    pub statement: Option<String>,
}

impl Target {
    /// The selection from these papers.
    ///
    /// # Errors
    /// There is no such paper or figure; the error names the nearest.
    pub fn among(&self, papers: &[Paper]) -> Result<Vec<Part>, String> {
        let whole = |number: usize| Part {
            paper: number,
            studies: papers[number].studies.clone(),
            figure: None,
            statement: None,
        };
        let number_of = |key: &str| {
            let found = papers.iter().position(|paper| paper.key() == key);
            found.ok_or_else(|| unknown("paper", key, papers.iter().map(Paper::key)))
        };
        match self {
            Self::All => Ok((0..papers.len()).map(whole).collect()),
            Self::Paper(key) => Ok(vec![whole(number_of(key)?)]),
            Self::Figure { paper, figure } => {
                let number = number_of(paper)?;
                part(number, &papers[number], figure).map(|part| vec![part])
            }
        }
    }
}

/// The statement of this identifier with its study, or the studies of a figure.
fn part(number: usize, paper: &Paper, name: &str) -> Result<Part, String> {
    match paper.expectations.statements.iter().find(|statement| statement.id == name) {
        Some(statement) => Ok(Part {
            paper: number,
            studies: vec![statement.study.clone()],
            figure: Some(slug(name)),
            statement: Some(name.to_owned()),
        }),
        None => figure_part(number, paper, &slug(name)),
    }
}

/// The studies of a figure: those of that name, or those by which statements about it are judged.
fn figure_part(number: usize, paper: &Paper, figure: &str) -> Result<Part, String> {
    let statements = &paper.expectations.statements;
    let by_name = |study: &&String| is_in(&slug(study.trim_end_matches(".toml")), figure);
    let mut studies: Vec<String> = paper.studies.iter().filter(by_name).cloned().collect();
    if studies.is_empty() {
        let about = |study: &&String| {
            statements.iter().any(|s| s.study == **study && is_in(&slug(&s.figure), figure))
        };
        studies = paper.studies.iter().filter(about).cloned().collect();
    }
    let not_run = paper.expectations.not_run.iter().map(|row| row.figure.as_str());
    let calculated = paper.expectations.calculations.iter().map(|row| row.figure.as_str());
    let defaults = paper.expectations.defaults.iter().map(|row| row.figure.as_str());
    let concluded = paper.expectations.conclusions.iter().map(|row| row.figure.as_str());
    // Conclusions of a paper rest on all of its statements.
    if studies.is_empty() && concluded.clone().any(|other| is_in(&slug(other), figure)) {
        return Ok(Part {
            paper: number,
            studies: paper.studies.clone(),
            figure: None,
            statement: None,
        });
    }
    let mut others = not_run.chain(calculated).chain(defaults).chain(concluded);
    if studies.is_empty() && !others.clone().any(|other| is_in(&slug(other), figure)) {
        let known = statements.iter().map(|s| s.figure.as_str()).chain(&mut others);
        let names: Vec<String> = known.map(slug).collect();
        let mut seen = BTreeSet::new();
        let names: Vec<&str> =
            names.iter().map(String::as_str).filter(|n| seen.insert(*n)).collect();
        let what = format!("figure of {}", paper.key());
        return Err(unknown(&what, figure, names.into_iter()));
    }
    Ok(Part { paper: number, studies, figure: Some(figure.to_owned()), statement: None })
}

impl Part {
    /// Whether a figure belongs to the selection.
    pub fn has(&self, figure: &str) -> bool {
        self.figure.as_ref().is_none_or(|wanted| is_in(&slug(figure), wanted))
    }

    /// The statement, if only one is judged.
    pub fn only<'a>(&self, paper: &'a Paper) -> Option<&'a Statement> {
        let wanted = self.statement.as_ref()?;
        paper.expectations.statements.iter().find(|statement| statement.id == *wanted)
    }

    /// The statements about one of its studies that are judged.
    pub fn about<'a>(
        &'a self,
        paper: &'a Paper,
        study: &'a str,
    ) -> impl Iterator<Item = &'a Statement> {
        let is_wanted = |id: &String| self.statement.as_ref().is_none_or(|wanted| wanted == id);
        let statements = paper.expectations.statements.iter();
        statements.filter(move |statement| statement.study == study && is_wanted(&statement.id))
    }
}

/// Whether a figure is the wanted one or a part of it: `4a` and `4, left` are in `4`, but `41` is not.
fn is_in(figure: &str, wanted: &str) -> bool {
    // A section may be given by its number alone.
    let number = figure.strip_prefix("section-").filter(|_| !wanted.starts_with("section"));
    let figure = number.unwrap_or(figure);
    figure.strip_prefix(wanted).is_some_and(|rest| {
        rest.is_empty()
            || rest.starts_with('-')
            || (wanted.ends_with(|last: char| last.is_ascii_digit())
                && rest.starts_with(|first: char| first.is_ascii_lowercase()))
    })
}

/// The name of a figure for command lines and files: `8, left` and `fig8-left` are `8-left`, `V-B` is `v-b`.
pub fn slug(figure: &str) -> String {
    let mut slug = String::new();
    for letter in figure.chars() {
        if letter.is_alphanumeric() {
            slug.extend(letter.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    for prefix in ["figure", "fig"] {
        let rest = slug.strip_prefix(prefix).map(|rest| rest.trim_start_matches('-'));
        if let Some(rest) = rest.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            return rest.to_owned();
        }
    }
    slug.to_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn figures_have_one_name() {
        for (text, expected) in [
            ("8, left", "8-left"),
            ("fig8-left", "8-left"),
            ("Figure 4a", "4a"),
            ("V-B", "v-b"),
            ("fairness", "fairness"),
            ("section3b1", "section3b1"),
            ("section 2.2", "section-2-2"),
            (" , ", ""),
        ] {
            assert_eq!(slug(text), expected, "{text}");
        }
    }

    #[test]
    fn a_figure_has_its_parts() {
        for (figure, wanted, expected) in [
            ("4a", "4", true),
            ("4", "4", true),
            ("8-left", "8", true),
            ("41", "4", false),
            ("4", "4a", false),
            ("iv-c", "iv", true),
            ("iv", "i", false),
            ("section-2-2", "2-2", true),
            ("section-2-2", "section-2-2", true),
            ("section-2-2", "2-1", false),
        ] {
            assert_eq!(is_in(figure, wanted), expected, "{figure} in {wanted}");
        }
    }

    #[test]
    fn a_statement_is_judged_alone() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
        let papers = Paper::read_all(Path::new(folder)).expect("papers");
        let judged = |text: &str| -> Vec<String> {
            let parts = text.parse::<Target>().and_then(|target| target.among(&papers));
            let [part] = &parts.expect("a target")[..] else { panic!("{text} has several parts") };
            let about = |study| part.about(&papers[part.paper], study);
            part.studies.iter().flat_map(|study| about(study)).map(|s| s.id.clone()).collect()
        };
        assert_eq!(judged("natarajan/natarajan-13-2"), ["natarajan-13-2"]);
        assert!(judged("natarajan/13").len() > 10);
    }

    #[test]
    fn targets_are_found_among_the_papers() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
        let papers = Paper::read_all(Path::new(folder)).expect("papers");
        let studies = |text: &str| -> Result<Vec<String>, String> {
            let parts = text.parse::<Target>()?.among(&papers)?;
            Ok(parts.into_iter().flat_map(|part| part.studies).collect())
        };
        assert_eq!(studies("all").map(|all| all.len() > 20), Ok(true));
        assert_eq!(studies("iyengar/4a"), Ok(vec!["fig4.toml".into()]));
        assert_eq!(studies("iyengar/fig4"), studies("iyengar/4"));
        assert_eq!(studies("natarajan/6"), Ok(vec!["fig5-6.toml".into()]));
        assert_eq!(studies("iyengar/V-B"), Ok(vec!["sec5b.toml".into()]));
        assert_eq!(studies("dreibholz-asymmetric/fig5").map(|all| all.len()), Ok(6));
        assert_eq!(studies("dreibholz-model/8-right"), Ok(vec!["fig8-real.toml".into()]));
        assert_eq!(studies("dreibholz-model/fig8-real"), studies("dreibholz-model/8-right"));
        assert_eq!(studies("dreibholz-model/table 1"), Ok(vec![]));
        assert_eq!(studies("sarwar/conclusions"), studies("sarwar"));
        let error = studies("iyenga").expect_err("no such paper");
        assert_eq!(error, "there is no paper `iyenga`; did you mean `iyengar`?");
        let error = studies("iyengar/77").expect_err("no such figure");
        assert!(error.starts_with("there is no figure of iyengar `77`"), "{error}");
        assert!(studies("iyengar/").is_err());
        assert_eq!(studies("natarajan/natarajan-13-2"), Ok(vec!["fig13.toml".into()]));
        let error = studies("sarwar/x").expect_err("no such figure");
        assert_eq!(error.matches("`iii`").count(), 1, "{error}");
    }
}
