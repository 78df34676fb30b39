"""Whether a grammar accepts a text, by llguidance.

    accepts(grammar.to("lark"), "lark", "some text")

The tokenizer is the 256 bytes, so nothing is downloaded and no text is out of reach.
llguidance has no reader for GBNF that follows characters as llama.cpp does (its converter
makes terminals of whole rules and literals, and its parser needs the square of the text for
rules that end with themselves). So a GBNF grammar is read here, mirrored, and asked about
the mirrored text: the same language backwards. A structural tag is read as GBNF first.
"""

from __future__ import annotations

from functools import cache, lru_cache

from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from callblocks.parsing.grammar.grammar import Kind
from support.gbnf import mirrored_lark
from support.structural_tag import to_gbnf

__all__ = ("accepts",)

EOS = 256


def accepts(grammar: str, kind: Kind, text: str) -> bool:
    """Whether the whole text is of the grammar's language."""
    matcher = _matcher(grammar, kind)
    fed = list((text if kind == "lark" else text[::-1]).encode())
    try:
        return matcher.try_consume_tokens(fed) == len(fed) and matcher.is_accepting()
    finally:
        problem = matcher.get_error()
        matcher.reset()
        assert not problem, problem


class _Bytes:
    eos_token_id = EOS
    bos_token_id = None
    tokens = (*(bytes([byte]) for byte in range(256)), b"<eos>")
    special_token_ids = (EOS,)

    def __call__(self, text: bytes) -> list[int]:
        return list(text)


@cache
def _tokenizer() -> LLTokenizer:
    return LLTokenizer(TokenizerWrapper(_Bytes()), slices=[])


# One test after the other asks for the two grammars of each dialect; a matcher takes a megabyte.
@lru_cache(maxsize=160)
def _matcher(grammar: str, kind: str) -> LLMatcher:
    gbnf = to_gbnf(grammar) if kind == "structural_tag" else grammar
    lark = grammar if kind == "lark" else mirrored_lark(gbnf)
    matcher = LLMatcher(_tokenizer(), lark, log_level=0)
    assert not matcher.is_error(), f"{matcher.get_error()}\n{grammar}"
    return matcher
