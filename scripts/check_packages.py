#!/usr/bin/env python3
"""Proves that the crates can be published, and that the program can be installed from the packages alone.

usage: scripts/check_packages.py [--packages-only]

1. Every published crate has the metadata that a registry page shows, and no published crate needs an unpublished one.
2. `cargo publish --dry-run` packages and builds each of them from what its package holds.
3. The packages are unpacked in an empty directory, and `cargo install` builds `polypath-cli` from them; the program must
   run `demo`, name its commit, and carry the papers. Crates of others come from where cargo always takes them.
4. The workspace builds with the oldest compiler that its manifest promises (`rust-version`).

`--packages-only` ends after the first step and the packaging, which takes seconds.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parent.parent
LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")
# What crates.io allows.
MOST_KEYWORDS, MOST_CATEGORIES, LONGEST_KEYWORD = 5, 5, 20
LARGEST_PACKAGE = 10 * 1024 * 1024


def call(command: list[str | Path], **options: Any) -> None:
    print("+", " ".join(str(word) for word in command), flush=True)
    subprocess.run(command, check=True, **options)


def packages(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Crates that are published: all but those with `publish = false`."""
    return sorted((p for p in metadata["packages"] if p["publish"] != []), key=lambda p: p["name"])


def metadata_faults(package: dict[str, Any], published: set[str]) -> Iterator[str]:
    """What a registry would refuse or show as a gap."""
    name = package["name"]
    for key in ("description", "license", "repository", "readme", "rust_version"):
        if not package[key]:
            yield f"{name}: no `{key.replace('_', '-')}`"
    if not 1 <= len(package["keywords"]) <= MOST_KEYWORDS:
        yield f"{name}: {len(package['keywords'])} keywords; 1 to {MOST_KEYWORDS} are allowed"
    yield from (f"{name}: keyword `{word}` is too long" for word in package["keywords"] if len(word) > LONGEST_KEYWORD)
    if not 1 <= len(package["categories"]) <= MOST_CATEGORIES:
        yield f"{name}: {len(package['categories'])} categories; 1 to {MOST_CATEGORIES} are allowed"
    for dependency in package["dependencies"]:
        ours = dependency.get("path") is not None
        # A dev-dependency without a version is left out of the package.
        left_out = dependency["kind"] == "dev" and dependency["req"] == "*"
        if ours and dependency["name"] not in published and not left_out:
            yield f"{name}: depends on {dependency['name']}, which is not published"


def content_faults(name: str, crate: Path) -> Iterator[str]:
    """What a package lacks, or has from outside of itself."""
    if crate.stat().st_size > LARGEST_PACKAGE:
        yield f"{name}: the package has {crate.stat().st_size} bytes; {LARGEST_PACKAGE} are allowed"
    with tarfile.open(crate) as archive:
        members = {Path(*Path(member.name).parts[1:]).as_posix(): member for member in archive.getmembers()}
        yield from (f"{name}: `{file}` is missing" for file in (*LICENCES, "README.md") if file not in members)
        yield from (f"{name}: `{file}` is not a regular file" for file, member in members.items() if not member.isfile())
        for licence in LICENCES:
            if licence in members and archive.extractfile(members[licence]).read() != (ROOT / licence).read_bytes():
                yield f"{name}: `{licence}` differs from that of the project"


def unpack(crates: dict[str, Path], folder: Path) -> dict[str, Path]:
    places = {}
    for name, crate in crates.items():
        with tarfile.open(crate) as archive:
            archive.extractall(folder, filter="data")
        places[name] = folder / crate.stem
    return places


def install(places: dict[str, Path], folder: Path, target: Path) -> Path:
    """Installs the program from unpacked packages, each in place of the one of the same name in a registry."""
    patches = [f"{json.dumps(name)} = {{ path = {json.dumps(str(place))} }}" for name, place in places.items()]
    config = folder / "patch.toml"
    config.write_text("[patch.crates-io]\n" + "\n".join(patches) + "\n", encoding="utf-8")
    destination = folder / "installed"
    environment = {key: value for key, value in os.environ.items() if key != "POLYPATH_REVISION"}
    call(
        ["cargo", "install", "--debug", "--path", places["polypath-cli"], "--root", destination,
         "--target-dir", target, "--config", config],
        cwd=folder, env=environment,
    )  # fmt: skip
    return destination / "bin" / "polypath"


def check_program(program: Path, folder: Path) -> Iterator[str]:
    """Runs what depends on files from outside of the sources: the demo's scenario, the papers, and the commit."""

    def output(*arguments: str) -> str:
        return subprocess.run([program, *arguments], cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout

    version, head = output("--version").strip(), git_head()
    print(version)
    if head[:12] not in version:
        yield f"`polypath --version` says {version!r}, not the commit {head[:12]}"
    papers = {path.name for path in (ROOT / "papers").iterdir() if path.is_dir()}
    listed = output("reproduce", "list")
    yield from (f"the installed program carries no paper `{paper}`" for paper in sorted(papers) if paper not in listed)
    if "CMT" not in output("demo"):
        yield "`polypath demo` printed no row for CMT"
    if not list(folder.glob("*.svg")):
        yield "`polypath demo` drew no picture"


def git_head() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def check_msrv(target: Path) -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
    call(["rustup", "toolchain", "install", version, "--profile", "minimal"], cwd=ROOT)
    # The Python package has a compiler of its own choice: its wheel is built with the toolchain of the project.
    call(
        ["cargo", f"+{version}", "check", "--workspace", "--exclude", "polypath-py", "--locked", "--target-dir", target / "msrv"],
        cwd=ROOT,
    )


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--packages-only"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"],
        cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE,
    ).stdout  # fmt: skip
    metadata = json.loads(text)
    published = packages(metadata)
    names = {package["name"] for package in published}
    faults = [fault for package in published for fault in metadata_faults(package, names)]
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    if subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT).returncode != 0:
        print("error: the working tree has changes; packages are made from commits", file=sys.stderr)
        return 1

    # A place for each commit: cargo takes an unpacked package of the same version for the same content.
    base = Path(metadata["target_directory"])
    target = base / f"packages-{git_head()[:12]}"
    for old in base.glob("packages-*"):
        if old != target:
            shutil.rmtree(old)
    selection = [word for package in published for word in ("--package", package["name"])]
    call(["cargo", "package", "--no-verify", "--quiet", "--locked", "--target-dir", target, *selection], cwd=ROOT)
    crates = {p["name"]: target / "package" / f"{p['name']}-{p['version']}.crate" for p in published}
    faults = [fault for name, crate in crates.items() for fault in content_faults(name, crate)]
    if not faults and not arguments:
        call(["cargo", "publish", "--dry-run", "--quiet", "--locked", "--target-dir", target, *selection], cwd=ROOT)
        folder = Path(tempfile.mkdtemp(prefix="polypath-packages-"))
        try:
            # Crates of others are compiled already.
            program = install(unpack(crates, folder), folder, target)
            empty = folder / "empty"
            empty.mkdir()
            faults = list(check_program(program, empty))
        finally:
            shutil.rmtree(folder)
        check_msrv(base)
    print("\n".join(faults) if faults else f"{len(crates)} packages are ready: {', '.join(crates)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
