"""Where we read a case otherwise than its peer, and why."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ("AGREED", "REASONS")

_GIVEN = json.loads((Path(__file__).parent / "reasons.json").read_text("utf-8"))
REASONS: dict[str, str] = {
    case: group["reason"] for group in _GIVEN["groups"] for case in group["cases"]
}
"""Each case that differs, and the reason."""
AGREED: tuple[int, int] = (_GIVEN["agree"], _GIVEN["of"])
"""How many of the cases agree; the page in docs/ says so."""
