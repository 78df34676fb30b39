"""Whether a grammar takes a text, asked of llguidance itself.

    accepts(grammar.to("lark"), "lark", "some text")

The tokenizer is the 256 bytes, so nothing is downloaded and no text is out of reach.
llguidance has no reader for GBNF that follows characters as llama.cpp does (its converter
makes terminals of whole rules and literals, and its parser needs the square of the text for
rules that end with themselves). So a GBNF grammar is read here, mirrored, and asked about
the mirrored text: the same language backwards.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Literal

from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from support.gbnf import mirrored_lark

__all__ = ("accepts",)

EOS = 256


def accepts(grammar: str, kind: Literal["gbnf", "lark"], text: str) -> bool:
    """Whether the whole text is of the grammar's language."""
    matcher = _matcher(grammar, kind)
    fed = list((text[::-1] if kind == "gbnf" else text).encode())
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


@lru_cache(maxsize=64)
def _matcher(grammar: str, kind: str) -> LLMatcher:
    lark = mirrored_lark(grammar) if kind == "gbnf" else grammar
    matcher = LLMatcher(_tokenizer(), lark, log_level=0)
    assert not matcher.is_error(), f"{matcher.get_error()}\n{grammar}"
    return matcher
