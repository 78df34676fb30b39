"""Calls in a section, each a name and JSON in a fence, as DeepSeek V3 and R1 write it::

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
    ```json
    {"city": "Paris"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

The markers hold U+FF5C and U+2581. Distilled models drop the outer ones, write blanks or
underscores for U+2581, or leave out the newline before the closing fence.
"""

from __future__ import annotations

from callblocks.parsing import NamedJson

__all__ = ("DeepseekV3",)

SPELLINGS = ("▁", "_", " ", "\\_")


def spelled(marker: str) -> tuple[str, ...]:
    """Return a marker in each spelling of U+2581 that models write."""
    return tuple(marker.replace("▁", spelling) for spelling in SPELLINGS)


class DeepseekV3(NamedJson):
    """A section of calls: `function`, the name, and JSON in a fence."""

    name = "deepseek_v3"
    summary = "a section of calls, each a name and JSON in a fence"
    syntax = (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME\n```json\n"
        "{KEY: VALUE}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    )
    rules = (
        "Write all calls in one section, from `<｜tool▁calls▁begin｜>` to `<｜tool▁calls▁end｜>`.",
        "Each call is `<｜tool▁call▁begin｜>function<｜tool▁sep｜>` and the tool's name, then its "
        "input as one JSON object in a `json` fence, then `<｜tool▁call▁end｜>`.",
    )
    section = spelled("<｜tool▁calls▁begin｜>")
    opening = spelled("<｜tool▁call▁begin｜>")
    before_name = spelled("function<｜tool▁sep｜>")
    after_name = ("\n```json\n", "\n```json", "\n```\n", "\n")
    closing = (
        *("\n```" + end for end in spelled("<｜tool▁call▁end｜>")),
        *("```\n" + end for end in spelled("<｜tool▁call▁end｜>")),
        *("```" + end for end in spelled("<｜tool▁call▁end｜>")),
        *spelled("<｜tool▁call▁end｜>"),
    )
    section_end = tuple(
        end + more
        for end in spelled("<｜tool▁calls▁end｜>")
        for more in ("", "<｜end▁of▁sentence｜>")
    )
    reasoning = (("<think>", "</think>"),)
