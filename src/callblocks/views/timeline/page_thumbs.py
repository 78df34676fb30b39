"""A small picture of a file by its kind, drawn as paper, as the chat draws it."""

from __future__ import annotations

import re

from callblocks.views.timeline.files import ShownFile

__all__ = ("thumb_html",)

_BY_TYPE = (
    (re.compile(r"application/pdf\b"), "pdf"),
    (re.compile(r"image/"), "image"),
    (re.compile(r"text/(?:csv|tab-separated-values)\b|.*(?:spreadsheet|ms-excel)"), "table"),
    (
        re.compile(
            r".*(?:json|xml|yaml|toml|javascript|typescript|x-(?:python|sh|c|rust|go|ruby|java))"
            r"|text/(?:html|css)"
        ),
        "code",
    ),
    (re.compile(r"text/|.*(?:wordprocessing|msword)"), "text"),
)
_CODE = re.compile(
    r".*\.(?:py|js|mjs|ts|tsx|jsx|rs|go|c|h|cpp|java|rb|sh|sql|html|css|toml|ya?ml|json|xml|ini"
    r"|diff|patch)\Z",
    re.DOTALL | re.IGNORECASE,
)
_ROWS = {"pdf": 7, "text": 8, "code": 7, "table": 12}
_WORDS = {"pdf": "<b>PDF</b>", "code": "<b>‹›</b>"}


def thumb_html(file: ShownFile) -> str:
    """The picture of a file's kind."""
    kind = _kind(file)
    rows = "<i></i>" * _ROWS.get(kind, 0)
    head = f'<div class="artifact-thumb" data-kind="{kind}" aria-hidden="true">'
    return f"{head}{rows}{_WORDS.get(kind, '')}</div>"


def _kind(file: ShownFile) -> str:
    found = next((kind for rule, kind in _BY_TYPE if rule.match(file.mime.lower())), "file")
    is_code = file.mime != "text/markdown" and _CODE.match(file.path) is not None
    return "code" if is_code and found in ("file", "text") else found
