//! Checks that studies have everything that statements name.

use std::collections::BTreeMap;
use std::path::Path;

use polypath_sim::document::{Document, DocumentError, Step};

use super::statement::{
    About, Alike, AlmostNothing, Along, Between, Comparison, Knee, Over, Proportional, Ranking,
    Wanted,
};
use super::{Expectations, Operand, Rule, Statement};
use crate::study::{Extent, Reading, Study, unknown};

use Step::{Index, Key};

/// The error, and its key.
type Problem = (&'static str, String);

impl Expectations {
    /// Checks that the studies, which are in `folder`, have every variant, measure, axis and point that a statement names, also
    /// in their quick form. `document` is the file of the statements.
    ///
    /// # Errors
    /// A study is invalid, or lacks something; the error says where it is named.
    pub fn check_studies(&self, document: &Document, folder: &Path) -> Result<(), DocumentError> {
        let mut studies: BTreeMap<&str, [Study; 2]> = BTreeMap::new();
        for (index, statement) in self.statements.iter().enumerate() {
            let complain = |(key, message): Problem| {
                document.complain(&[Key("statements"), Index(index), Key(key)], message)
            };
            let name = statement.study.as_str();
            if !studies.contains_key(name) {
                let path = folder.join(name);
                if !path.is_file() {
                    return Err(complain((
                        "study",
                        format!("there is no file {}", path.display()),
                    )));
                }
                let read = |extent| Study::read(&path, Reading { extent, edits: &[] });
                studies.insert(name, [read(Extent::Full)?, read(Extent::Quick)?]);
            }
            let Some([whole, quick]) = studies.get(name) else { continue };
            if let Some(message) = whole.selection_problem(&statement.selection) {
                return Err(complain(("where", message)));
            }
            statement.check(whole).map_err(complain)?;
            statement.check(quick).map_err(|(key, message)| {
                complain((key, format!("in the quick form of {name}, {message}")))
            })?;
        }
        Ok(())
    }
}

impl Statement {
    /// Checks that a study has what the statement names.
    fn check(&self, study: &Study) -> Result<(), Problem> {
        let points = study.select(&self.selection).map_err(|message| ("where", message))?;
        if points.is_empty() {
            return Err(("where", "no point of the study is selected".into()));
        }
        let in_rule = |message| ("rule", message);
        for operand in self.rule.operands() {
            operand.check(study, &points).map_err(in_rule)?;
        }
        if let Rule::About(About { value: Wanted::Each(values), .. }) = &self.rule {
            let places = if self.over == Over::Mean { 1 } else { points.len() };
            if values.len() != places {
                let message = format!("`value` has {} numbers for {places} points", values.len());
                return Err(in_rule(message));
            }
        }
        let Some(along) = self.rule.along() else { return Ok(()) };
        let names = study.axes().iter().map(|axis| axis.name.as_str());
        let number = study.axis(along).ok_or_else(|| in_rule(unknown("axis", along, names)))?;
        let axis = &study.axes()[number];
        if points.iter().any(|at| axis.position(study.points().at(*at).values[number]).is_none()) {
            return Err(in_rule(format!("the values of `{along}` are not numbers")));
        }
        match &self.rule {
            Rule::Knee(Knee { at, .. }) if axis.number(at).is_none() => {
                Err(in_rule(format!("{at} is not a value of `{along}`")))
            }
            _ => Ok(()),
        }
    }
}

impl Rule {
    /// The curves that it evaluates.
    pub(super) fn operands(&self) -> Vec<&Operand> {
        match self {
            Self::About(About { of, .. })
            | Self::Between(Between { of, .. })
            | Self::Rises(Along { of, .. })
            | Self::Falls(Along { of, .. })
            | Self::Proportional(Proportional { of, .. })
            | Self::Knee(Knee { of, .. }) => vec![of],
            Self::Alike(Alike { of, .. }) | Self::Ranking(Ranking { of }) => of.iter().collect(),
            Self::Better(Comparison { of, than, .. })
            | Self::Worse(Comparison { of, than, .. })
            | Self::AlmostNothing(AlmostNothing { of, beside: than, .. }) => {
                [of].into_iter().chain(than).collect()
            }
        }
    }

    /// The axis along which it evaluates a curve.
    fn along(&self) -> Option<&str> {
        match self {
            Self::Rises(Along { along, .. })
            | Self::Falls(Along { along, .. })
            | Self::Proportional(Proportional { along, .. })
            | Self::Knee(Knee { along, .. }) => Some(along),
            _ => None,
        }
    }
}
