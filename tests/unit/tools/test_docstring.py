from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.tools.typed_input import read_docstring

GOOGLE = """Send a letter.

    It goes by post.

    Args:
        to (str, optional): who gets it,
            with a street: and a town
        copies: how many

            of them
        *rest: what else

    Returns:
        a number
    """
NUMPY = """Send a letter.

    It goes by post.

    Parameters
    ----------
    to : str
        who gets it,
        with a street: and a town
    copies, rest
        how many

    Returns
    -------
    int
    """
SPHINX = """Send a letter.

    It goes by post.

    :param to: who gets it,
        with a street: and a town
    :type to: str
    :param int copies: how many
    :returns: a number
    :rtype: int
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_style_gives_the_text_of_a_parameter(text: str) -> None:
    said = read_docstring(text).parameters
    assert said["to"] == "who gets it, with a street: and a town"
    assert said["copies"].startswith("how many")


def test_the_description_is_all_but_the_parameters() -> None:
    assert read_docstring(GOOGLE).description == (
        "Send a letter.\n\nIt goes by post.\n\nReturns:\n    a number"
    )
    assert read_docstring(NUMPY).description == (
        "Send a letter.\n\nIt goes by post.\n\nReturns\n-------\nint"
    )
    assert read_docstring(SPHINX).description == (
        "Send a letter.\n\nIt goes by post.\n\n:returns: a number"
    )


def test_a_blank_line_inside_a_parameter_does_not_end_it() -> None:
    assert read_docstring(GOOGLE).parameters["copies"] == "how many of them"
    assert read_docstring(GOOGLE).parameters["rest"] == "what else"


def test_several_names_of_numpy_share_their_text() -> None:
    said = read_docstring(NUMPY).parameters
    assert said["copies"] == said["rest"] == "how many"


def test_a_numpy_section_ends_at_prose() -> None:
    read = read_docstring("Do.\n\nParameters\n----------\nx : int\n    a number\n\n(And so on.)")
    assert read.parameters == {"x": "a number"}
    assert read.description == "Do.\n\n(And so on.)"


def test_nothing_says_nothing() -> None:
    assert read_docstring(None).description == ""
    assert read_docstring("  \n ").parameters == {}


@pytest.mark.parametrize(
    "text", ["Args: are what it takes.", "Args:", "Args:\n\nmore", ":param: x"]
)
def test_prose_that_looks_like_a_section_stays_prose(text: str) -> None:
    read = read_docstring(text)
    assert read.parameters == {}


def test_a_parameter_without_words_is_not_described() -> None:
    assert read_docstring("Do.\n\nArgs:\n    x:\n    y: why").parameters == {"y": "why"}


LINES = st.sampled_from(
    [
        "Args:",
        "    x: one",
        "  ",
        "",
        "Parameters",
        "-----",
        "x : int",
        "    deep",
        ":param x: y",
        "p",
    ]
)


@given(st.one_of(st.text(max_size=200), st.lists(LINES).map("\n".join)))
def test_any_text_is_read(text: str) -> None:
    read = read_docstring(text)
    assert all(words.strip() == words != "" for words in read.parameters.values())
