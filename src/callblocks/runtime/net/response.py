"""The answer of a server, and its text where it is one."""

from __future__ import annotations

import codecs
import re

import msgspec

from callblocks.runtime.net.request import Headers

__all__ = ("Hop", "Response")

_TEXT = re.compile(
    r"text/.+|application/(?:(?:.+\+)?(?:json|xml|yaml)|x-www-form-urlencoded|javascript"
    r"|x-javascript|ecmascript|x-ndjson|jsonl?|toml|x-yaml|sql|graphql|x-sh)|image/svg\+xml"
)
_CHARSET = re.compile(r";[ \t]*charset=[ \t]*\"?([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
# Python also has codecs that are no character sets (zlib, rot13, idna); some take quadratic time.
_CHARSETS = re.compile(
    r"utf-?8|utf-?16(?:[lb]e)?|us-ascii|ascii|iso-?8859-?\d{1,2}|latin-?1|windows-125\d|cp125\d"
    r"|koi8-[ru]|gb2312|gbk|gb18030|big5|euc-(?:jp|kr)|shift[-_]jis|iso-2022-jp|macintosh"
)


class Hop(msgspec.Struct, frozen=True):
    """A redirect that was followed: the URL that redirected, and its status."""

    status: int
    url: str


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """An answer. `url` is the final URL, `body` is decompressed.

    `not_followed` is the target of a redirect that was left to the caller.
    """

    status: int
    url: str
    headers: Headers = ()
    body: bytes = b""
    history: tuple[Hop, ...] = ()
    not_followed: str = ""

    def header(self, name: str) -> str:
        """Return the value of a header, those of one name joined by commas; "" where there
        is none.
        """
        return ", ".join(value for known, value in self.headers if known == name.lower())

    @property
    def mime(self) -> str:
        """Return the declared content type without parameters; "" where there is none."""
        return self.header("content-type").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """Return the declared character set, where it is a known one; otherwise ""."""
        named = _CHARSET.search(self.header("content-type"))
        charset = named[1].lower() if named else ""
        return charset if _CHARSETS.fullmatch(charset) and _is_known(charset) else ""

    @property
    def text(self) -> str | None:
        """Return the body as text; `None` where it is something else."""
        if self.mime and not _TEXT.fullmatch(self.mime):
            return None
        if self.charset:
            return self.body.decode(self.charset, errors="replace").removeprefix("\ufeff")
        try:
            text = self.body.decode("utf-8-sig")
        except UnicodeDecodeError:
            return self.body.decode("cp1252", errors="replace") if self.mime else None
        # A body without a declared type is text if it decodes and has no NUL.
        return None if not self.mime and "\0" in text else text


def _is_known(charset: str) -> bool:
    try:
        codecs.lookup(charset)
    except LookupError:
        return False
    return True
