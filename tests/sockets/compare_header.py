"""Compares the header of this project with those of the system: every number, size and place of every field, and every prototype."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HEADERS = Path(__file__).resolve().parents[2] / "crates/capi/include"
WORD = re.compile(r"\w+")


def enumerators(text: str) -> list[str]:
    """Names in the enumerations."""
    found = []
    for body in re.findall(r"\benum\b[^{;]*\{([^}]*)\}", text):
        found += [WORD.match(item.strip()).group() for item in body.split(",") if item.strip()]
    return found


def fields(text: str) -> list[tuple[str, str]]:
    """Structures and their fields; of a union those that are named with it."""
    found = []
    for kind, name, body in re.findall(r"^(struct|union) (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        body = re.sub(r"struct \{[^}]*\}", "struct", body)
        for line in filter(None, map(str.strip, body.split(";"))):
            names = re.sub(r"^(struct \w+|struct|\w+)\s+", "", line)
            found += [(f"{kind} {name}", WORD.search(field).group()) for field in names.split(",")]
    return found


def probe(header: str, further: set[str]) -> str:
    """A program that prints what there is to compare in a header, which also has `further` types."""
    text = (HEADERS / header).read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    numbers = re.findall(r"^#define ((?:SCTP|SPP|MSG)_\w+) [\w]+$", text, re.MULTILINE) + enumerators(text)
    # In the header of usrsctp, this one has a name only inside of another one.
    places = [(owner, field) for owner, field in fields(text) if owner != "struct sctp_tlv"]
    sizes = sorted({owner for owner, _ in places} | further)
    assert len(numbers) > 150 and len(places) > 150, (len(numbers), len(places))
    lines = [f'printf("{name} %ld\\n", (long){name});' for name in numbers]
    lines += [f'printf("{name} %zu\\n", sizeof({name}));' for name in sizes]
    lines += [f'printf("{owner} {field} %zu\\n", offsetof({owner}, {field}));' for owner, field in places]
    includes = "".join(f"#include <{name}>\n" for name in ("netinet/in.h", header, "stddef.h", "stdio.h"))
    return includes + "int main(void)\n{\n" + "\n".join(lines) + "\n}\n"


def prototypes(header: str, folder: str, flags: list[str]) -> dict[str, str]:
    """Functions that a header declares, each as the compiler writes it, without the names of arguments."""
    source, told = Path(folder, "empty.c"), Path(folder, "prototypes")
    source.write_text(f"#include <netinet/in.h>\n#include <{header}>\n", encoding="utf-8")
    command = ["cc", *flags, "-fsyntax-only", "-aux-info", str(told), str(source)]
    subprocess.run(command, check=True)
    found = {}
    for line in told.read_text(encoding="utf-8").splitlines():
        declared = re.search(r"extern (.*\b((?:usr)?sctp_\w+) \(.*\));", line)
        if declared:
            found[declared.group(2)] = declared.group(1)
    return found


def compare_prototypes(header: str, folder: str) -> int:
    """Compares the functions of both headers; gives how many there are."""
    system, ours = prototypes(header, folder, []), prototypes(header, folder, [f"-I{HEADERS}"])
    # Of FreeBSD: the system's header has none.
    further = {"sctp_sendx"}
    assert len(system) >= 15, system
    wanted = {name for name in system if name.startswith("sctp_") or name in ours}
    different = {name for name in wanted if ours.get(name) != system[name]} | (ours.keys() - system.keys() - further)
    for name in sorted(different):
        print(f"the system has {system.get(name)}, the header of this project {ours.get(name)}")
    if different:
        sys.exit(1)
    return len(wanted)


def compare(header: str, further: set[str]) -> None:
    """Prints what differs in a header; fails if anything does."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text(probe(header, further), encoding="utf-8")
        functions = compare_prototypes(header, folder)
        told = []
        for number, flags in enumerate(([], [f"-I{HEADERS}"])):
            program = f"{folder}/probe-{number}"
            subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", *flags, "-o", program, str(source)], check=True)
            told.append(subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines())
    different = [pair for pair in zip(*told, strict=True) if pair[0] != pair[1]]
    for ours, theirs in different:
        print(f"the system has {ours}, the header of this project {theirs}")
    if different:
        sys.exit(1)
    print(f"{header}: {len(told[0])} numbers, sizes and places, and {functions} prototypes are those of the system")


def main() -> None:
    """Compares the headers of which the system has one."""
    compare("netinet/sctp.h", {"sctp_peeloff_arg_t", "sctp_peeloff_flags_arg_t"})
    if Path("/usr/include/usrsctp.h").exists():
        compare("usrsctp.h", {"sctp_assoc_t"})


main()
