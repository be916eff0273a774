"""Which top-level modules of a crate's `src` name which others, read from the sources.

A top-level module is a folder or a file directly in `src`; `lib.rs` and `main.rs` are the crate's face, not modules. A
path counts whether it stands in a `use` or in the code, as `crate::module::...` or through `super::`; a name that the
face re-exports (`crate::Scenario`) counts as its module's. Comments, strings, tests and what stands under `#[cfg(test)]`
do not count.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Iterator

from check_house import blank_text

FACES = ("lib.rs", "main.rs")
Route = tuple[str, ...]

CFG_TEST = re.compile(r"#\[cfg\((?:test|all\(test\b[^\]]*)\)\]")
DECLARATION = re.compile(r"\bmod\s+(\w+)\s*;")
BLOCK_MODULE = re.compile(r"\bmod\s+(\w+)\s*\{")
VISIBILITY = re.compile(r"\bpub\s*\([^)]*\)")
USE = re.compile(r"\buse\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])(?:crate|super)(?:\s*::\s*\w+)+")


@dataclass(frozen=True)
class Use:
    """One place where a module names another."""

    file: Path
    line: int
    source: str
    target: str


def blank(text: str, start: int, end: int) -> str:
    """`text` with a stretch of it emptied, line numbers kept."""
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def end_of_block(text: str, opening: int) -> int:
    """The position behind the brace that closes the one at `opening`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, opening):
        depth += 1 if match.group() == "{" else -1
        if depth == 0:
            return match.end()
    return len(text)


def end_of_item(text: str, start: int) -> int:
    """The position behind the item that begins at `start`: its semicolon or its block. A `use` may have braces of its own."""
    is_use = re.compile(r"\s*(?:pub\s*(?:\([^)]*\))?\s*)?use\b").match(text, start)
    match = re.compile(r";" if is_use else r"[;{]").search(text, start)
    if match is None:
        return len(text)
    return match.end() if match.group() == ";" else end_of_block(text, match.start())


def code_of(source: str) -> tuple[str, set[str]]:
    """The source without comments, strings and tests, and the modules in files of their own that are for tests only."""
    text = blank_text(source)
    test_modules: set[str] = set()
    while match := CFG_TEST.search(text):
        end = end_of_item(text, match.end())
        test_modules.update(DECLARATION.findall(text[match.end() : end]))
        text = blank(text, match.start(), end)
    return text, test_modules


def expand(tree: str) -> Iterator[Route]:
    """Every path of a `use` tree: `a::{b, c::{d as e, self}}` gives a::b, a::c::`d as e` and a::c."""
    prefix, brace, rest = tree.partition("{")
    route = tuple(part for part in re.split(r"\s*::\s*", prefix.strip()) if part)
    if not brace:
        if route:
            yield route[:-1] if route[-1] == "self" and len(route) > 1 else route
        return
    depth, branch = 0, ""
    for character in rest[: rest.rindex("}")] + ",":
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character != "," or depth:
            branch += character
            continue
        for tail in expand(branch) if branch.strip() else ():
            yield route if tail == ("self",) else (*route, *tail)
        branch = ""


def block_modules(text: str) -> list[tuple[int, int, str]]:
    """Begin, end and name of every module that is written as a block."""
    return [(match.end(), end_of_block(text, match.end() - 1), match.group(1)) for match in BLOCK_MODULE.finditer(text)]


def absolute(route: Route, module: Route) -> Route | None:
    """The path from the crate's root, if it begins with `crate` or `super`."""
    if route[0] == "crate":
        return route[1:]
    if route[0] != "super":
        return None
    while route and route[0] == "super":
        route, module = route[1:], module[:-1]
    return (*module, *route)


def routes(text: str, module: Route) -> Iterator[tuple[int, Route]]:
    """Line and path from the crate's root of everything that the code of `module` names in its own crate."""
    text = VISIBILITY.sub(lambda match: blank(match.group(), 0, len(match.group())), text)
    blocks = block_modules(text)
    found: list[tuple[int, Route]] = []
    for match in USE.finditer(text):
        found.extend((match.start(1), (*route[:-1], route[-1].split()[0])) for route in expand(match.group(1)))
        text = blank(text, *match.span())
    for match in PATH.finditer(text):
        found.append((match.start(), tuple(re.split(r"\s*::\s*", match.group()))))
    for position, route in found:
        inner = tuple(name for start, end, name in blocks if start <= position < end)
        target = absolute(route, (*module, *inner))
        if target:
            yield text.count("\n", 0, position) + 1, target


def module_of(place: PurePosixPath) -> Route:
    """The module that a file holds, from its place in `src`."""
    parts = place.with_suffix("").parts
    return parts[:-1] if parts[-1] == "mod" else parts


def re_exports(face: str) -> dict[str, str]:
    """What a crate's face hands on, by name, with the module it comes from; `*` where it hands on all of one."""
    names: dict[str, str] = {}
    for match in USE.finditer(face):
        for route in expand(match.group(1)):
            start = 1 if route[0] in ("crate", "self") and len(route) > 1 else 0
            names[route[-1].split()[-1]] = route[start].split()[0]
    return names


class Crate:
    """The modules of a crate and what they name of each other."""

    def __init__(self, source: Path) -> None:
        self.source = source
        files = sorted(path for path in source.rglob("*.rs"))
        places = {path: PurePosixPath(path.relative_to(source).as_posix()) for path in files}
        codes: dict[Path, str] = {}
        tests: set[Route] = set()
        for path, place in places.items():
            codes[path], declared = code_of(path.read_text(encoding="utf-8"))
            base = () if place.name in FACES and len(place.parts) == 1 else module_of(place)
            tests.update((*base, name) for name in declared)
        faces = "\n".join(codes[path] for path, place in places.items() if str(place) in FACES)
        self.handed_on = re_exports(faces)
        self.modules: set[str] = set()
        kept: list[tuple[Path, Route]] = []
        for path, place in places.items():
            module = module_of(place)
            is_test = any(module[: len(test)] == test for test in tests) or "tests" in module
            if str(place) not in FACES and place.parts[0] != "bin" and not is_test:
                self.modules.add(module[0])
                kept.append((path, module))
        self.uses: list[Use] = []
        # What is taken from the crate's root and comes from no module that can be told.
        self.unknown: list[Use] = []
        for path, module in kept:
            self.read(path, module, codes[path])

    def read(self, path: Path, module: Route, code: str) -> None:
        for line, route in sorted(set(routes(code, module))):
            handed_on = self.handed_on.get(route[0], self.handed_on.get("*"))
            target = route[0] if route[0] in self.modules else handed_on
            if target is None:
                self.unknown.append(Use(path, line, module[0], route[0]))
            elif target != module[0] and target in self.modules:
                self.uses.append(Use(path, line, module[0], target))

    def arrows(self) -> dict[str, set[str]]:
        """Module -> the modules that it names."""
        targets: dict[str, set[str]] = {module: set() for module in self.modules}
        for use in self.uses:
            targets[use.source].add(use.target)
        return targets


def shortest_circle(arrows: dict[str, set[str]], start: str) -> list[str]:
    """The shortest way from a module back to itself, without the repeated end; empty if there is none."""
    ways = deque([[start]])
    seen: set[str] = set()
    while ways:
        way = ways.popleft()
        for target in sorted(arrows.get(way[-1], ())):
            if target == start:
                return way
            if target not in seen:
                seen.add(target)
                ways.append([*way, target])
    return []


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """A shortest circle through every module that is in one, each circle once."""
    found: dict[frozenset[str], list[str]] = {}
    for module in sorted(arrows):
        circle = shortest_circle(arrows, module)
        if circle:
            found.setdefault(frozenset(circle), circle)
    return list(found.values())
