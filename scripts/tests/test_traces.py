"""The committed traces are those that the scripts make."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
TRACES = SCRIPTS.parent / "scenarios/traces"


class Traces(unittest.TestCase):
    def check(self, script: str, out: str, *names: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, SCRIPTS / script, "--out", f"{folder}/{out}"], check=True)
            for name in names:
                made = (Path(folder) / name).read_text(encoding="utf-8")
                self.assertEqual(made, (TRACES / name).read_text(encoding="utf-8"), name)

    def test_lte(self) -> None:
        self.check("make_lte_trace.py", "lte.csv", "lte.csv")

    def test_uplinks(self) -> None:
        self.check("make_uplink_traces.py", "", "lte-uplink.csv", "satellite.csv")


if __name__ == "__main__":
    unittest.main()
