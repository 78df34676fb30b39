"""Mails for tests, as bytes."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Any

__all__ = ("mail",)


def mail(
    subject: str = "Hello",
    *,
    sender: str = "Bob <bob@example.com>",
    to: str = "ada@example.org",
    body: str = "How are you?",
    date: str = "Mon, 05 Jan 2026 12:00:00 +0000",
    files: dict[str, bytes] | None = None,
    html: str = "",
    **headers: Any,
) -> bytes:
    """A whole message; other headers by name, `_` for `-`: `Message_ID="<a@b>"`."""
    message = EmailMessage()
    message["From"], message["To"] = sender, to
    message["Subject"], message["Date"] = subject, date
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    if html:
        message.add_alternative(html, subtype="html")
    for name, content in (files or {}).items():
        kind = "text/plain" if name.endswith(".txt") else "application/pdf"
        main, _, sub = kind.partition("/")
        message.add_attachment(content, maintype=main, subtype=sub, filename=name)
    return message.as_bytes()
