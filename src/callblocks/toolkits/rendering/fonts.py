"""Detection of characters that no installed font has, which would be drawn as empty boxes.

The answer comes from fontconfig, the library that the layout uses as well. Without it nothing is
reported.
"""

from __future__ import annotations

import ctypes
import unicodedata
from typing import Any

from callblocks.toolkits.rendering.outside import Outside

__all__ = ("tell_missing",)

_SHOWN = 20
# Latin is in every font, and invisible characters need no glyph.
_FIRST = 0x250
_NO_LOOK = ("Cc", "Cf", "Cn", "Co", "Cs", "Mn", "Zl", "Zp", "Zs")


def tell_missing(text: str, outside: Outside) -> None:
    """Add a notice with the characters that no font has."""
    wanted = sorted(
        char
        for char in set(text)
        if ord(char) >= _FIRST and unicodedata.category(char) not in _NO_LOOK
    )
    missing = _without_font(wanted) if wanted else []
    if missing:
        shown = " ".join(missing[:_SHOWN]) + (" …" if len(missing) > _SHOWN else "")
        words = f"no font here has {shown}; install one, such as fonts-noto-color-emoji for emoji"
        outside.tell("glyphs_missing", f"{words} or fonts-droid-fallback for Chinese and Japanese")


def _without_font(chars: list[str]) -> list[str]:
    library = _fontconfig()
    if library is None:
        return []
    return [char for char in chars if not _has_font(library, ord(char))]


def _fontconfig() -> Any:
    try:
        # Through ctypes: the library is there wherever WeasyPrint runs, and no package is needed.
        library = ctypes.CDLL("libfontconfig.so.1")
    except OSError:
        return None
    for name in ("FcCharSetCreate", "FcPatternCreate", "FcObjectSetCreate", "FcFontList"):
        getattr(library, name).restype = ctypes.c_void_p
    return library if library.FcInit() else None


def _has_font(library: Any, code: int) -> bool:
    """Tell if any font has this character."""
    chars = ctypes.c_void_p(library.FcCharSetCreate())
    pattern = ctypes.c_void_p(library.FcPatternCreate())
    names = ctypes.c_void_p(library.FcObjectSetCreate())
    library.FcCharSetAddChar(chars, ctypes.c_uint32(code))
    library.FcPatternAddCharSet(pattern, b"charset", chars)
    # The struct FcFontSet begins with the number of fonts.
    found = library.FcFontList(None, pattern, names)
    count = ctypes.cast(found, ctypes.POINTER(ctypes.c_int)).contents.value if found else 0
    if found:
        library.FcFontSetDestroy(ctypes.c_void_p(found))
    library.FcObjectSetDestroy(names)
    library.FcPatternDestroy(pattern)
    library.FcCharSetDestroy(chars)
    return count > 0
