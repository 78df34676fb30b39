r"""Judgement of masks: is a masked word a mere value, which neither a shell nor a program runs?

    curl -H "Authorization: Basic x"    yes: it shares the quotes of its name
    login --token=x                     yes: it is joined to its name
    password: x                         yes, at the start of a line: `password:` is the command
    sudo -p password: x                 no: `x` is a command
    token= x                            no: a shell sets `token` to nothing and runs `x`
    token = "x"; os.system(token)       no: its name is used

The attack: a call hides its harmful part behind something that looks like a secret; the mask covers
it, and a person approves what looks harmless. A text can be a command, a file or a message, and
nothing tells which. So every text is read as a shell would read it, and a doubtful case is no mere
value. Then a person who sees only the mask cannot approve the call.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Literal, TypeAlias

__all__ = ("SCHEME", "Judge", "Place", "is_reference", "read_json")

# The places where a secret is a mere value: joined to its name, to the last word of that, to
# anything that ends with `=` or `:`, or nowhere.
Place: TypeAlias = Literal["named", "option", "joined", "none"]

SCHEME = r"(?i:basic|bearer|digest|token|apikey|negotiate|ntlm|hawk|oauth|aws4-hmac-sha256)"
# Ways to run a value, or to read one without its name. A file may be run later.
_RUNS_VALUES = re.compile(
    r"[$`|]|<<|<\(|(?:^|[\s0-9&])>"
    r"|\b(?:eval|alias|xargs|base64|b64decode|atob|unhexlify|fromhex|popen|subprocess|spawn\w*"
    r"|environ|getenv|printenv|process\.env|globals|locals|vars)\b|\b(?:exec|system)[ \t]*\(",
    re.IGNORECASE | re.MULTILINE,
)
_REFERENCE = re.compile(
    r"\$\{?!?[A-Za-z_]|%[A-Za-z_]\w*%|\b(?:environ|getenv|printenv|process\.env)\b"
)
# The name by which a program could use a value, directly before it, and a use that gives no value.
_NAME = re.compile(r"([A-Za-z_]\w{0,63})\\*[\"']?\]?[ \t]{0,8}(?::=|[:=])[ \t]{0,8}\\*[\"']?\Z")
_NO_VALUE = r"(?!\\*[\"']?\]?[ \t]{0,8}(?::|=(?!=)))"
# A name that starts its line takes the place of a command: what follows is its argument. Quotes
# around the name come in pairs, because a quote that opened on a previous line may end here.
_LINE_START = re.compile(
    r"[ \t]*(?:-[ \t]+)?[{\[]?[ \t]*"
    rf"(?:(?P<quote>[\"']?)[\w.-]+(?P=quote)(?:[ \t]*:|[ \t]+(?::=|=))[ \t]*"
    rf"(?:{SCHEME}[ \t]+|[\w.-]+=)?|{SCHEME}[ \t]+)[\"']?"
)
_JOINED = re.compile(r"[=:][\"']?\Z")
_QUOTATION = re.compile(r"\\[\s\S]|'[^']*+'?|\"[^\"\\]*+(?:\\[\s\S][^\"\\]*+)*\"?")
# Syntax that changes how a shell reads the quotes behind it: comments, here-documents, arithmetic.
_OTHER_QUOTING = re.compile(r"#|<<|\(\(")
# Quotes are followed this far from the start of a text, which bounds the work.
_REACH = 4096


class Judge:
    """The judge of the masks of one text; `is_whole` until one hides more than a value."""

    def __init__(self, text: str) -> None:
        self.is_whole = True
        self._text = text
        self._is_json = read_json(text) is not None
        self._names: set[str] = set()

    def add(self, text: str, start: int, secret: int, *, place: Place, is_value: bool) -> None:
        """Judge a mask: the match starts at `start` of `text`, the covered part at `secret`."""
        if not self.is_whole:
            return
        self.is_whole = is_value and place != "none"
        if self.is_whole and not self._is_json:
            self.is_whole = _is_in_place(text, start, secret, place)
            if name := _NAME.search(text, max(0, secret - 96), secret):
                self._names.add(name[1])

    def end(self) -> bool:
        """Return whether all masks hide mere values, and nothing in the text uses those."""
        if self.is_whole and not self._is_json:
            self.is_whole = not _RUNS_VALUES.search(self._text) and not self._uses_a_name()
        return self.is_whole

    def _uses_a_name(self) -> bool:
        # One pattern for all names, so the text is searched once, however many masks it has.
        names = "|".join(map(re.escape, sorted(self._names)))
        return bool(names) and re.search(rf"\b(?:{names})\b{_NO_VALUE}", self._text) is not None


def is_reference(text: str) -> bool:
    """Return whether a text may stand for a value that another part of its call gives."""
    return _REFERENCE.search(text) is not None


def read_json(text: str) -> object:
    """Return the mapping or list that the text encodes in JSON, otherwise `None`."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_in_place(text: str, start: int, secret: int, place: Place) -> bool:
    """Return whether a shell takes the secret for a part of a word, or for an argument."""
    kept = text[start:secret]
    if place == "joined":
        is_joined = _JOINED.search(text, max(0, start - 2), start) is not None
    else:
        word = kept if place == "named" else re.split(r"[ \t]", kept)[-1]
        is_joined = not re.search(r"[\s<>]", word) and not _is_path(text, start)
    return is_joined or _starts_line(text, secret) or _shares_quotes(text, start, secret)


def _is_path(text: str, at: int) -> bool:
    """Return whether a word that continues at `at` starts like the path of a file."""
    before = re.split(r"[\s\"'=]", text[max(0, at - 256) : at])[-1]
    return "/" in before and "://" not in before and "?" not in before


def _starts_line(text: str, secret: int) -> bool:
    line = text.rfind("\n", 0, secret) + 1
    if secret - line > _REACH or text[:line].endswith("\\\n"):
        return False
    return _LINE_START.fullmatch(text, line, secret) is not None


def _shares_quotes(text: str, start: int, secret: int) -> bool:
    """Return whether the secret stands in a quotation that begins before its name."""
    if secret > _REACH or _OTHER_QUOTING.search(text, 0, secret):
        return False
    quotations = deque(_QUOTATION.finditer(text, 0, secret), maxlen=1)
    if not quotations or quotations[0].end() < secret or quotations[0].start() >= start:
        return False
    last = quotations[0][0]
    return last[0] != "\\" and (len(last) == 1 or last[-1] != last[0])
