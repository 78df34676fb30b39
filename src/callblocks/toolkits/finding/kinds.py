"""The kind of a file by its name, and the kinds that need a child process.

    notes.md  markdown      tides.csv  csv      page.html  html
    a.pdf     pdf           a.docx     docx     all else   text, if it is

Complex formats (HTML, PDF, DOCX) can be crafted to break a parser. They are parsed in a process of
their own, and only when `file_ingest` requests it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ("APART", "KINDS", "Kind", "kind_of")

Kind: TypeAlias = Literal["text", "markdown", "csv", "html", "pdf", "docx"]

KINDS: tuple[Kind, ...] = get_args(Kind)
# The kinds that are parsed in a child process.
APART: frozenset[Kind] = frozenset(("html", "pdf", "docx"))

_BY_SUFFIX: dict[str, Kind] = {
    **dict.fromkeys(("md", "markdown", "mdown", "mkd"), "markdown"),
    **dict.fromkeys(("csv", "tsv"), "csv"),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    "pdf": "pdf",
    "docx": "docx",
}


def kind_of(path: str) -> Kind:
    """Return the kind of a file by its suffix."""
    name = path.rpartition("/")[2]
    return _BY_SUFFIX.get(name.rpartition(".")[2].lower() if "." in name else "", "text")
