"""A target for libFuzzer: any text, cut anyhow, is said once and the same, in every dialect.

    make fuzz FUZZ_SECONDS=600

The first byte chooses the dialect, the next two seed the cuts, the rest is the text. A dictionary
of markers is made beside the artifacts. A text that breaks the invariant becomes a case in
`tests/corpus/<dialect>.txt` (`scripts/add-case`).
"""

# atheris has no types, and only `make fuzz` installs it.
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import atheris

with atheris.instrument_imports(include=["callblocks"]):
    from callblocks.dialects import dialects
    from support.event_verifier import verify
    from support.soup import COMMON, PARTS
    from support.text_pieces import NAMES, alike, cut, read

    OWNERS = tuple(dialects.values())  # each is imported, and so instrumented, when asked for

LONGEST = 400
DICTIONARY = Path(".fuzz") / "markers.dict"


def check(data: bytes) -> None:
    """Raise if a law is broken for this text."""
    dialect, random = NAMES[data[0] % len(NAMES) if data else 0], Random(data[1:3])
    text = data[3:].decode("utf-8", "surrogateescape")
    whole = read(dialect, [text])
    verify(text, whole)
    places = random.choices(range(len(text) + 1), k=random.randint(1, 4))
    for pieces in (list(text), cut(text, places)):
        events = read(dialect, pieces)
        verify(text, events)
        if not alike(events, whole):
            raise AssertionError(f"{dialect} reads {pieces!r} not as {text!r}")


def write_dictionary() -> None:
    """Say what the texts of the dialects are made of, in libFuzzer's format."""
    parts = {part for parts in PARTS.values() for part in (*parts, *COMMON)}
    escaped = (
        "".join(f"\\x{byte:02X}" for byte in part.encode("utf-8", "surrogateescape"))
        for part in sorted(parts)
        if not any("\ud800" <= char <= "\udfff" for char in part)
    )
    DICTIONARY.parent.mkdir(exist_ok=True)
    DICTIONARY.write_text("".join(f'"{entry}"\n' for entry in escaped), encoding="ascii")


def main() -> None:
    """Hand over to libFuzzer, which never returns."""
    write_dictionary()
    atheris.Setup([*sys.argv, f"-dict={DICTIONARY}", f"-max_len={LONGEST}"], check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
