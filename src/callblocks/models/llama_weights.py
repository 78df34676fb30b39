"""A file of weights in memory, by llama-cpp-python: messages in, pieces out.

The library interprets words like `<|im_end|>` as control tokens wherever they stand, so a tool's
output could end its message and forge another. It also ends the whole program at a grammar that it
cannot parse. So a sign is inserted into such words in all contents, and a grammar is tried before
it is used.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from callblocks.model.errors import ModelError
from callblocks.model.parts import ESCAPE, text_of
from callblocks.models.model import Message, Piece, Request, Spoken, Stopped, Usage

__all__ = ("LlamaWeights", "import_llama")

_INSTALL = "pip install 'callblocks[llm]'"
_NO_CONTROLS = re.compile(r"(?!)")


def import_llama() -> Any:
    """Return the library, which is an optional dependency."""
    try:
        return import_module("llama_cpp")
    except (ImportError, OSError, RuntimeError) as error:
        # An installed library may fail to load, where it was built for another machine.
        why = "is not installed" if isinstance(error, ModuleNotFoundError) else f"fails: {error}"
        raise ModelError("model_missing", f"llama-cpp-python {why}; run: {_INSTALL}") from error


class LlamaWeights:
    """Weights that write one reply at a time; for one thread."""

    def __init__(self, library: Any, path: Path, context: int, threads: int | None) -> None:
        self._library = library
        self._llama = library.Llama(
            model_path=str(path),
            n_ctx=context,
            n_threads=threads,
            n_threads_batch=threads,
            verbose=False,
        )
        self._vocabulary = library.llama_model_get_vocab(self._llama.model)
        self._controls = self._read_controls()

    def pieces(self, request: Request) -> Generator[Piece, None, None]:
        """Yield the reply, token by token; always the same one for the same request."""
        chunks = self._llama.create_chat_completion(
            messages=[self._said(message) for message in request.messages],
            stream=True,
            temperature=0.0,
            max_tokens=request.max_tokens,
            stop=list(request.stop),
            grammar=self._grammar(request.grammar),
        )
        written, reason = 0, "stop"
        with closing(chunks):
            for chunk in chunks:
                choice = chunk["choices"][0]
                text = choice["delta"].get("content")
                if text:
                    written += 1
                    yield Spoken(text)
                reason = choice.get("finish_reason") or reason
        yield Usage(tokens_in=max(0, self._llama.n_tokens - written), tokens_out=written)
        yield Stopped(reason)

    def close(self) -> None:
        """Free the memory."""
        self._llama.close()

    def _said(self, message: Message) -> dict[str, str]:
        text = self._controls.sub(_signed, text_of(list(message.parts)))
        return {"role": message.role, "content": text}

    def _read_controls(self) -> re.Pattern[str]:
        library, vocabulary = self._library, self._vocabulary
        words: list[str] = [
            library.llama_vocab_get_text(vocabulary, token).decode("utf-8", "ignore")
            for token in range(library.llama_vocab_n_tokens(vocabulary))
            if library.llama_vocab_is_control(vocabulary, token)
        ]
        # An alternation takes the first match, so a short control word must not hide a longer one.
        longest_first = sorted(filter(None, words), key=len, reverse=True)
        return (
            re.compile("|".join(map(re.escape, longest_first))) if longest_first else _NO_CONTROLS
        )

    def _grammar(self, grammar: str) -> Any:
        if not grammar:
            return None
        library = self._library
        tried = library.llama_sampler_init_grammar(self._vocabulary, grammar.encode(), b"root")
        if not tried:
            raise ModelError("model_refused", f"this is no GBNF grammar: {grammar!r:.80}")
        library.llama_sampler_free(tried)
        return library.LlamaGrammar.from_string(grammar, verbose=False)


def _signed(word: re.Match[str]) -> str:
    return f"{word[0][0]}{ESCAPE}{word[0][1:]}"
