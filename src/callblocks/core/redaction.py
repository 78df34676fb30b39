r"""Secrets never reach a screen or a trace: what plainly is one is covered by a mask.

    api_key=abc123xyz              api_key=••••••••
    {"password": "hunter2"}        {"password": "••••••••"}
    Authorization: Basic dTpw; ls  Authorization: Basic ••••••••; ls
    git clone https://me:pw@host   git clone https://me:••••••••@host
    login --password hunter2       login --password ••••••••
    Set-Cookie: sid=38afes7a8      Set-Cookie: sid=••••••••
    <password>hunter2</password>   <password>••••••••</password>
    curl -u me:hunter2             curl -u me:••••••••
    ghp_… sk-… AKIA… eyJ….….…      ••••••••

A token that only says where a list goes on is no secret: `nextPageToken`, `sync_token`.

A mask covers one word and has one width. Blanks, line ends, quotes and all other signs that mean
something to a shell stay in sight, also inside a secret: `"two words"` has two masks. `mask` also
says whether a person who sees the masked text has seen all that could do something. It does not
hold where a mask stands for more than one plain value: several words, a path, an address, or a
word that could be run (`value_places`).

This is a net for the obvious, not a proof: a secret of no known shape under a harmless
name passes. Every pattern is linear: a run of characters is entered only at its edge and
never given back. A pattern is tried only where one of the words stands with which it can
start: to look for a few words is much quicker than to try a pattern at each character.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from heapq import merge
from typing import Any, Literal, NamedTuple, TypeAlias, cast

__all__ = (
    "REDACTED",
    "SCHEME",
    "Judge",
    "Masked",
    "MaskedValue",
    "Place",
    "cover",
    "is_reference",
    "is_secret_key",
    "mask",
    "mask_secrets",
    "read_json",
    "redact",
    "redact_start",
    "without_secrets",
)

# --- Judgement of masks: is a masked word a mere value, which no shell or program runs? ---
#
#     curl -H "Authorization: Basic x"    yes: it shares the quotes of its name
#     login --token=x                     yes: it is joined to its name
#     password: x                         yes, at the start of a line: `password:` is the command
#     sudo -p password: x                 no: `x` is a command
#     token= x                            no: a shell sets `token` to nothing and runs `x`
#     token = "x"; os.system(token)       no: its name is used
#
# The attack: a call hides its harmful part behind something that looks like a secret; the mask
# covers it, and a person approves what looks harmless. A text can be a command, a file or a
# message, and nothing tells which. So every text is read as a shell would read it, and a doubtful
# case is no mere value. Then a person who sees only the mask cannot approve the call.

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


# --- Secrets never reach a screen or a trace: what plainly is one is covered by a mask ---

Kept: TypeAlias = Callable[[re.Match[str]], str | None]

# The mask: it replaces each word of a secret and always has the same width.
REDACTED = "••••••••"


class Masked(NamedTuple):
    """A text whose secrets are masked; `is_whole` means that nothing else is."""

    text: str
    is_whole: bool


# Inside JSON a line break is the two characters `\n`, and its letter is not part of a word.
_EDGE = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
# Names ending in `token` that are cursors of a list and no secrets.
_PLACES = (
    *("page", "next page", "prev page", "previous page", "start page", "new start page"),
    *("sync", "next sync", "next", "continuation", "next continuation"),
)


def _ways(words: str) -> list[str]:
    """Return all spellings of words as one name before another word; each of a fixed length,
    because a lookbehind needs one.
    """
    ways = [""]
    for word in words.split():
        ways = [f"{way}{word}{between}" for way in ways for between in ("", "[_-]")]
    return ways


_NO_PLACE = "".join(
    rf"(?<!(?:{_EDGE}|(?<=\s--)){way})" for words in _PLACES for way in _ways(words)
)
_KEY = (
    r"(?:(?:api|access|secret|private|signing|encryption)[_-]?key"
    rf"|{_NO_PLACE}token|secret|authorization"
    r"|passwor[dt]|passwd|passphrase|credentials?|[_-]pass)"
)
# Between a key and its value: the key's closing quote and bracket, then `:`, `=`, `:=`, `=>`.
_IS = r"\\*[\"']?\]?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}"
_BREAK = r"(?:\r?\n|(?:\\r)?\\n)"
_SYNTAX = r";|&<>()$`{}\[\]*?\"'\\"
# One word: no blank, no control, no invisible character, nothing that a shell interprets.
_WORD = rf"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff{_SYNTAX}]"
_SHAPES = (
    r"sk-(?=[A-Za-z_-]*+[0-9])[A-Za-z0-9_-]{10,}+",
    r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,}+",
    r"gh[opsur]_[A-Za-z0-9]{16,}+",
    r"github_pat_[A-Za-z0-9_]{16,}+",
    r"glpat-[A-Za-z0-9_-]{16,}+",
    r"xox[a-z]-[A-Za-z0-9-]{10,}+",
    r"(?:AKIA|ASIA)[A-Z0-9]{12,}+",
    r"AIza[A-Za-z0-9_-]{30,}+",
    r"(?:hf|npm)_[A-Za-z0-9]{20,}+",
    r"eyJ[A-Za-z0-9_-]{8,}+(?:\Z|\.[A-Za-z0-9_-]{8,}+(?:\Z|\.[A-Za-z0-9_-]*+))",
)
# "Bearer authentication" is prose: a credential has a digit or is long.
_BEARER = r"(?:(?=[A-Za-z._~+/=-]*+[0-9])[\w.~+/=-]{6,}+|[\w.~+/=-]{20,}+)"
# A type after `token:` is source code, and so is a call after `token =`.
_BARE = (
    rf"(?!(?i:string|number|boolean|optional|undefined)\b|{SCHEME}[ \t])"
    r"[\w.+/=~$%^*!@#-]{6,}+(?P<call>[(\[])?"
)
_VALUE = rf"(?:(\")(?:[^\"\\\n]++|\\.)+|(')(?:[^'\\\n]++|\\.)+|(\\+[\"'])[^\"'\\\n]++|{_BARE})"


# Possible starts of a key, and of a shape. Each begins with a fixed text, which `re` finds fast,
# and none can overlap itself, because `finditer` would skip the second occurrence.
_KEY_STARTS = (
    *(rf"{word}(?=[_-]?key)" for word in ("api", "access", "private", "signing", "encryption")),
    *("secret", "token", "authorization", "credential", "passw", "passphrase", "-pass", "_pass"),
)
_SHAPE_STARTS = (
    *(r"sk(?=-|_live_|_test_)", r"rk(?=_live_|_test_)", r"gh(?=[opsur]_)", "github_pat_"),
    *("glpat-", r"xo(?=x)", r"AKI(?=A)", r"ASI(?=A)", "AIza", "hf_", "npm_", "eyJ"),
)
_OPTION_START = rf"-(?=-(?:{'|'.join(_KEY_STARTS)}))"


def _nothing(match: re.Match[str]) -> str:
    return ""


def _name(match: re.Match[str]) -> str:
    return match[1]


def _name_and_quote(match: re.Match[str]) -> str | None:
    """Return the name and the opening quote; `None` for a function call, which is no value."""
    if match["call"]:
        return None
    return "".join(part or "" for part in match.group(1, 2, 3, 4))


class _Rule(NamedTuple):
    """A pattern, the part of a match that stays before its secret, and patterns of its possible
    starts.

    With `any_case` the starts are in lower case and also match upper case. `needs` occurs in every
    match.
    """

    starts: tuple[str, ...]
    pattern: str
    kept: Kept
    any_case: bool = True
    needs: str = ""
    place: Place = "named"


_RULES = (
    _Rule(
        ("-----BEGIN ",),
        r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----)[\s\S]*?"
        r"(?=-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        _name,
        any_case=False,
        place="none",
    ),
    _Rule(
        ("authorization",),
        rf"((?i:authorization){_IS}(?:{SCHEME}[ \t]{{1,8}}(?={_WORD})|(?={_WORD}{{4}}))){_WORD}++"
        rf"(?:[ \t]{{1,8}}(?=[^\s0-9]{{0,255}}[0-9]){_WORD}{{6,}}+)?"
        rf"(?:,?[ \t]{{1,8}}[\w-]{{1,64}}={_WORD}++){{0,16}}",
        _name,
    ),
    _Rule(
        _SHAPE_STARTS,
        rf"{_EDGE}(?:{'|'.join(_SHAPES)})",
        _nothing,
        any_case=False,
        place="joined",
    ),
    _Rule(("bearer",), rf"\b((?i:bearer)[ \t]{{1,8}}){_BEARER}", _name),
    _Rule(("://",), r"(://[^\s/:@]{0,64}:)[^\s/@]{1,256}+(?=@)", _name, any_case=False),
    _Rule(_KEY_STARTS, rf"((?i:{_KEY}){_IS}){_VALUE}", _name_and_quote),
    # An option of a command takes its value after a blank; a cookie is a login's secret.
    _Rule(
        (_OPTION_START,),
        rf"(--(?i:{_KEY})[ \t]{{1,8}})(?!-){_WORD}{{4,256}}+",
        _name,
    ),
    _Rule(
        ("cookie", "set-cookie"),
        r"(?<![A-Za-z0-9])((?i:(?:set-)?cookie): ?(?:[\w.-]{1,64}; ?){0,8}[\w.-]{1,64}=)"
        rf"{_WORD}{{3,}}+(?:; ?[\w.-]{{1,64}}={_WORD}++){{0,32}}",
        _name,
    ),
    # On the line after its name a secret stands alone, and has a digit.
    _Rule(
        _KEY_STARTS,
        rf"((?i:{_KEY})\\*[\"']?:[ \t]{{0,8}}(?:[|>][+-]?[ \t]{{0,8}})?{_BREAK}[ \t]{{1,32}}[\"']?)"
        rf"(?=[^\s:]{{0,255}}[0-9])[^\s:\"'\\]{{6,256}}+(?=[\"']?[ \t]{{0,8}}(?:{_BREAK}|\Z))",
        _name,
        place="none",
    ),
    _Rule(
        _KEY_STARTS,
        rf"(((?i:{_KEY}))(?:[ \t][^<>]{{0,64}})?>\s{{0,8}})[^<>\s]{{4,256}}+"
        r"(?=\s{0,8}</[\w:.-]{0,32}(?i:\2)>)",
        _name,
        needs="</",
        # A shell takes the tags for redirections, and the secret for the name of a file.
        place="none",
    ),
    # A name alone before the host is a user name; with a digit, or long, it is a token.
    _Rule(
        ("://",),
        r"(?:(?<=http)|(?<=https))(://)(?:(?=[^\s/:@?#]{0,255}[0-9])[^\s/:@?#\"'<>]{8,256}+"
        r"|[^\s/:@?#\"'<>]{20,256}+)(?=@)",
        _name,
        any_case=False,
        needs="@",
    ),
    _Rule(
        ("curl",),
        rf"({_EDGE}(?i:curl)(?![\w-])(?:(?!(?i:curl))[^\n|;]){{0,200}}?[ \t]"
        rf"(?:-u[ \t]{{0,8}}|--user[ \t=]{{1,8}})[\"']?[^\s:\"'/\\]{{1,64}}:){_WORD}{{1,256}}+",
        _name,
        place="option",
    ),
    _Rule(
        ("mysql",),
        rf"({_EDGE}(?i:mysql)(?:dump|admin)?(?![\w-])(?:(?!(?i:mysql))[^\n|;]){{0,200}}?[ \t]-p)"
        rf"(?!-){_WORD}{{4,256}}+",
        _name,
        place="option",
    ),
    # A working directory has the same name (pwd), and is a path.
    _Rule(
        ("pwd=",),
        r"((?i:pwd)=\\*[\"']?)(?![/~.$<{%\[=]|[A-Za-z]:|[\w.]{0,64}[(\[])(?:(?!,)"
        rf"{_WORD}){{4,256}}+",
        _name,
    ),
)
# A secret that starts this far before a cut is still recognized: secrets of open length are
# recognized by their start.
_MARGIN = 512


# An escape stays visible: inside JSON, `\n` is a line end.
_COVERED = re.compile(rf"(\\[\s\S])|{_WORD}+")
_AFTER_SCHEME = re.compile(rf"{SCHEME}[ \t]{{1,8}}(?=\S)")
# A value that denotes nothing else: no path, no option, no file to be sent, no URL.
_VALUE_ALONE = re.compile(r"(?![/.~@-])(?:(?!\.\.|://)[\w.+/=~%^!@:,•-])+")


def cover(secret: str) -> Masked:
    """Mask each word of a secret; the name of a scheme stays: `Basic ••••••••`."""
    scheme = _AFTER_SCHEME.match(secret)
    start = scheme.end() if scheme else 0
    rest = secret[start:]
    covered = _COVERED.sub(lambda found: found[1] or REDACTED, rest)
    return Masked(secret[:start] + covered, bool(_VALUE_ALONE.fullmatch(rest)))


def redact(text: str) -> str:
    """Mask every obvious secret in `text`, keeping the names and quotes around it."""
    return _mask(text, None)


def mask(text: str) -> Masked:
    """Mask every obvious secret, and report whether only plain values were masked."""
    judge = Judge(text)
    masked = _mask(text, judge)
    return Masked(masked, masked is text or judge.end())


def _mask(text: str, judge: Judge | None) -> str:
    # Strategy: trying all patterns at every character would dominate the cost of a turn. Each rule
    # lists fixed starts; a rule runs only where one of its starts occurs. The lower-case copy and
    # the found starts are cached until a rule changes the text, which invalidates both.
    small = ""
    found: dict[tuple[str, ...], list[str]] = {}
    for rule in _RULES:
        if rule.needs not in text:
            continue
        if rule.any_case:
            small = small or _in_small_letters(text)
        looked = small if rule.any_case else text
        if rule.starts not in found:
            found[rule.starts] = [one for one in rule.starts if _compiled(one).search(looked)]
        masked = _replace(rule, found[rule.starts], text, looked, judge)
        if masked is not text:
            text, small, found = masked, "", {}
    return text


def redact_start(text: str, length: int) -> str:
    """Redact enough of `text` to show `length` characters of it, and to know if there are more.

    The rest of a long text is not scanned.
    """
    # Redaction can shorten a text, so the window grows until enough is left. It grows by a factor,
    # which keeps the total work linear.
    window = length * 4 + _MARGIN
    while window < len(text):
        start = redact(text[:window])
        if len(start) > length + _MARGIN:
            return start
        window *= 4
    return redact(text)


def is_secret_key(key: str) -> bool:
    """Return whether a value under this name is a secret by its name alone: `api_key`,
    `dbPassword`.
    """
    return re.search(rf"{_KEY}\Z", key, re.IGNORECASE) is not None


def _replace(rule: _Rule, firsts: list[str], text: str, looked: str, judge: Judge | None) -> str:
    """Mask every match, as `re.sub` would; `firsts` are searched in `looked`.

    Return the same object where nothing matches, and where every match is masked already.
    """
    if not firsts:
        return text
    pattern = _compiled(rule.pattern)
    parts: list[str] = []
    said = tried = 0
    # The candidates of all starts in one ascending order; a candidate inside an earlier match is
    # skipped, as `re.sub` would.
    for at in merge(*(_places(start, looked) for start in firsts)):
        if at < tried:
            continue
        tried = at + 1
        if match := pattern.match(text, at):
            kept = rule.kept(match)
            tried = match.end()
            if kept is None:
                continue
            secret = at + len(kept)
            covered = cover(text[secret:tried])
            if covered.text == text[secret:tried]:
                continue
            parts += (text[said:secret], covered.text)
            said = tried
            if judge is not None:
                judge.add(text, at, secret, place=rule.place, is_value=covered.is_whole)
    return "".join((*parts, text[said:])) if parts else text


def _places(start: str, text: str) -> Iterator[int]:
    return (match.start() for match in _compiled(start).finditer(text))


def _in_small_letters(text: str) -> str:
    """Return the text in lower case with every character at its position.

    `str.lower` turns some letters into two, and case-insensitive patterns match a few more
    characters for an i or an s.
    """
    if text.isascii():
        return text.lower()
    return text.replace("İ", "i").lower().replace("ı", "i").replace("ſ", "s")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# --- Secrets in structured values: a name that marks the value beside it, in every arrangement ---
#
#     {"password": ["hunter2"]}                           {"password": ["••••••••"]}
#     ["login", "--password", "hunter2"]                  ["login", "--password", "••••••••"]
#     [["DB_PASSWORD", "hunter2"]]                        [["DB_PASSWORD", "••••••••"]]
#     {"name": "Authorization", "value": "Basic dTpw"}    {"name": "Authorization", "value": …}
#     {"Cookie": "sid=38afes7a8"}                         {"Cookie": "••••••••"}
#
# Every text in the value is also masked by its own shape. Booleans, null and empty texts stay: they
# show that there is no secret. Names that are equal once masked are numbered: `… (2)`.

_TYPES = frozenset(
    (
        *("string", "number", "integer", "boolean", "object", "array", "null"),
        *("varchar", "optional", "required", "undefined"),
    )
)
_NAMES = ("name", "key", "header")
_VALUES = ("value", "val")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_LOGIN = re.compile(r"([^:/]{1,64}:)(.+)", re.DOTALL)
_COOKIE = re.compile(r"(?:.*[_-])?cookies?", re.IGNORECASE | re.DOTALL)
_PAIR = re.compile(r"[\w.-]{1,64}=\S{3}")
# A working directory has the same name (pwd), and is a path.
_PWD = re.compile(r"(?:(?s:.*)[^A-Za-z]|[a-z]+(?=P))?(?:pwd|PWD|Pwd)")
# The value under the URL of a page is the page, even if the page is about passwords.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PLACE = re.compile(r"[/~.$\\]|[A-Za-z]:|\Z")


class MaskedValue(NamedTuple):
    """A plain value whose secrets are masked; `is_whole` means that nothing else is."""

    value: Any
    is_whole: bool


def without_secrets(value: Any) -> Any:
    """Return a plain value with every obvious secret masked."""
    return mask_secrets(value).value


def mask_secrets(value: Any) -> MaskedValue:
    """Mask every obvious secret in a plain value, and report whether only plain values were
    masked.
    """
    masking = _Masking()
    masked = masking.value(value)
    return MaskedValue(masked, masking.is_whole and not (masking.is_covering and _refers(value)))


class _Masking:
    """The masking of one value; `is_whole` until a mask covers more than a value.

    A word of a list can be a command or the name of a file, and one deep inside of a secret can be
    anything: neither is a mere value.
    """

    def __init__(self) -> None:
        self.is_whole = True
        self.is_covering = False

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return self._object(cast("dict[str, Any]", value))
        if isinstance(value, list):
            return list(self._items(cast("list[Any]", value)))
        return value

    def _text(self, text: str) -> str:
        masked = mask(text)
        # JSON inside a text is judged by its content.
        if masked.text is not text and (said := read_json(text)) is not None:
            self.value(said)
        return self._take(masked)

    def _take(self, masked: Masked) -> str:
        self.is_whole = self.is_whole and masked.is_whole
        self.is_covering = self.is_covering or REDACTED in masked.text
        return masked.text

    def _object(self, given: dict[str, Any]) -> dict[str, Any]:
        named = next((given[name] for name in _NAMES if isinstance(given.get(name), str)), "")
        kept: dict[str, Any] = {}
        counts: dict[str, int] = {}
        for key, item in given.items():
            shown = self._take(mask(key))
            # Two different names may be equal once masked; dropping one would hide an argument from
            # the person.
            while shown in kept:
                counts[shown] = counts.get(shown, 1) + 1
                shown = f"{mask(key).text} ({counts[shown]})"
            kept[shown] = self._under(named if named and key in _VALUES else key, item)
        return kept

    def _under(self, key: str, value: Any) -> Any:
        """Return a value under a name."""
        if is_secret_key(key) and not (isinstance(value, dict) and _ADDRESS.match(key)):
            return self.value(value) if _is_schema(value) else self._hidden(value)
        if _COOKIE.fullmatch(key):
            return self._cookies(value)
        if isinstance(value, str) and _PWD.fullmatch(key) and not _PLACE.match(value):
            return self._take(cover(value))
        return self.value(value)

    def _hidden(self, value: Any) -> Any:
        """Mask a secret: all of it, in whatever structure."""
        if isinstance(value, dict):
            given = cast("dict[str, Any]", value)
            self.is_whole = False
            return {self._take(mask(key)): self._hidden(item) for key, item in given.items()}
        if isinstance(value, list):
            items = cast("list[Any]", value)
            self.is_whole = self.is_whole and len(items) < 2
            return [self._hidden(item) for item in items]
        if isinstance(value, str):
            return self._take(cover(value)) if value else value
        return value if value is None or isinstance(value, bool) else REDACTED

    def _cookies(self, value: Any) -> Any:
        """Mask a value under `cookie`: a header, or names and values; any other text is food."""
        if isinstance(value, str):
            return self._take(cover(value) if _PAIR.search(value) else mask(value))
        if isinstance(value, list):
            return [self._cookies(item) for item in cast("list[Any]", value)]
        if not isinstance(value, dict):
            return value
        said = cast("dict[str, Any]", value)
        secret = [key for key in _VALUES if key in said] or list(said)
        hidden = {key: self._take(cover(said[key])) for key in secret if _is_long(said[key])}
        return self._object(said | hidden)

    def _items(self, items: list[Any]) -> Iterator[Any]:
        """Mask items of a list; a pair may be a name and its value, and so may neighbours."""
        # `-u` means a login to curl only; for other programs it is usually a user name.
        is_curl = bool(items) and isinstance(items[0], str) and items[0].endswith("curl")
        before: Any = None
        for item in items:
            if isinstance(item, str) and _is_option(before) and not item.startswith("-"):
                self.is_whole = False
                yield self._hidden(item)
            elif isinstance(item, str) and is_curl and before in ("-u", "--user"):
                yield self._login(item)
            elif _is_pair(item):
                yield [self._take(mask(item[0])), self._take(cover(item[1]))]
            else:
                yield self.value(item)
            before = item

    def _login(self, item: str) -> str:
        login = _LOGIN.fullmatch(item)
        return item if login is None else login[1] + self._take(cover(login[2]))


def _refers(value: Any) -> bool:
    """Return whether a text in the value may stand for another value."""
    if isinstance(value, str):
        return is_reference(value)
    if isinstance(value, dict):
        return any(map(_refers, cast("dict[str, Any]", value).values()))
    return isinstance(value, list) and any(map(_refers, cast("list[Any]", value)))


def _is_schema(value: Any) -> bool:
    """Return whether a value is the schema of a parameter of that name."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("type") in _TYPES


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 5 and not re.search(r"\s", value)


def _is_option(item: Any) -> bool:
    if not isinstance(item, str) or not _OPTION.fullmatch(item):
        return False
    return is_secret_key(item.lstrip("-"))


def _is_pair(item: Any) -> bool:
    match item:
        case [str(name), str(value)]:
            return is_secret_key(name) and len(value) > 5 and value.lower() not in _TYPES
        case _:
            return False
