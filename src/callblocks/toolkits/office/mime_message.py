"""Composition of a mail: a MIME message that holds exactly its input.

Headers are written here, line by line, from checked values; the body and the attachments are left
to the standard library. `From`, `Date` and `Message-ID` are added by the sender.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formataddr

import msgspec

from callblocks.core.errors import ToolError
from callblocks.core.text import brief
from callblocks.toolkits.office.mail_text import html_text

__all__ = (
    "CONTROL",
    "LIMIT",
    "MOST",
    "Attachment",
    "Draft",
    "Parent",
    "Recipient",
    "address_text",
    "compose",
    "header_lines",
    "read_recipients",
    "reply_subject",
    "require_size",
)

# --- Parsing of mail recipients as people write them ---
#
#     ada@example.org
#     Ada Lovelace <ada@example.org>, "Babbage, C." <charles@example.org>
#     ["ada@example.org", "charles@example.org"]      a list, or this very text
#
# Addresses are separated by commas or semicolons. Line breaks and other control characters are
# refused everywhere: they could start a header of their own (header injection).

# Characters that no header may hold: controls, and bidirectional overrides, which could make a
# shown address differ from the real one.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

# Maximum recipients of one mail.
MOST = 500

_LONGEST = 50_000
# The alternatives are disjoint by their first character, so the scan is linear. A quote or an angle
# bracket without its other half matches `lone` and is refused: guessing its end could join two
# addresses to one.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|[^",;<>]+|(?P<end>[,;])|(?P<lone>["<>])')
_NAMED = re.compile(r"(?P<name>[^<>]*)<\s*(?P<address>[^<>\s]+)\s*>")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
# The unquoted local part of RFC 5321. Quoted ones are legal, but nobody has one, and they allow
# characters that other programs misread.
_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)*")
_LONGEST_NAME = 200
_LONGEST_LOCAL, _LONGEST_DOMAIN = 64, 253


class Recipient(msgspec.Struct, frozen=True):
    """An address, and the name before it or ""."""

    address: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name} <{self.address}>" if self.name else self.address


def read_recipients(field: str, given: str | Sequence[str]) -> list[Recipient]:
    """Parse the recipients of a text or a list; `invalid_input` for a malformed one."""
    texts = _listed(given) if isinstance(given, str) else given
    found = [_recipient(field, one) for text in texts for one in _split(field, text)]
    if len(found) > MOST:
        raise _bad(field, f"{len(found)} recipients are more than the {MOST} that a mail may have")
    return found


def _listed(text: str) -> list[str]:
    # `UnicodeEncodeError`: msgspec encodes the text first, and a lone surrogate cannot be encoded.
    """Return the items of a JSON list in a text; models write lists so."""
    try:
        return msgspec.json.decode(text, type=list[str]) if text.lstrip()[:1] == "[" else [text]
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return [text]


def _split(field: str, text: str) -> list[str]:
    """Split a text into addresses; a comma in quotes does not separate."""
    if CONTROL.search(text):
        raise _bad(field, f"{brief(text)} has a line break or another control character")
    if len(text) > _LONGEST:
        raise _bad(field, f"it has {len(text)} characters; give at most {MOST} addresses")
    parts = [""]
    for token in _TOKEN.finditer(text):
        if token["lone"]:
            raise _bad(field, f"{brief(text)} has a {token['lone']} without its other half")
        if token["end"]:
            parts.append("")
        else:
            parts[-1] += token[0]
    return [part.strip() for part in parts if part.strip()]


def _recipient(field: str, text: str) -> Recipient:
    named = _NAMED.fullmatch(text)
    name, address = (named["name"].strip(), named["address"]) if named else ("", text)
    quoted = _QUOTED.fullmatch(name)
    if quoted:
        name = re.sub(r"\\(.)", r"\1", quoted[1])
    local, _, domain = address.rpartition("@")
    plain = _plain_domain(domain)
    whole = _LOCAL.fullmatch(local) and len(local) <= _LONGEST_LOCAL and plain
    # A name with an `@` that is not quoted is refused: `boss@example.org <other@example.org>` would
    # show one address and be sent to another.
    if not whole or len(name) > _LONGEST_NAME or (not quoted and "@" in name):
        raise _bad(
            field,
            f"{brief(text)} is no mail address; write name@example.org, or Name <name@example.org>",
        )
    return Recipient(f"{local}@{plain}", name)


def _plain_domain(domain: str) -> str:
    """Return the domain in ASCII (IDNA); "" if it is invalid."""
    try:
        plain = domain if domain.isascii() else domain.encode("idna").decode()
    except UnicodeError:
        return ""
    return plain if _DOMAIN.fullmatch(plain) and len(plain) <= _LONGEST_DOMAIN else ""


def _bad(field: str, message: str) -> ToolError:
    return ToolError("invalid_input", f"{field}: {message}", **{field: message})


# --- Composition of a mail: a MIME message that holds exactly its input ---

# Size limit in bytes of a whole message with attachments.
LIMIT = 25 * 1024 * 1024

# Words up to this length fit into a line; longer ones are encoded, so that no line exceeds the 78
# characters that RFC 5322 recommends.
_LONGEST_SUBJECT = 2_000
_LONGEST_WORD = 60
# Only printable ASCII within angle brackets. The id comes from a foreign mail and is copied into
# our headers.
_MESSAGE_ID = re.compile(r"<[!-;=?-~]{1,250}>")
_REFERENCES = 20


class Attachment(msgspec.Struct, frozen=True):
    """An attachment."""

    name: str
    content: bytes
    mime: str


class Parent(msgspec.Struct, frozen=True):
    """The answered message by its headers, which are foreign text."""

    message_id: str
    references: str
    subject: str


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A mail before it is sent."""

    to: Sequence[Recipient]
    cc: Sequence[Recipient] = ()
    bcc: Sequence[Recipient] = ()
    subject: str = ""
    body: str = ""
    html: str = ""
    attachments: Sequence[Attachment] = ()
    parent: Parent | None = None

    def told(self) -> str:
        """The subject as sent: that of the answered mail if none is given."""
        return reply_subject(self.parent) if self.parent and not self.subject else self.subject


def compose(draft: Draft) -> bytes:
    """Compose the message; refuse one that is too large or has an invalid subject."""
    lines = [
        *_addresses("To", draft.to),
        *_addresses("Cc", draft.cc),
        *_addresses("Bcc", draft.bcc),
        *header_lines("Subject", _checked_subject(draft.told())),
        *(_reply_lines(draft.parent) if draft.parent else ()),
    ]
    # Refuse early: text that is surely too large is not encoded.
    require_size(len(draft.body) + len(draft.html))
    head = "".join(f"{line}\r\n" for line in lines).encode("ascii")
    message = head + _content(draft).as_bytes(policy=SMTP)
    require_size(len(message))
    return message


def reply_subject(parent: Parent) -> str:
    """Return the subject of an answer: `Re: ` once, on one line."""
    # The subject of the answered mail is foreign: control characters become blanks before it is
    # reused.
    plain = " ".join(CONTROL.sub(" ", parent.subject).split())[: _LONGEST_SUBJECT - 4]
    return plain if plain[:3].lower() == "re:" else f"Re: {plain}".strip()


def header_lines(name: str, value: str) -> list[str]:
    """Return a header in lines of ASCII, encoded if necessary."""
    # `=?` in plain text would be decoded by the reader as an encoded word, so such a text is
    # encoded as a whole.
    plain = value.isascii() and "=?" not in value
    short = all(len(word) <= _LONGEST_WORD for word in value.split(" "))
    charset = "us-ascii" if plain and short else "utf-8"
    said = Header(value, charset, header_name=name).encode(linesep="\n")
    return f"{name}: {said}".split("\n")


def require_size(size: int) -> None:
    """Raise `file_too_large` for more bytes than a mail may have."""
    if size > LIMIT:
        raise ToolError(
            "file_too_large",
            f"the mail has {size} bytes, more than the {LIMIT} that are sent; "
            "attach less, or share the files another way",
        )


def _checked_subject(subject: str) -> str:
    if CONTROL.search(subject):
        why = f"{brief(subject)} has a line break or another control character; write one line"
    elif len(subject) > _LONGEST_SUBJECT:
        why = f"it has {len(subject)} characters; at most {_LONGEST_SUBJECT} are sent"
    else:
        return subject.strip()
    raise ToolError("invalid_input", f"subject: {why}", subject=why)


def _addresses(name: str, recipients: Sequence[Recipient]) -> list[str]:
    """Return one address per line, so that no name can run into the next address."""
    if not recipients:
        return []
    written = [address_text(one) for one in recipients]
    return ((f"{name}: " + ",\n ".join(written)).split("\n")) if written else []


def address_text(recipient: Recipient) -> str:
    """Return a recipient for a header in ASCII; a long name gets a line of its own."""
    name = recipient.name
    if name.isascii() and "=?" not in name:
        return formataddr((name, recipient.address))
    encoded = Header(name, "utf-8", maxlinelen=70).encode(linesep="\n")
    return f"{encoded} <{recipient.address}>"


def _reply_lines(parent: Parent) -> list[str]:
    """Return the headers that join an answer to its thread; invalid message ids are left out."""
    own = _MESSAGE_ID.findall(parent.message_id)[:1]
    if not own:
        return []
    known = [one for one in _MESSAGE_ID.findall(parent.references) if one not in own]
    # The first id identifies the thread; of the others the last ones matter. The header stays
    # short.
    chain = [*known[:1], *known[1:][-_REFERENCES:], *own]
    return [f"In-Reply-To: {own[0]}", f"References: {chain[0]}", *(f" {one}" for one in chain[1:])]


def _content(draft: Draft) -> EmailMessage:
    """Return the body as text and HTML, and the attachments."""
    message = EmailMessage(policy=SMTP)
    try:
        # A mail with HTML only also gets a text part: readers that show no HTML, and spam filters,
        # need it.
        message.set_content(draft.body or html_text(draft.html))
        if draft.html:
            message.add_alternative(draft.html, subtype="html")
    except UnicodeEncodeError as error:
        why = "the text has a lone surrogate, which cannot be sent"
        raise ToolError("invalid_input", f"body: {why}", body=why) from error
    for attachment in draft.attachments:
        main, _, sub = attachment.mime.partition("/")
        message.add_attachment(
            attachment.content, maintype=main, subtype=sub, filename=attachment.name
        )
    return message
