"""The model of a chat as an argument: what a shell and the chat complete it to."""

from __future__ import annotations

import re

import click
from click.shell_completion import CompletionItem

__all__ = ("MODEL_SPEC", "model_words")


def model_words() -> list[str]:
    """The names of the config file, and how each form begins."""
    from callblocks.model.errors import CallerError
    from callblocks.models.config import NO_CONFIG, read_config
    from callblocks.models.opening import MODEL_FORMS

    try:
        config = read_config()
    except CallerError:
        # Who completes a word is not told about the file.
        config = NO_CONFIG
    # What is written large is to be filled in.
    begun = (re.split("[A-Z]", form)[0] for form in MODEL_FORMS)
    return list(dict.fromkeys((*config.models, *begun)))


class ModelSpec(click.ParamType):  # pyright: ignore[reportMissingTypeArgument] generic only in click 8.4 and later
    """A name of the config file, or a form; what is neither is told where it is opened."""

    name = "spec"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """What the word may become."""
        return [CompletionItem(word) for word in model_words() if word.startswith(incomplete)]


MODEL_SPEC = ModelSpec()
