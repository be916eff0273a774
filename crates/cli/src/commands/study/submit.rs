//! `polypath study submit`.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;

use anyhow::{Context, anyhow};
use polypath_lab::study::{Extent, Reading, Study};

use crate::counts;
use crate::failure::{Failure, Outcome};
use crate::kind::Kind;
use crate::output;

/// Time before the end of a task at which it is asked to end, in seconds; more than `study run --grace`.
const WARNING_S: u32 = 60;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Submits two jobs: an array whose tasks each run one unit of the study, in one directory, and a job that merges the results
when all tasks have ended. A task gets SIGTERM a minute before its time limit; the same command then submits what is left.
For other batch systems, docs/studies.md has templates.

Examples:
  polypath study submit studies/asymmetry.toml --out results --slurm --tasks 100 --time 2:00:00 --dry-run
  polypath study submit studies/asymmetry.toml --out results --slurm --tasks 100 --time 2:00:00 -- --partition=long --cpus-per-task=4
  polypath study status results")]
pub(crate) struct Args {
    /// Study file
    #[arg(value_name = "STUDY.toml")]
    study: PathBuf,
    /// Directory for results, shared by all machines
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    system: System,
    /// Tasks of the array
    #[arg(long, value_name = "N", value_parser = counts::parse::<NonZeroUsize>)]
    tasks: NonZeroUsize,
    /// Longest time of a task, as sbatch writes it: minutes, hours:minutes:seconds or days-hours
    #[arg(long, value_name = "TIME", value_parser = slurm_time)]
    time: String,
    /// Fewer points and runs and shorter times, as set in the study
    #[arg(long)]
    quick: bool,
    /// Change a value of the scenario; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Longest time of a run, as for `study run`
    #[arg(long, value_name = "TIME")]
    run_timeout: Option<polypath_units::Duration>,
    /// Print the commands and scripts, and submit nothing
    #[arg(long)]
    dry_run: bool,
    /// Further options for sbatch, of both jobs
    #[arg(last = true, value_name = "OPTIONS")]
    options: Vec<String>,
}

/// A time as sbatch reads it.
fn slurm_time(text: &str) -> Result<String, String> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(days), clock),
        None => (None, text),
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let is_number = |part: &&str| {
        (1..=9).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    match parts.len() <= 3 && parts.iter().chain(days.iter()).all(is_number) {
        true => Ok(text.to_owned()),
        false => Err("sbatch reads MINUTES, MINUTES:SECONDS, HOURS:MINUTES:SECONDS, DAYS-HOURS, DAYS-HOURS:MINUTES or \
                      DAYS-HOURS:MINUTES:SECONDS"
            .into()),
    }
}

/// Which batch system.
#[derive(Debug, Clone, Copy, clap::Args)]
#[group(required = true)]
struct System {
    /// Slurm
    #[arg(long)]
    slurm: bool,
}

/// A job: what sbatch is called with, and its script.
struct Job {
    name: &'static str,
    options: Vec<String>,
    script: String,
}

/// Submits it.
pub(crate) fn run(args: &Args) -> Outcome {
    let extent = if args.quick { Extent::Quick } else { Extent::Full };
    Kind::Study.expect(&args.study)?;
    let reading = Reading { extent, edits: &args.set };
    let study = Study::read(&args.study, reading).map_err(Failure::usage)?;
    check(args, &study)?;
    let folder = absolute(&args.out)?.join("slurm");
    let [units, merge] = jobs(args, &folder)?;
    if args.dry_run {
        return output::print(plan(&folder, &[&units, &merge]).as_bytes());
    }
    fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the directory {}", folder.display()))
        .map_err(Failure::usage)?;
    let array = submit(&folder, &units, None)?;
    let joining = submit(&folder, &merge, Some(&array))?;
    let (tasks, out) = (args.tasks, args.out.display());
    output::print(
        format!(
            "job {array}: {tasks} units\njob {joining}: the tables, when all units have ended\n"
        )
        .as_bytes(),
    )?;
    output::tell(format_args!("`polypath study status {out}` says how far they are"));
    Ok(())
}

/// Complains about what would make no sense there.
fn check(args: &Args, study: &Study) -> Outcome {
    let until = study.replications().until.as_ref();
    let each = until.map_or(study.replications().runs.unwrap_or(1), |until| until.min);
    let points = study.points().len();
    let pieces = match until {
        Some(_) => points,
        None => points.saturating_mul(study.variants().len()).saturating_mul(each as usize),
    };
    if args.tasks.get() > pieces {
        let what = if until.is_some() { "points, which stay together" } else { "runs" };
        return Err(Failure::usage(anyhow!(
            "--tasks {}: the study has {pieces} {what}",
            args.tasks
        )));
    }
    if study.is_in_real_time() {
        return Err(Failure::usage(anyhow!(
            "the study runs in real time on a test bed, which takes one machine for itself"
        )));
    }
    Ok(())
}

/// Both jobs.
fn jobs(args: &Args, folder: &Path) -> Result<[Job; 2], Failure> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let study = absolute(&args.study)?;
    let out = absolute(&args.out)?;
    let [program, study, out] =
        [&program, &study, &out].map(|path| quoted(&path.to_string_lossy()));
    let stem = args.study.file_stem().unwrap_or_default().to_string_lossy();
    let mut run = format!("exec {program} study run {study} --out {out}");
    if args.quick {
        run += " --quick";
    }
    for edit in &args.set {
        run += &format!(" --set {}", quoted(edit));
    }
    if let Some(limit) = args.run_timeout {
        run += &format!(" --run-timeout {}", quoted(&limit.to_string()));
    }
    run += &format!(
        " \\\n    --unit \"$SLURM_ARRAY_TASK_ID/{}\" --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\"",
        args.tasks
    );
    // Slurm puts something else in the place of a per cent sign.
    let logs = folder.to_string_lossy().replace('%', "%%");
    let job = |name: &'static str, own: Vec<String>, log: &str, command: &str| Job {
        name,
        options: [
            vec![format!("--job-name=polypath-{stem}-{name}"), format!("--time={}", args.time)],
            vec![format!("--output={logs}/{log}"), "--open-mode=append".to_owned()],
            own,
            args.options.clone(),
        ]
        .concat(),
        script: format!("#!/bin/sh\n{command}\n"),
    };
    let own = vec![
        format!("--array=1-{}", args.tasks),
        // To the task itself and not to its children: `exec` made it the program.
        format!("--signal=B:TERM@{WARNING_S}"),
    ];
    let merge = format!("exec {program} study merge {out}");
    Ok([job("units", own, "unit-%a.log", &run), job("merge", Vec::new(), "merge.log", &merge)])
}

impl Job {
    /// Where its script lies.
    fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.sh", self.name))
    }

    /// What sbatch is called with; a job that comes after another one waits for the end of all its tasks, however they end.
    fn arguments(&self, folder: &Path, after: Option<&str>) -> Vec<String> {
        let mut arguments = vec!["--parsable".to_owned()];
        arguments.extend(after.map(|id| format!("--dependency=afterany:{id}")));
        arguments.extend(self.options.iter().cloned());
        arguments.push(self.path(folder).to_string_lossy().into_owned());
        arguments
    }
}

/// What would be done, in words that a shell understands.
fn plan(folder: &Path, jobs: &[&Job]) -> String {
    let mut text = String::new();
    for (number, job) in jobs.iter().enumerate() {
        let after = (number > 0).then_some("$units");
        let arguments: Vec<String> =
            job.arguments(folder, after).iter().map(|word| quoted_but(word, after)).collect();
        let path = quoted(&job.path(folder).to_string_lossy());
        text += &format!("# {path}:\n");
        job.script.lines().for_each(|line| text += &format!("#   {line}\n"));
        let command = format!("sbatch {}", arguments.join(" "));
        text += &match number {
            0 => format!("{}=$({command})\n", job.name),
            _ => format!("{command}\n"),
        };
    }
    text
}

/// Writes the script of a job and submits it; returns its number.
fn submit(folder: &Path, job: &Job, after: Option<&str>) -> Result<String, Failure> {
    let path = job.path(folder);
    fs::write(&path, &job.script).with_context(|| format!("cannot write {}", path.display()))?;
    let output = Command::new("sbatch").args(job.arguments(folder, after)).output();
    let output = output.map_err(|error| {
        Failure::Unfit(anyhow!(
            "cannot start sbatch: {error}; --dry-run prints the commands for a machine that has Slurm"
        ))
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Failed(anyhow!("sbatch refused it: {}", why.trim())));
    }
    // The number, and the cluster after a semicolon where there are several.
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim().split(';').next().unwrap_or_default().to_owned())
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The same, where a variable of the shell in it is meant as one.
fn quoted_but(word: &str, variable: Option<&str>) -> String {
    match variable.and_then(|name| word.strip_suffix(name).map(|head| (head, name))) {
        Some((head, name)) => format!("{}\"{name}\"", quoted(head)),
        None => quoted(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_a_shell_as_they_are() {
        for (word, expected) in [
            ("--array=1-8", "--array=1-8"),
            ("a b", "'a b'"),
            ("it's", "'it'\\''s'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
        assert_eq!(
            quoted_but("--dependency=afterany:$units", Some("$units")),
            "--dependency=afterany:\"$units\""
        );
    }

    #[test]
    fn times_are_those_of_slurm() {
        for time in ["0", "90", "90:30", "2:00:00", "1-12", "1-12:30", "1-12:30:00"] {
            assert_eq!(slurm_time(time).as_deref(), Ok(time));
        }
        for wrong in ["", "2h", "1:2:3:4", "1-", "-1", "1-2-3", "1.5", "two hours", "1: 2", "10 "] {
            let told = slurm_time(wrong).unwrap_err();
            assert!(told.contains("HOURS:MINUTES:SECONDS"), "{wrong}: {told}");
        }
    }
}
