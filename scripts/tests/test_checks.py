"""The checks of the house can fail: each is shown something that it must refuse, and something that it must not."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
import unittest
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import book_pages
import check_book
import check_house
import check_layers
import check_sizes
import check_words
import module_uses


def workspace(**crates: list[tuple[str, str | None]]) -> dict[str, Any]:
    """Metadata with the given crates ("_" stands for "-") and their dependencies as (name, kind)."""
    packages = [
        {
            "name": name.replace("_", "-"),
            "dependencies": [{"name": dependency, "kind": kind} for dependency, kind in dependencies],
        }
        for name, dependencies in crates.items()
    ]
    return {"packages": packages}


class Layers(unittest.TestCase):
    def test_downward_arrows_pass(self) -> None:
        metadata = workspace(
            polypath_units=[("serde", None)],
            polypath_wire=[],
            polypath_proto=[("polypath-wire", None), ("polypath-units", None)],
            polypath=[("polypath-proto", None), ("polypath-wire", None), ("tokio", None)],
        )
        self.assertEqual(check_layers.check(metadata), [])

    def test_upward_arrow_fails(self) -> None:
        metadata = workspace(polypath_wire=[("polypath-proto", None)], polypath_proto=[])
        self.assertEqual(len(check_layers.check(metadata)), 1)
        self.assertIn("upward", check_layers.check(metadata)[0])

    def test_upward_dev_and_build_arrows_fail(self) -> None:
        for kind in ("dev", "build"):
            metadata = workspace(polypath_netsim=[("polypath-sim", kind)], polypath_sim=[])
            self.assertIn(f"{kind}-dependency", check_layers.check(metadata)[0])

    def test_sideways_arrow_fails(self) -> None:
        metadata = workspace(polypath_netsim=[("polypath-proto", None)], polypath_proto=[])
        self.assertIn("sideways", check_layers.check(metadata)[0])

    def test_unknown_crate_fails(self) -> None:
        self.assertIn("polypath-extra", check_layers.check(workspace(polypath_extra=[]))[0])

    def test_testkit_is_for_tests_only(self) -> None:
        for kind, problems in ((None, 1), ("build", 1), ("dev", 0)):
            metadata = workspace(polypath_proto=[("polypath-testkit", kind)], polypath_testkit=[])
            self.assertEqual(len(check_layers.check(metadata)), problems)

    def test_arrows_have_no_cycle(self) -> None:
        for crate in check_layers.ARROWS:
            self.assertNotIn(crate, check_layers.below(crate))


class Modules(unittest.TestCase):
    """A crate with the layers `low` < `left`, `right` < `high`."""

    LAYERS: check_layers.Layers = (("low",), ("left", "right"), ("high",))

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = Path(folder.name) / "src"
        self.write("lib.rs", "mod high;\nmod left;\nmod low;\nmod right;\npub use low::{Low, kind::Kind as Sort};\n")
        for name in ("low", "right", "high"):
            self.write(f"{name}.rs", "")
        self.write("left/mod.rs", "mod inner;\n")

    def write(self, path: str, text: str) -> None:
        target = self.source / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text), encoding="utf-8")

    def problems(self, *sideways: tuple[str, str]) -> list[str]:
        crate = module_uses.Crate(self.source)
        return check_layers.check_layers_of("crate", crate, self.LAYERS, set(sideways))

    def arrows(self, module: str = "left") -> set[str]:
        return module_uses.Crate(self.source).arrows()[module]

    def test_downward_uses_pass(self) -> None:
        self.write("high.rs", "use crate::left::Left;\nuse crate::{Low, low, right::{Right, side}};\n")
        self.write("left/inner.rs", "use super::Left;\nuse super::super::low;\nfn f() { crate::low::g() }\n")
        self.assertEqual(self.problems(), [])

    def test_upward_uses_fail_with_their_place(self) -> None:
        for text in (
            "\nuse crate::high::High;\n",
            "\nuse crate::{low::Low, high::{self, High}};\n",
            "\npub(crate) use super::super::high as top;\n",
            "\nfn f() -> crate::high::High { todo!() }\n",
            "\nmod more { fn f() { super::super::super::high::g() } }\n",
            "\nuse crate::low;\nuse crate::{\n    low::Low,\n    high,\n};\n",
        ):
            self.write("left/inner.rs", text)
            found = self.problems()
            self.assertEqual(len(found), 1, text)
            self.assertRegex(found[0], r"left/inner\.rs:[23]: left -> high points upward: left may name low$", text)

    def test_name_of_the_root_counts_as_its_module(self) -> None:
        for text in ("use crate::Low;", "use super::super::Low;", "fn f() { crate::Sort::A; }"):
            self.write("left/inner.rs", text)
            self.assertEqual(self.arrows(), {"low"}, text)
        self.write("left/inner.rs", "use crate::Missing;\n")
        self.assertRegex(self.problems()[0], "left names `Missing`")

    def test_use_within_a_layer_must_be_declared(self) -> None:
        self.write("left/inner.rs", "use crate::right::Right;\n")
        self.assertIn("points sideways", self.problems()[0])
        self.assertEqual(self.problems(("left", "right")), [])
        self.assertEqual(len(self.problems(("right", "left"))), 1)

    def test_modules_and_layers_agree(self) -> None:
        self.write("extra.rs", "use crate::high::High;\n")
        self.assertRegex("\n".join(self.problems()), "^crate: its module extra is not in LAYERS")
        (self.source / "extra.rs").unlink()
        (self.source / "right.rs").unlink()
        self.assertRegex("\n".join(self.problems()), "^crate: LAYERS has a module right")

    def test_text_and_tests_do_not_count(self) -> None:
        self.write("left/tests.rs", "use crate::high::High;\n")
        self.write("left/tests/more.rs", "use crate::high::High;\n")
        self.write("left/fixtures.rs", "use crate::high::High;\n")
        self.write(
            "left/mod.rs",
            """
            //! [`crate::high::High`]
            /* use crate::high; */
            pub(in crate::high) fn f() { let text = "crate::high::High"; }
            #[cfg(test)]
            use crate::{high::High, right};
            #[cfg(test)]
            mod fixtures;
            #[cfg(all(test, feature = "a"))]
            impl Left { fn f() { if true { crate::high::g() } } }
            #[cfg(test)]
            mod tests { use crate::high::High; }
            #[cfg(feature = "a")]
            use crate::low::Low;
            """,
        )
        self.assertEqual(self.arrows(), {"low"})

    def test_circles_fail(self) -> None:
        self.write("low.rs", "use crate::right::R;\n")
        self.write("right.rs", "use crate::high::H;\n")
        self.assertEqual(check_layers.check_circles(module_uses.Crate(self.source)), [])
        self.write("high.rs", "\nuse crate::low::L;\n")
        found = check_layers.check_circles(module_uses.Crate(self.source))
        self.assertEqual(len(found), 1)
        for part in ("high -> low (", "high.rs:2)", "low -> right (", "right -> high ("):
            self.assertIn(part, found[0])

    def test_crates_without_layers_are_checked_for_circles(self) -> None:
        self.write("low.rs", "use crate::high::H;\n")
        self.write("high.rs", "use crate::low::L;\n")
        package = {"name": "some-crate", "manifest_path": str(self.source.parent / "Cargo.toml")}
        found, count = check_layers.check_modules({"packages": [package]})
        self.assertEqual((len(found), count), (1, 4))

    def test_declared_layers_make_sense(self) -> None:
        for name, layers in check_layers.LAYERS.items():
            modules = [module for layer in layers for module in layer]
            self.assertEqual(len(modules), len(set(modules)), name)
            for pair in check_layers.SIDEWAYS.get(name, set()):
                self.assertTrue(any(set(pair) <= set(layer) for layer in layers), f"{name}: {pair}")
        self.assertLessEqual(check_layers.SIDEWAYS.keys(), check_layers.LAYERS.keys())
        self.assertLessEqual(set(check_layers.LAYERS), check_layers.ARROWS.keys())


def lines(count: int) -> str:
    return "let x = 1;\n" * count


def test_module(count: int) -> str:
    return "#[cfg(test)]\nmod tests {\n" + "    fn case() {}\n" * (count - 3) + "}\n"


class Sizes(unittest.TestCase):
    SOURCE = PurePosixPath("crates/proto/src/send/queue.rs")

    def test_limits(self) -> None:
        for count, warnings, errors in ((500, 0, 0), (501, 1, 0), (700, 1, 0), (701, 0, 1)):
            found = check_sizes.judge(self.SOURCE, lines(count))
            self.assertEqual((len(found[0]), len(found[1])), (warnings, errors), count)

    def test_inline_tests_count_apart(self) -> None:
        self.assertEqual(
            check_sizes.measure_rust(lines(10) + test_module(20) + lines(5)), check_sizes.Size(code=15, tests=20)
        )
        for count, warnings, errors in ((150, 0, 0), (151, 1, 0), (201, 0, 1)):
            found = check_sizes.judge(self.SOURCE, lines(500) + test_module(count))
            self.assertEqual((len(found[0]), len(found[1])), (warnings, errors), count)

    def test_module_with_further_attributes(self) -> None:
        text = "#[cfg(test)]\n#[allow(clippy::unwrap_used)]\nmod tests {\n    fn case() {}\n}\nfn code() {}\n"
        self.assertEqual(check_sizes.measure_rust(text), check_sizes.Size(code=1, tests=5))

    def test_declared_test_module_is_code(self) -> None:
        self.assertEqual(check_sizes.measure_rust("#[cfg(test)]\nmod tests;\nfn code() {}\n").tests, 0)

    def test_files_of_tests_are_exempt(self) -> None:
        for name in ("crates/proto/tests/pair.rs", "crates/proto/src/send/queue/tests.rs", "scripts/tests/t.py"):
            self.assertEqual(check_sizes.judge(PurePosixPath(name), lines(3000)), ([], []))
        self.assertTrue(check_sizes.judge(PurePosixPath("scripts/tests.py"), lines(3000))[1])


class House(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text), encoding="utf-8")

    def test_names_outside_their_rooms_fail(self) -> None:
        for source in (
            "if self.cmt_on {}",
            "struct CmtState;",
            "let cmt = 1;",
            "use crate::config::CmtPolicies;",
            "policies.cmt.sfr",
            "crate::mechanism::cmt_window()",
        ):
            self.write("crates/proto/src/send/queue.rs", source)
            self.assertEqual(len(list(check_house.check_names(self.root))), 1, source)

    def test_call_sites_and_texts_pass(self) -> None:
        self.write(
            "crates/proto/src/send/queue.rs",
            """
            //! CMT comes in here: `cmt_on`.
            mod mechanism;
            use crate::mechanism::sfr;
            fn f<'a>(x: &'a str) { sfr::step('"', "cmt_on", r#"a "cmt_on" b"#); /* cmt_on */ }
            """,
        )
        self.write("crates/proto/src/mechanism/sfr.rs", "struct CmtState;")
        self.write("crates/proto/src/config/presets.rs", "fn cmt() {}")
        self.assertEqual(list(check_house.check_names(self.root)), [])

    def test_types_of_the_same_name_fail(self) -> None:
        self.write("crates/proto/src/send/queue.rs", "pub(crate) struct Entry;\n// struct Order;\n")
        self.write("crates/proto/src/send/tests.rs", "struct Entry;\n")
        self.write("crates/proto/src/recv/map.rs", "struct Order;\nmod tests {\n    struct Entry;\n}\n")
        self.assertEqual(list(check_house.check_types(self.root)), [])
        self.write("crates/proto/src/recv/gaps.rs", "enum Entry {}\n")
        self.assertEqual(len(list(check_house.check_types(self.root))), 1)

    def test_missing_attribute_fails(self) -> None:
        self.write("crates/wire/src/lib.rs", "#![no_std]\n// #![forbid(unsafe_code)]\n")
        self.assertEqual(len(list(check_house.check_attributes(self.root))), 1)
        self.write("crates/wire/src/lib.rs", "#![no_std]\n#![forbid(unsafe_code)]\n")
        self.assertEqual(list(check_house.check_attributes(self.root)), [])

    def test_testkit_in_source_fails(self) -> None:
        self.write("crates/proto/src/lib.rs", "#[cfg(test)]\nuse polypath_testkit::Pair;\n")
        self.write("crates/proto/tests/pair.rs", "use polypath_testkit::Pair;\n")
        self.assertEqual(len(list(check_house.check_testkit(self.root))), 1)

    def test_rooms_and_their_page_agree(self) -> None:
        self.write("crates/proto/Cargo.toml", "")
        self.write("crates/proto/src/send/queue.rs", "")
        self.write("crates/wire/benches/packet.rs", "")
        page = "  proto   the protocol\n`send/`, `send/queue`, `benches/`: missing reports (send/queue)\n"
        self.write("docs/architecture.md", page)
        self.assertEqual(list(check_house.check_rooms(self.root)), [])
        self.write("docs/architecture.md", page + "`send/window`, and recovery (send/lost, send/queue)\n")
        self.assertEqual(len(list(check_house.check_rooms(self.root))), 2)
        self.write("docs/architecture.md", page)
        self.write("crates/proto/src/recv/mod.rs", "")
        self.write("crates/net/Cargo.toml", "")
        self.assertEqual(len(list(check_house.check_rooms(self.root))), 2)

    def test_lints_are_repeated(self) -> None:
        self.write("clippy.toml", "too-many-lines-threshold = 100\nmax-struct-bools = 3\n")
        self.write("crates/a/Cargo.toml", "[lints]\nworkspace = true\n")
        self.write("crates/a/clippy.toml", 'too-many-lines-threshold = 100\ndisallowed-types = ["std::rc::Rc"]\n')
        self.write("crates/b/Cargo.toml", "[package]\nname = 'b'\n")
        self.assertEqual(len(list(check_house.check_lints(self.root))), 2)


class Threats(unittest.TestCase):
    def faults(self, *rows: str, figure: str = "| packets | 7 | `make soak` |") -> list[str]:
        page = "\n".join(["| # | threat |", "| --- | --- |", *rows, "", "## Figures", "", figure])
        return list(check_book.threat_faults(page, {"a_test", "soak.rs"}))

    def test_groups_that_follow_each_other_pass(self) -> None:
        rows = ["| 1 | a | b | `a_test` | complete |", "| 2, 3 | a | | | missing |", "| 3 | a | | `soak.rs` | partly: x |"]
        self.assertEqual(self.faults(*rows), [])

    def test_gaps_unknown_tests_and_claims_without_tests_fail(self) -> None:
        for row, fault in [
            ("| 2 | a | b | `a_test` | complete |", "group 2 follows group 0"),
            ("| 1 | a | b | `no_test` | complete |", "no test `no_test`"),
            ("| 1 | a | b | | complete |", "without a defence and a test"),
            ("| 1 | a | | `a_test` | complete |", "without a defence and a test"),
            ("| 1 | a | b | `a_test` | nearly |", "is neither"),
            ("| 1 | a | b | `a_test` |", "a row has"),
        ]:
            self.assertIn(fault, "\n".join(self.faults(row)), row)

    def test_figures_need_a_command(self) -> None:
        self.assertIn("the command", self.faults(figure="| packets | 7 | measured |")[0])
        self.assertIn("no test `gone_test`", self.faults(figure="| packets | 7 | `cargo test`, `gone_test` |")[0])

    def test_only_test_functions_count(self) -> None:
        source = "#[test]\n#[ignore]\nfn a() {}\n#[tokio::test(flavor = \"x\")]\n// Why.\nasync fn b() {}\nfn c() {}\n"
        self.assertEqual(check_book.TEST_FUNCTION.findall(source), ["a", "b"])


class Standards(unittest.TestCase):
    CODE = "pub struct Options {\n    pub rto: u32,\n}\nenum Event {\n    Ended(u8),\n    Dry,\n}\nfn stats() {}\n"

    def faults(self, row: str, evidence: str, *, api: str = "") -> str:
        page = "\n".join(["| document | support |", "| --- | --- |", row, "", "## The sockets API", "", api])
        tests = "\n".join(["| document | tests |", "| --- | --- |", evidence])
        places = Counter({"a_test": 1, "often": 2})
        return "\n".join(check_book.standard_faults(page, tests, places, self.CODE))

    def test_statements_with_a_test_and_denials_pass(self) -> None:
        self.assertEqual(self.faults("| RFC 1 | yes |", "| RFC 1 | `a_test` |"), "")
        self.assertEqual(self.faults("| RFC 2 | no |", "| RFC 2 | none |"), "")

    def test_statements_without_a_test_of_their_own_fail(self) -> None:
        row = "| RFC 1 | yes |"
        for evidence, fault in [
            ("| RFC 1 | none |", "docs/standards-tests.md:3: no test shows"),
            ("| RFC 1 | `gone` |", "0 tests have the name `gone`"),
            ("| RFC 1 | `a_test`, `often` |", "2 tests have the name `often`"),
            ("| RFC 2 | `a_test` |", "'RFC 2' stands for 'RFC 1'"),
            ("", "'' stands for 'RFC 1'"),
            ("| RFC 1 | `a_test` |\n| RFC 2 | `a_test` |", "'RFC 2' stands for ''"),
            ("| RFC 1 | yes | `a_test` |", "a row says"),
        ]:
            self.assertIn(fault, self.faults(row, evidence), evidence)

    def test_quoted_names_are_defined(self) -> None:
        rows = ("| RFC 1 | yes |", "| RFC 1 | `a_test` |")
        names = "`Options::rto`, `Event`, `Ended`, `Event::Dry`, `stats`, `a command`"
        self.assertEqual(self.faults(*rows, api=names), "")
        for name in ("Options::rtt", "Option::rto", "status"):
            self.assertIn(f"no source defines `{name}`", self.faults(*rows, api=f"`{name}`"))


class BookPages(unittest.TestCase):
    """What the book has from outside of docs/."""

    def test_links_lead_to_pages_or_to_the_repository(self) -> None:
        for folder, link, expected in [
            ("docs", "qlog.md#packets", "qlog.md#packets"),
            ("docs", "images/demo.svg", "images/demo.svg"),
            ("docs", "../CHANGELOG.md", f"{book_pages.REPOSITORY}CHANGELOG.md"),
            ("docs", "../papers/key/README.md", "paper-key.md"),
            ("papers/key", "../../docs/ns2.md#rules", "ns2.md#rules"),
            ("papers/key", "fig2.toml", f"{book_pages.REPOSITORY}papers/key/fig2.toml"),
            ("docs", "#part", "#part"),
            ("docs", "https://example.org/a.md", "https://example.org/a.md"),
        ]:
            self.assertEqual(book_pages.with_links(folder, f"a [b]({link})."), f"a [b]({expected}).")

    def test_a_paper_is_a_page_below_that_of_papers(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            paper = Path(folder) / "key"
            paper.mkdir()
            (paper / "README.md").write_text("# Title\n\nText.\n", encoding="utf-8")
            statements = [("key-1-1", "a | b"), ("key-1-2", "c")]
            text = "".join(f'[[statements]]\nid = "{id}"\nfigure = "1"\nstatement = "{it}"\n' for id, it in statements)
            (paper / "expected.toml").write_text(f'paper = "key"\n{text}', encoding="utf-8")
            (paper / "verdicts.csv").write_text("id,verdict\nkey-1-1,holds\n", encoding="utf-8")
            above = {"name": "Papers", "content": "", "number": [4], "sub_items": [], "path": "papers.md", "parent_names": ["Book"]}
            book_pages.rewrite([{"Chapter": above}], Path(folder))
        [page] = [item["Chapter"] for item in above["sub_items"]]
        self.assertEqual((page["name"], page["path"], page["number"]), ("Title", "paper-key.md", [4, 1]))
        self.assertEqual(page["parent_names"], ["Book", "Papers"])
        self.assertIn("| `1-1` a \\| b | holds |\n| `1-2` c | not run |", page["content"])


class Words(unittest.TestCase):
    """What is not written is found in prose, and only there."""

    def words(self, name: str, text: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(textwrap.dedent(text), encoding="utf-8")
            return [find.word for find in check_words.finds_in(path, name)]

    def test_phrases_are_found(self) -> None:
        self.assertEqual(self.words("page.md", "Packets that Overtake others.\n"), ["Overtake"])
        self.assertEqual(self.words("lib.rs", "/// Sent in one go.\nfn f() {}\n"), ["in one go"])

    def test_phrases_are_found_across_lines(self) -> None:
        self.assertEqual(self.words("lib.rs", "/// Probes that were sent in\n/// vain.\n"), ["in vain"])
        self.assertEqual(self.words("page.md", "sent in\n\nvain\n"), [])

    def test_code_is_no_prose(self) -> None:
        page = """\
            The value `overtake` of a key.

                order = "overtake"

            ```toml
            order = "overtake"
            ```
            """
        self.assertEqual(self.words("page.md", page), [])
        self.assertEqual(self.words("lib.rs", "// in vain\nlet overtaken = 1;\n"), [])

    def test_what_is_allowed_has_to_be_there(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            subprocess.run(["git", "init", "--quiet", folder], check=True)
            (root / "README.md").write_text("Packets overtake.\n", encoding="utf-8")
            reason = "a quotation"
            self.assertEqual(len(check_words.check(root, [])), 1)
            self.assertEqual(check_words.check(root, [("README.md", "Packets", reason)]), [])
            complaints = check_words.check(root, [("README.md", "Packets", reason), ("README.md", "gone", reason)])
            self.assertEqual(len(complaints), 1)
            self.assertIn("not needed any more", complaints[0])


if __name__ == "__main__":
    unittest.main()
