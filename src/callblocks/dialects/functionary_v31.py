"""A tag with the tool's name and JSON in it, as Functionary 3.1 and Llama 3's own format have it::

<function=get_weather>{"city": "Paris"}</function>
"""

from __future__ import annotations

from callblocks.parsing import Block, NamedJson, Reading

__all__ = ("FunctionaryV31",)


class FunctionaryV31(NamedJson):
    """`<function=NAME>`, a JSON object, `</function>`."""

    name = "functionary_v31"
    summary = "a JSON object in <function=NAME> tags"
    syntax = "<function=NAME>{KEY: VALUE}</function>"
    rules = (
        "Write `<function=`, the tool's name, `>`, its input as one JSON object, `</function>`.",
        "Write each call in its own tags.",
    )
    opening = ("<function=",)
    after_name = (">",)
    closing = ("</function>",)

    def is_empty(self, block: Block) -> Reading[bool]:
        # `<function=NAME>` alone is also Qwen's tag, and prose mentions it. An empty call therefore
        # needs the closing tag, and a single dialect.
        return block.stage.alone and (yield from block.stands(self.named.closers))
