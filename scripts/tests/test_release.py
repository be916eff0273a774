"""The scripts of a release, with a small program in place of the real one."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import check_sbom
import make_archive
import release_notes

PROGRAM = """#!/bin/sh
case "$1" in
    --version) echo "polypath VERSION (abc)" ;;
    man) mkdir -p "$2" && echo page > "$2/polypath.1" ;;
    completions) echo "script for $2" ;;
esac
"""


class Archives(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = self.folder / "polypath"
        self.program.write_text(PROGRAM.replace("VERSION", make_archive.version()), encoding="utf-8")
        self.program.chmod(0o755)
        time = mock.patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "1700000000"})
        time.start()
        self.addCleanup(time.stop)

    def make(self, target: str, place: str) -> Path:
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(make_archive.main([str(self.program), target, str(self.folder / place)]), 0)
        return next(file for file in (self.folder / place).iterdir() if file.suffix != ".sha256")

    def test_the_same_content_gives_the_same_archive(self) -> None:
        one, other = (self.make("x86_64-unknown-linux-musl", place) for place in ("one", "other"))
        self.assertEqual(one.read_bytes(), other.read_bytes())
        digest = one.with_name(f"{one.name}.sha256").read_text(encoding="utf-8")
        self.assertEqual(digest.split()[1], one.name)

    def test_an_archive_has_program_licences_and_extras(self) -> None:
        base = f"polypath-{make_archive.version()}-x86_64-unknown-linux-musl"
        with tarfile.open(self.make("x86_64-unknown-linux-musl", "tar")) as archive:
            modes = {member.name.removeprefix(f"{base}/"): member.mode for member in archive}
        self.assertEqual((modes["polypath"], modes["LICENSE-DEJAVU"]), (0o755, 0o644))
        self.assertEqual(modes["share/bash-completion/completions/polypath"], 0o644)
        self.assertIn("share/man/man1/polypath.1", modes)

    def test_windows_gets_a_zip(self) -> None:
        with zipfile.ZipFile(self.make("x86_64-pc-windows-msvc", "zip")) as archive:
            self.assertTrue(any(name.endswith("/LICENSE-MIT") for name in archive.namelist()))

    def test_a_program_of_another_version_is_refused(self) -> None:
        self.program.write_text(PROGRAM.replace("VERSION", "0.0.0"), encoding="utf-8")
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(make_archive.main([str(self.program), "any", str(self.folder / "none")]), 1)
        self.assertIn("not version", err.getvalue())


class Notes(unittest.TestCase):
    CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n- c\n\n## [0.2.0] - 2026-12-01\n\n- b\n\n## [0.1.0]\n\n- a\n\n[0.1.0]: link\n"

    def test_a_section_ends_at_the_next_one(self) -> None:
        self.assertEqual(release_notes.section(self.CHANGELOG, "0.2.0"), "- b")
        self.assertEqual(release_notes.section(self.CHANGELOG, "0.1.0"), "- a")
        self.assertIsNone(release_notes.section(self.CHANGELOG, "0.3.0"))


class Sbom(unittest.TestCase):
    LOCKED = [
        {"name": "polypath-cli", "version": "1.0.0", "dependencies": ["clap", "boon"]},
        {"name": "clap", "version": "4.0.0"},
    ]

    def faults(self, components: list[dict[str, object]]) -> list[str]:
        document = {"metadata": {"component": {"name": "polypath-cli"}}, "components": components}
        return list(check_sbom.faults(document, self.LOCKED))

    def test_a_component_needs_a_licence_and_the_locked_version(self) -> None:
        good = {"name": "clap", "version": "4.0.0", "licenses": [{"expression": "MIT"}]}
        self.assertEqual(self.faults([good]), [])
        self.assertEqual(self.faults([{**good, "licenses": []}]), ["clap 4.0.0 has no licence"])
        self.assertEqual(self.faults([{**good, "version": "5.0.0"}]), ["clap 5.0.0 is not in Cargo.lock"])
        self.assertEqual(self.faults([]), ["clap is missing"])


if __name__ == "__main__":
    unittest.main()
