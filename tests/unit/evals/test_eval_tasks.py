"""Tasks: those that come with callblocks can be done, and wrong answers are told from right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from callblocks.core.errors import CallerError
from callblocks.evals.task import (
    CLASSES,
    Expected,
    Made,
    Task,
    builtin_tasks,
    check_names,
    distinct,
    fault_of,
    read_tasks,
)
from callblocks.tools.registry import Registry
from support.skilled_model import right_answer

TASKS = builtin_tasks()


def _examples(task: Task) -> list[Made]:
    return [Made(call.name, call.example()) for call in task.calls]


def test_there_are_eighty_tasks_in_all_classes() -> None:
    kinds = Counter(task.kind for task in TASKS)
    assert len(TASKS) >= 80
    assert set(kinds) == set(CLASSES)
    assert min(kinds.values()) >= 5
    assert max(len(task.tools) for task in TASKS) > 50


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_examples_of_a_task_are_right_and_others_are_not(task: Task) -> None:
    made, answer = _examples(task), right_answer(task)
    assert fault_of(task, made, answer) == ""
    tools = Registry.from_json(list(task.tools))
    for call in made:
        tool = tools.get(call.name)
        assert tool is not None
        assert tool.check(call.input).faults == ()
    other = next((tool.name for tool in task.tools if tool.name not in {c.name for c in made}), "")
    wrong = [
        [*made, Made(other or task.tools[0].name, {})],
        [Made(call.name, {**call.input, "more": 1}) for call in made],
        [Made(call.name, call.input, valid=False) for call in made],
        made[:-1],
    ]
    for calls in wrong:
        assert calls == made or fault_of(task, calls, answer)
    if task.says or task.asks:
        assert fault_of(task, made, "-")


TASK = Task(
    name="t",
    kind="own",
    prompt="p",
    calls=(Expected("a", {"x": "Oslo"}), Expected("a", {"x": "Lima"})),
)


def test_order_is_free_unless_the_task_says_otherwise() -> None:
    made = [Made("a", {"x": "LIMA "}), Made("a", {"x": "Oslo"})]
    assert fault_of(TASK, made, "") == ""
    assert "x is" in fault_of(msgspec.structs.replace(TASK, ordered=True), made, "")


@pytest.mark.parametrize(
    ("predicate", "right", "wrong"),
    [
        ({"one_of": ["a", 2]}, ["A", 2, 2.0], ["b", True, 3]),
        ({"between": [1, 5]}, [1, 4.5], [0, True, "3"]),
        ({"contains": ["a", '"b"']}, ['x a "b"'], ["a", 3]),
        ({"matches": "^A-[0-9]+$"}, ["A-12"], ["a-12", 12]),
        ({"equals": "Ab"}, ["Ab"], ["ab", "Ab "]),
        ({"equals": ""}, [""], ["a", None]),
        ({"starts": "Oslo"}, ["Oslo", " oslo, Norway", "Oslo (NO)"], ["Osloer", "Lima", 3, None]),
        ({"lines": "a\n b"}, ["a\n b", "a\r\n b\n", "\na\n b"], ["a\nb", "A\n b", "a", 1]),
        (
            {"fits": {"k": {"starts": "Rome"}, "n": 2, "o": {"optional": True}}},
            [{"k": "Rome, IT", "n": 2.0}, {"k": "rome", "n": 2, "o": 1, "p": None}],
            [{"k": "Rome"}, {"k": "Rome", "n": 2, "p": 1}, {"k": "Bari", "n": 2}, [], "x"],
        ),
        ({"fits": [{"between": [1, 2]}, "x"]}, [[1, "X"]], [["x", 1], [1], [1, "x", "x"], {}]),
        (
            {"members": [{"any": True}, {"one_of": [1]}]},
            [[1, 2], [2, 1], ["a", 1]],
            [[2, 3], [1], [1, 2, 3], 1],
        ),
        ({"any": True}, [1, "x"], ["", None]),
        ({"optional": True, "one_of": [3]}, [3, None], [4]),
    ],
)
def test_a_predicate_tells_right_from_wrong(
    predicate: dict[str, object], right: list[object], wrong: list[object]
) -> None:
    task = Task(name="t", kind="own", prompt="p", calls=(Expected("a", where={"x": predicate}),))
    assert [value for value in right if fault_of(task, [Made("a", {"x": value})], "")] == []
    assert [value for value in wrong if not fault_of(task, [Made("a", {"x": value})], "")] == []


def test_a_default_may_be_given_and_nested_values_are_compared_whole() -> None:
    from callblocks.core.specs import ToolSpec

    spec = ToolSpec(
        "a", "", {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}}
    )
    task = Task(
        name="t", kind="own", prompt="p", tools=(spec,), calls=(Expected("a", {"r": [{"k": 1}]}),)
    )
    assert fault_of(task, [Made("a", {"r": [{"k": 1.0}], "n": 3, "note": None})], "") == ""
    assert fault_of(task, [Made("a", {"r": [{"k": 1}], "n": 4})], "") == "a: n was not asked for"
    assert fault_of(task, [Made("a", {"r": [{"k": 1, "l": 2}]})], "")


def test_a_default_that_is_left_out_is_right() -> None:
    from callblocks.core.specs import ToolSpec

    unit = {"type": "string", "default": "celsius"}
    spec = ToolSpec("a", "", {"type": "object", "properties": {"unit": unit, "any": True}})
    for wanted in (
        Expected("a", {"unit": "Celsius"}),
        Expected("a", where={"unit": {"starts": "c"}}),
    ):
        task = Task(name="t", kind="own", prompt="p", tools=(spec,), calls=(wanted,))
        assert (fault_of(task, [Made("a", {})], "") == "") is ("unit" in wanted.input)
        assert fault_of(task, [Made("a", {"unit": "kelvin"})], "")


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("Which city do you mean?", True),
        ("To tell you the weather I need the name of a city. ", True),
        ("Please give me the following:\n1. City\n2. Unit", True),
        ("I don\u2019t know your location.", True),
        ("都市(city)はどこですか？", True),
        ("The weather in your city is fine. Anything else?", False),
        ("It is sunny where you are.", False),
        ("I cannot do that.", False),
        ("", False),
    ],
)
def test_what_is_missing_has_to_be_asked_for(answer: str, is_right: bool) -> None:
    task = next(task for task in TASKS if task.name == "weather-where")
    assert (fault_of(task, [], answer) == "") is is_right


@pytest.mark.parametrize(
    ("says", "answer", "is_right"),
    [
        ("4", "It is 4.", True),
        ("4", "It is 14.", False),
        ("yes", "Yes!", True),
        ("yes", "Yesterday it was.", False),
        ("Paris", "In parisian style: PARIS", True),
        ("はい", "答えははいです", True),
    ],
)
def test_a_short_word_is_said_alone(says: str, answer: str, is_right: bool) -> None:
    task = Task(name="t", kind="own", prompt="p", says=(says,))
    assert (fault_of(task, [], answer) == "") is is_right


def test_the_second_call_of_a_chain_holds_what_only_the_first_one_gave() -> None:
    for task in TASKS:
        if task.kind == "chained":
            first, *later = task.calls
            given = task.output_of(first.name, first.example())
            for value in first.example().values():
                given = given.replace(str(value), "")
            values = [str(value) for call in later for value in call.example().values()]
            assert any(value in given and value not in task.prompt for value in values), task.name


def test_a_check_of_a_program_decides_alone() -> None:
    task = Task(name="t", kind="own", prompt="p")
    assert fault_of(task, [], "x", lambda made, answer: answer == "x") == ""
    assert fault_of(task, [], "x", lambda made, answer: False) == "the check says no"
    assert fault_of(task, [], "x", lambda made, answer: "too short") == "too short"


def test_own_tasks_are_read_from_toml_and_markdown(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        '[tools.ls]\nabout = "List."\npath = "string = .: the folder"\nall = "boolean?: all"\n'
        'kinds = "a | b: which"\nnames = "string[]: names"\n'
        '[[task]]\nname = "one"\nprompt = "Look."\ntools = ["ls"]\n'
        'calls = [{name = "ls", input = {path = "src"}}]\n'
    )
    (tmp_path / "two.md").write_text('+++\ntools = ["*"]\nsays = ["yes"]\n+++\nShall we?\n')
    (tmp_path / "README.md").write_text("# Nothing\n")
    one, two = read_tasks(tmp_path)
    assert (one.name, one.kind, two.name, two.prompt) == ("one", "own", "two", "Shall we?")
    assert one.tools == two.tools
    assert one.tools[0].required == ("kinds", "names")
    assert one.tools[0].properties["path"]["default"] == "."
    assert one.tools[0].properties["kinds"]["enum"] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[task]]", "needs a name and a prompt"),
        ('[[task]]\nname = "a"', "needs a name and a prompt"),
        ('[[task]]\nname = "a"\nprompt = "b"\nfoo = 1', "no task has the key 'foo'"),
        ('[[task]]\nname = "a"\nprompt = "b"\ntools = ["x"]', "no tool 'x'"),
        ('[[task]]\nname = "a"\nprompt = "b"\ncalls = [{name = "x"}]', "no tool of that name"),
        ('[[task]]\nname = "a"\nprompt = "b"\ncalls = [{nam = "x"}]', "nam"),
        ('[[task]]\nname = "a"\nprompt = "b"\nrounds = "x"', "int"),
        ('[tools.t]\nx = "text"\n[[task]]\nname = "a"\nprompt = "b"', "is no parameter"),
        ('[tools.t]\nx = "foo: y"\n[[task]]\nname = "a"\nprompt = "b"', "no type 'foo'"),
        ('[tools.t]\nschema = "{"\n[[task]]\nname = "a"\nprompt = "b"', "is no JSON"),
        ('[tools.t]\nschema = "[]"\n[[task]]\nname = "a"\nprompt = "b"', "is no object"),
        ('[tools.t]\nschema = 3\n[[task]]\nname = "a"\nprompt = "b"', "is no JSON"),
        ("tools = {t = 1}\n[[task]]\nname = 'a'\nprompt = 'b'", "is no table"),
        ("", "there is no task"),
        ("x =", "not TOML"),
        (
            '[tools.t]\nx = "string: y"\n[[task]]\nname = "a"\nprompt = "b"\ntools = ["t"]\n'
            'calls = [{name = "t", where = {x = {like = 1}}}]',
            "no predicate 'like'",
        ),
        *(
            (
                '[tools.t]\nx = "string: y"\n[[task]]\nname = "a"\nprompt = "b"\ntools = ["t"]\n'
                f'calls = [{{name = "t", where = {{x = {{{predicate}}}}}}}]',
                words,
            )
            for predicate, words in [
                ("", "x has no predicate"),
                ("between = 3", "no list"),
                ("between = [1]", "two numbers"),
                ("contains = [1]", "contains texts"),
                ("fits = {a = {between = 1}}", "no list"),
                ("fits = [{a = {starts = 1}}]", "no str"),
                ("members = {a = 1}", "no list"),
            ]
        ),
        ('[[task]]\nname = "a"\nprompt = "b"\ncontext = 3', "how many `times`"),
        ('[[task]]\nname = "a"\nprompt = "b"\ncontext = {line = "x", times = 0}', "`times`"),
        ('[[task]]\nname = "a"\nprompt = "b"\ncontext = {line = "{x}", times = 1}', "{n}"),
        (
            '[tools.t]\nx = "string: y"\n[[task]]\nname = "a"\nprompt = "b"\ntools = ["t"]\n'
            'calls = [{name = "t", where = {x = {matches = "("}}}]',
            "is no expression",
        ),
    ],
)
def test_what_is_no_task_is_named(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(CallerError, match=words):
        read_tasks(path)


def test_tasks_of_one_name_are_told_apart_and_equal_ones_run_once() -> None:
    other = msgspec.structs.replace(TASK, prompt="q", source="b.toml")
    again = msgspec.structs.replace(TASK, source="c.toml")
    tasks, notes = distinct([TASK, other, again, other])
    assert [(task.name, task.prompt) for task in tasks] == [("t", "p"), ("t (2)", "q")]
    assert notes == [
        "b.toml: another t is run as 't (2)'",
        "c.toml: t stands twice, and is run once",
        "b.toml: t stands twice, and is run once",
    ]
    check_names(tasks)


def test_two_tasks_of_one_name_are_refused() -> None:
    with pytest.raises(CallerError, match="two tasks are named 't'"):
        check_names([TASK, TASK])
