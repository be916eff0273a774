#!/usr/bin/env python3
"""Packs the program for a release, on any system.

usage: scripts/make_archive.py PROGRAM TARGET DIST      an archive for TARGET in DIST, and its SHA-256
       scripts/make_archive.py --extras PROGRAM SHARE   only manual pages and completions, below SHARE

The archive is a tar.gz, and a zip for Windows. It has the program, its manual pages and completions, and the licences. It depends on the
content and the time of the commit only.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ("README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "LICENSE-DEJAVU")
COMPLETIONS = {
    "bash": "bash-completion/completions/polypath",
    "zsh": "zsh/vendor-completions/_polypath",
    "fish": "fish/vendor_completions.d/polypath.fish",
    "powershell": "powershell/polypath.ps1",
}


def version() -> str:
    return tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]


def commit_time() -> int:
    given = os.environ.get("SOURCE_DATE_EPOCH")
    command = ["git", "log", "-1", "--format=%ct"]
    return int(given or subprocess.run(command, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE).stdout)


def extras(program: Path, share: Path, shells: tuple[str, ...] = ("bash", "zsh", "fish")) -> None:
    """Manual pages and completions."""
    subprocess.run([program, "man", share / "man/man1"], check=True)
    for shell in shells:
        script = share / COMPLETIONS[shell]
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_bytes(subprocess.run([program, "completions", shell], check=True, stdout=subprocess.PIPE).stdout)


def pack_tar(members: list[tuple[str, Path]], archive: Path, time: int) -> None:
    with archive.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=time) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for name, file in members:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = file.stat().st_size, time
            entry.mode = 0o755 if Path(name).name == "polypath" and "/share/" not in name else 0o644
            with file.open("rb") as content:
                tar.addfile(entry, content)


def pack_zip(members: list[tuple[str, Path]], archive: Path, time: int) -> None:
    moment = datetime.fromtimestamp(time, timezone.utc).timetuple()[:6]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, file in members:
            packed.writestr(zipfile.ZipInfo(name, moment), file.read_bytes(), zipfile.ZIP_DEFLATED)


def make(program: Path, target: str, dist: Path) -> Path:
    windows = "windows" in target
    base = f"polypath-{version()}-{target}"
    dist.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        share = Path(folder) / "share"
        extras(program, share, ("bash", "zsh", "fish", "powershell"))
        members = [(f"{base}/{program.name}", program)]
        members += [(f"{base}/{text}", ROOT / text) for text in TEXTS]
        written = sorted(file for file in share.rglob("*") if file.is_file())
        members += [(f"{base}/share/{file.relative_to(share).as_posix()}", file) for file in written]
        archive = dist / f"{base}.{'zip' if windows else 'tar.gz'}"
        (pack_zip if windows else pack_tar)(members, archive, commit_time())
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    (dist / f"{archive.name}.sha256").write_text(f"{digest}  {archive.name}\n", encoding="utf-8")
    return archive


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    if arguments[0] == "--extras":
        extras(Path(arguments[1]).resolve(), Path(arguments[2]))
        return 0
    program, target, dist = arguments
    shown = subprocess.run([program, "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout
    if not shown.startswith(f"polypath {version()} "):
        print(f"error: {program} is {shown.strip()!r}, not version {version()}", file=sys.stderr)
        return 1
    print(f"archive: {make(Path(program).resolve(), target, Path(dist))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
