"""The table of all dialects. To add one: its file, a line here, and `tests/corpus/<name>.txt`.

Nothing else knows which dialects exist. Those of other packages are registered: by a program with
`register_dialect`, or by the plug-ins that `find_more` finds; `auto` asks them last. A
dialect's file is imported when it is asked for.

A dialect has one name and any number of aliases: other families that write the same grammar, and
the names that servers and runners (vLLM, SGLang, Ollama, dynamo, smg, TensorRT-LLM, llama.cpp)
have for a parser of it. Where such a parser reads several of our grammars, its name is a group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from callblocks.core.errors import CallerError

if TYPE_CHECKING:
    from callblocks.parsing.dialect import Dialect
    from callblocks.parsing.fallbacks import Sibling

__all__ = (
    "aliases_of",
    "dialects",
    "find_more",
    "groups_of",
    "members_of",
    "name_families",
    "near_names",
    "register_dialect",
    "registered_dialects",
)

# In the order in which `auto` asks them. Order matters only among dialects that share an opener:
# the more specific one comes first, because the first reader that accepts owns the block.
_CLASSES = {
    # The five specifications.
    "tool-fence": "tool_fence.ToolFence",
    "scissors-cat": "scissors_cat.ScissorsCat",
    "chat-blocks": "chat_blocks.ChatBlocks",
    "emoji-bracket": "emoji_bracket.EmojiBracket",
    "emoji-bracket+": "emoji_bracket.EmojiBracketPlus",
    # Messages and channels.
    "gpt_oss": "gpt_oss.GptOss",
    "muse_glimmer": "muse_glimmer.MuseGlimmer",
    "kimi_k3": "kimi_k3.KimiK3",
    "inkling": "inkling.Inkling",
    # JSON between markers of its own.
    "hermes": "hermes.Hermes",
    "longcat": "longcat.Longcat",
    "ernie45": "ernie45.Ernie45",
    "nemotron_v2": "nemotron_v2.NemotronV2",
    "granite3": "granite3.Granite3",
    "granite20b_fc": "granite20b_fc.Granite20bFc",
    "internlm2": "internlm2.Internlm2",
    "phi4_mini": "phi4_mini.Phi4Mini",
    "mistral_v11": "mistral_v11.MistralV11",
    "mistral_old": "mistral_old.MistralOld",
    "cohere_command3": "cohere_command3.CohereCommand3",
    "cohere_command4": "cohere_command4.CohereCommand4",
    "apertus": "apertus.Apertus",
    "gigachat3": "gigachat3.Gigachat3",
    "gigachat31": "gigachat31.Gigachat31",
    "deepseek_v3": "deepseek_v3.DeepseekV3",
    "deepseek_v31": "deepseek_v31.DeepseekV31",
    "kimi_k2": "kimi_k2.KimiK2",
    "solar_open": "solar_open.SolarOpen",
    # `<tool_calls>` and JSON objects. Hunyuan's array has further tags around it, so it is first.
    "hunyuan_a13b": "hunyuan_a13b.HunyuanA13b",
    "jamba": "jamba.Jamba",
    "minimax_m1": "minimax_m1.MinimaxM1",
    # Arguments in tags. `<function name="…">` is MiniCPM's unless `<parameter` follows.
    "minicpm5_xml": "minicpm5_xml.Minicpm5Xml",
    "qwen3_coder": "qwen3_coder.Qwen3Coder",
    "functionary_v31": "functionary_v31.FunctionaryV31",
    "seed_oss": "seed_oss.SeedOss",
    "glm45": "glm45.Glm45",
    "glm47": "glm47.Glm47",
    "poolside_v1": "poolside_v1.PoolsideV1",
    "hy_v3": "hy_v3.HyV3",
    "hy_v4": "hy_v4.HyV4",
    "minimax_m2": "minimax_m2.MinimaxM2",
    "minimax_m3": "minimax_m3.MinimaxM3",
    "dots": "dots.Dots",
    # The spaced tags of V4.1 also read as misspelt tags of V3.2 and V4: V4.1 is asked first.
    "deepseek_v41": "deepseek_v41.DeepseekV41",
    "deepseek_v32": "deepseek_v32.DeepseekV32",
    "deepseek_v4": "deepseek_v4.DeepseekV4",
    "step3": "step3.Step3",
    "anthropic_xml": "anthropic_xml.AnthropicXml",
    "claude_legacy": "claude_legacy.ClaudeLegacy",
    "use_tool": "use_tool.UseTool",
    # Calls as in a programming language.
    "lfm2": "lfm2.Lfm2",
    "olmo3": "olmo3.Olmo3",
    "functiongemma": "functiongemma.FunctionGemma",
    "gemma4": "gemma4.Gemma4",
    # Dialects without markers: only the start of a text or line, and a declared tool, open them.
    "pythonic": "pythonic.Pythonic",
    "llama3_json": "llama3_json.Llama3Json",
    "xlam": "xlam.Xlam",
    "sarashina": "sarashina.Sarashina",
    "openai_json_text": "openai_json_text.OpenaiJsonText",
    "generic_json": "generic_json.GenericJson",
    "cohere_r_plus": "cohere_r_plus.CohereRPlus",
    "functionary_v32": "functionary_v32.FunctionaryV32",
    "react_text": "react_text.ReactText",
    "gptme": "gptme.Gptme",
    "smolagents_code": "smolagents_code.SmolagentsCode",
    "cline": "cline.Cline",
    "morph_xml": "morph_xml.MorphXml",
    "yaml_xml": "yaml_xml.YamlXml",
}

# Other names of a grammar, used by model families, servers and runners. Case, `-`, `_`, `.` and
# blanks are ignored, so `GLM-4.5` is `glm45` and needs no line.
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "gpt_oss": ("harmony", "openai", "openai_gptoss"),
    "muse_glimmer": ("muse", "glimmer"),
    "hermes": (
        *("qwen25", "qwen3", "qwen3_thinking", "qwen3_vl_instruct", "qwen3_vl_thinking"),
        *("granite4", "trinity", "hermes_2_pro"),
    ),
    "nemotron_v2": ("nemotron_deci", "nemotron_nano_v2"),
    "granite3": ("granite",),
    "internlm2": ("internlm", "interns1"),
    "phi4_mini": ("phi4", "phi4_mini_json", "firefunction", "firefunction_v2"),
    "functionary_v31": ("functionary_v3_llama_31",),
    "mistral_v11": ("ministral", "magistral"),
    "mistral_old": ("mistral_nemo",),
    "cohere_command3": ("command_r7b",),
    "apertus": ("apertus2509",),
    "deepseek_v3": ("deepseek_r1",),
    "deepseek_v31": ("deepseek31",),
    "deepseek_v32": ("deepseek32",),
    "kimi_k2": ("kimi_k25",),
    "hunyuan_a13b": ("apriel",),
    "minicpm5_xml": ("minicpm5",),
    "qwen3_coder": (
        *("qwen3_xml", "qwen_xml", "qwen_coder", "qwen3.5", "ornith", "mimo", "step3p5"),
        *("nemotron", "nemotron_nano", "nemotron3", "nemotron_v3"),
        *("nemotron_3_nano", "nemotron_3.5_nano"),
    ),
    "glm45": ("glm", "glm4", "glm46", "glm45_moe", "glm_ocr"),
    "glm47": ("glm5", "glm47_moe", "ling3"),
    "poolside_v1": ("laguna",),
    "hy_v3": ("hunyuan",),
    "minimax_m2": ("minimax",),
    "lfm2": ("lfm2_thinking",),
    "olmo3": ("olmo3_think",),
    "gemma4": ("gemma4_no_thinking",),
    "pythonic": ("llama4", "llama4_pythonic"),
    "llama3_json": ("llama", "llama3", "llama4_json"),
    "generic_json": ("generic",),
    "react_text": ("react",),
    "smolagents_code": ("smolagents",),
    "cline": ("roo",),
    "morph_xml": ("sijawara",),
}

# Names of several grammars: of versions that a server reads with one parser, or of any JSON. All of
# them are read; the first is written.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "mistral": ("mistral_v11", "mistral_old"),
    "cohere": ("cohere_command4", "cohere_command3"),
    "deepseek": ("deepseek_v3", "deepseek_v31", "deepseek_v41", "deepseek_v32", "deepseek_v4"),
    "deepseek3": ("deepseek_v31", "deepseek_v3"),
    "qwen": ("hermes", "qwen3_coder"),
    "cogito": ("hermes", "deepseek_v3"),
    "json": ("llama3_json", "xlam"),
    "default": ("llama3_json", "xlam", "nemotron_v2"),
}

# Siblings: the parser of one reads the others' spelling too. A group is the versions of one
# family, or dialects of different families that share an opening marker.
# A sibling is only asked after all named dialects refused, and its calls get a problem.
_SIBLINGS = (
    # `<tool_call>`. JSON dialects come first: the first character of the body decides for them.
    (
        *("hermes", "ernie45", "granite3", "qwen3_coder", "functionary_v31"),
        *("glm45", "glm47", "poolside_v1", "hy_v3", "hy_v4"),
    ),
    # `<function=NAME>`, `<function name="NAME">`.
    ("qwen3_coder", "seed_oss", "functionary_v31", "minicpm5_xml"),
    # `<tool_calls>`.
    ("hunyuan_a13b", "jamba", "minimax_m1", "hy_v3", "hy_v4"),
    # `<|tool_call|>`.
    ("phi4_mini", "granite3"),
    # `<function_calls>`, `<invoke name="NAME">`.
    ("anthropic_xml", "claude_legacy", "olmo3", "minimax_m2", "dots"),
    # Versions of one family.
    ("mistral_v11", "mistral_old"),
    ("deepseek_v3", "deepseek_v31", "deepseek_v32", "deepseek_v4", "deepseek_v41", "step3"),
    ("kimi_k2", "kimi_k3"),
    ("minimax_m1", "minimax_m2", "minimax_m3"),
    ("cohere_command3", "cohere_command4", "cohere_r_plus"),
    ("gigachat3", "gigachat31"),
    ("granite3", "granite20b_fc", "hermes"),
    ("functionary_v31", "functionary_v32"),
    ("gemma4", "functiongemma"),
    ("pythonic", "llama3_json", "xlam"),
    # Markers around Python calls, and objects, that models leave out.
    ("pythonic", "lfm2"),
    ("pythonic", "olmo3"),
    ("llama3_json", "poolside_v1"),
    ("nemotron_v2", "qwen3_coder"),
)
# What the parser of one reads too, and not the other way round: bare objects would be looked for in
# all JSON. The prompt of Llama 3.1 asks for `<function=NAME>` in calls of custom tools.
_ALSO_READS = {
    "llama3_json": ("functionary_v31",),
    "nemotron_v2": ("functionary_v31",),
    "generic_json": ("llama3_json",),
}


_registered: dict[str, Dialect] = {}
_finders: list[Callable[[], object]] = []
_families: dict[str, str] = {}


class _Dialects(Mapping[str, "Dialect"]):
    def __getitem__(self, name: str) -> Dialect:
        first = members_of(name)[0]
        return _load(_CLASSES[first]) if first in _CLASSES else _registered[first]

    def __iter__(self) -> Iterator[str]:
        return iter((*_CLASSES, *(one.name for one in registered_dialects())))

    def __len__(self) -> int:
        return len(_CLASSES) + len(registered_dialects())

    def __repr__(self) -> str:
        return f"dialects({', '.join(self)})"


def register_dialect(dialect: Dialect) -> Dialect:
    """Make a dialect known by its name, to `auto` too where its `in_auto` says so.

    A name, alias or group that exists is refused, however it is spelled. Returns the dialect.
    """
    from callblocks.parsing.dialect import Dialect

    if not isinstance(dialect, Dialect):  # pyright: ignore[reportUnnecessaryIsInstance] callers err
        raise CallerError(f"a dialect is an instance of `Dialect`, not {dialect!r:.60}")
    name = getattr(dialect, "name", None)
    if not isinstance(name, str) or not _plain(name):
        raise CallerError(f"a dialect has a name, as 'tool-fence', not {name!r:.60}")
    if _plain(name) in _spellings() or _plain(name) == "auto":
        raise CallerError(f"a dialect named {name} exists; give yours another name")
    _registered[name] = dialect
    _spellings.cache_clear()
    return dialect


def registered_dialects() -> tuple[Dialect, ...]:
    """Return the dialects that are not of this table; plug-ins are looked for the first time."""
    while _finders:
        _finders.pop()()
    return tuple(_registered.values())


def name_families(families: Mapping[str, Iterable[str]]) -> None:
    """Have the names of families of models stand for their dialects, where nothing else does."""
    _families.update((_plain(one), name) for name, names in families.items() for one in names)


def find_more(finder: Callable[[], object]) -> None:
    """Have `finder` register dialects when one is asked for that this table does not have."""
    _finders.append(finder)


@cache
def _load(path: str) -> Dialect:
    module, _, name = path.partition(".")
    kind: type[Dialect] = getattr(import_module(f"callblocks.dialects.{module}"), name)
    kind.siblings = _Siblings(kind.name)
    return kind()


class _Siblings(Iterable["Sibling"]):
    """The siblings of a dialect, in the order of its groups; each is loaded at its first use."""

    def __init__(self, name: str) -> None:
        groups = (group for group in _SIBLINGS if name in group)
        known = dict.fromkeys(one for group in groups for one in group if one != name)
        self._names = known | dict.fromkeys(_ALSO_READS.get(name, ()))

    def __iter__(self) -> Iterator[Sibling]:
        return (dialects[name].as_sibling for name in self._names)


def members_of(name: str) -> tuple[str, ...]:
    """Return the dialects that a name, an alias or a group stands for; raise `KeyError` for none.

    The first one is written. The name of a family of models stands for its dialect. Case, `-`, `_`,
    `.` and blanks are ignored.
    """
    if name in _CLASSES:
        return (name,)
    registered_dialects()
    if found := _spellings().get(_plain(name)):
        return found[1]
    return (_families[_plain(name)],)


def aliases_of(name: str) -> tuple[str, ...]:
    """Return the other names of a dialect."""
    return _ALIASES.get(name, ())


def groups_of(name: str) -> tuple[str, ...]:
    """Return the groups that contain a dialect."""
    return tuple(group for group, members in _GROUPS.items() if name in members)


def near_names(name: str, *, loosely: bool = True) -> tuple[str, ...]:
    """Return up to three names, aliases or groups that are spelled most like a name.

    The nearest is first. Of several names for the same dialects only the nearest is returned. With
    `loosely`, names that share only some letters count, too.
    """
    from difflib import get_close_matches

    # The comparison is quadratic in the length, and a very long text is no mistyped name.
    if len(name) > _COMPARED:
        return ()
    registered_dialects()
    plain, known = _plain(name), _spellings()
    # A name with a single wrong letter is unambiguous: less similar ones are then not offered.
    near = get_close_matches(plain, known, n=_NEAR, cutoff=0.9)
    if loosely and not near:
        # A name with a version is one of a model: `gpt-4` is like `gptme` in its letters only.
        digits = set(filter(str.isdigit, plain))
        alike = [one for one in known if not digits or digits & set(one)]
        near = get_close_matches(plain, alike, n=_NEAR, cutoff=0.65)
    found = [known[spelling] for spelling in near]
    firsts = {members: written for written, members in reversed(found)}
    return tuple(written for written, members in found if firsts[members] == written)


_NEAR = 3
_COMPARED = 60
_IGNORED = re.compile(r"[-_.\s]+")


def _plain(name: str) -> str:
    return _IGNORED.sub("", name.lower()) if isinstance(name, str) else ""  # pyright: ignore[reportUnnecessaryIsInstance] callers err


@cache
def _spellings() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return all names in their normalized form, each with its spelling and its dialects."""
    aliases = {alias: (name,) for name, also in _ALIASES.items() for alias in also}
    every = {**_GROUPS, **aliases, **{name: (name,) for name in (*_CLASSES, *_registered)}}
    return {_plain(name): (name, members) for name, members in every.items()}


# A read-only mapping of all dialects by name. A lookup also takes an alias, which is not listed.
dialects: Mapping[str, Dialect] = _Dialects()
