"""A reader of GBNF, llama.cpp's notation of grammars, and a writer for llguidance.

The reader knows what llama.cpp's parser knows, and no more: names of `[a-zA-Z0-9-]`, its
escapes, `| ( ) * + ? {m,n}`; a rule ends with its line. Every literal becomes single
characters, as that is how llama.cpp follows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ("mirrored_lark", "tokens")

ESCAPE = r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[tnr\\\"\[\]])"
CHAR = re.compile(rf"{ESCAPE}|[^\\]")
TOKEN = re.compile(
    rf'"(?P<literal>(?:{ESCAPE}|[^"\\])*)"'
    rf"|\[(?P<class>\^?(?:{ESCAPE}|[^\]\\])*)\]"
    r"|(?P<name>[a-zA-Z0-9-]+)"
    r"|(?P<sign>[|()]|[*+?]|\{\d+(?:,\d*)?\})"
    r"|(?P<space> +)"
)
NAMED = {"t": "\t", "n": "\n", "r": "\r"}


def mirrored_lark(gbnf: str) -> str:
    """The Lark grammar of all texts whose mirror image is of the GBNF grammar."""
    rules = dict(line.split(" ::= ", 1) for line in gbnf.splitlines())
    assert len(rules) == len(gbnf.splitlines()), "a rule is there twice"
    missing = {name for text in rules.values() for name in _names(text)} - rules.keys()
    assert not missing, f"rules that are not there: {missing}"
    lines = (f"{_named(name)}: {_choice(tokens(text))}" for name, text in rules.items())
    return "\n".join(lines) + "\n"


def tokens(text: str) -> Iterator[re.Match[str]]:
    """The tokens of a rule, blanks left out."""
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, f"not GBNF: {text[at:]!r}"
        at = match.end()
        if match.lastgroup != "space":
            yield match


def _names(text: str) -> set[str]:
    return {match["name"] for match in tokens(text) if match.lastgroup == "name"}


def _choice(tokens: Iterator[re.Match[str]]) -> str:
    """Read up to the end of the rule or the group; each row comes out backwards."""
    rows: list[list[str]] = [[]]
    for token in tokens:
        match token.lastgroup, token[0]:
            case "sign", ")":
                break
            case "sign", "|":
                rows.append([])
            case "sign", "(":
                rows[-1].append(f"({_choice(tokens)})")
            case "sign", times:
                rows[-1][-1] += times
            case _:
                rows[-1].append(_atom(token))
    return " | ".join(" ".join(reversed(row)) or '""' for row in rows)


def _atom(token: re.Match[str]) -> str:
    if token["name"]:
        return _named(token["name"])
    if token["class"]:
        return f"/[{_regex(token['class'])}]/"
    single = [f"/{_code(char)}/" for char in reversed(CHAR.findall(token["literal"]))]
    return f"({' '.join(single)})" if single else '""'


def _regex(spec: str) -> str:
    return "".join(char if char in "^-" else _code(char) for char in CHAR.findall(spec))


def _code(char: str) -> str:
    if char[0] != "\\":
        code = ord(char)
    elif char[1] in "xuU":
        code = int(char[2:], 16)
    else:
        code = ord(NAMED.get(char[1], char[1]))
    return f"\\x{{{code:X}}}"


def _named(name: str) -> str:
    return "start" if name == "root" else "r_" + name.replace("-", "_").lower()
