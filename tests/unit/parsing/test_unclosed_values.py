"""Arguments in tags that nothing closes end with their calls, each of them."""

from __future__ import annotations

from callblocks import ToolSpec, parse

WEATHER = ToolSpec("weather", "", {"type": "object", "properties": {"city": {"type": "string"}}})
CALL = "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</tool_call>\nThen.\n"


def test_each_call_in_a_row_of_unclosed_values_is_read_without_tools_too() -> None:
    for tools in ((), (WEATHER,)):
        parsed = parse(CALL * 3, "qwen3_coder", tools=tools)
        assert [call.input["city"].strip() for call in parsed.calls] == ["Oslo"] * 3
        assert "missing-closer" in {problem.code for problem in parsed.problems}


def test_a_package_has_no_name_that_it_does_not_list() -> None:
    from callblocks import parsing

    assert not hasattr(parsing, "nothing_of_that_name")
    assert parsing.Dialect.__name__ == "Dialect"
