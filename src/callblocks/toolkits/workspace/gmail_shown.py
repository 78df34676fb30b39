"""Messages as shown to a model: trimmed, and with the names of labels.

Gmail gives a person's own labels ids such as `Label_12`; people know them by their names. Both are
accepted, and names are shown. The list of labels is requested only if one is not Gmail's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from callblocks.model.brief import brief
from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json, Mail
from callblocks.toolkits.workspace.mail_text import attachments_of, summary_of, text_of_mail
from callblocks.tools.context import Context

__all__ = ("LabelNames", "shown_message", "shown_page")

_SYSTEM = re.compile(r"INBOX|SENT|DRAFT|TRASH|SPAM|UNREAD|STARRED|IMPORTANT|CHAT|CATEGORY_[A-Z]+")
_OTHER_NAMES = {"DRAFTS": "DRAFT"}


class LabelNames:
    """The labels of a mailbox by id and by name, requested when first needed."""

    def __init__(self, mail: Mail) -> None:
        self._mail = mail

    @cached_property
    def _labels(self) -> list[Json]:
        return self._mail.labels()

    def id_of(self, label: str) -> str:
        """Return the id of a label given by id or by name, in any case."""
        plain = label.strip().upper()
        plain = _OTHER_NAMES.get(plain, plain)
        if _SYSTEM.fullmatch(plain):
            return plain
        for one in self._labels:
            if label.strip().casefold() in (one["id"].casefold(), one["name"].casefold()):
                return str(one["id"])
        known = ", ".join(str(one["name"]) for one in self._labels)
        why = f"no label is called {brief(label)}; there are: {known}"
        raise ToolError("invalid_input", why, labelIds=why)

    def names_of(self, ids: Iterable[str]) -> list[str]:
        """Return the names of labels; Gmail's own are their ids."""
        return [one if _SYSTEM.fullmatch(one) else self._name_of(one) for one in ids]

    def _name_of(self, label_id: str) -> str:
        names = (str(one["name"]) for one in self._labels if one["id"] == label_id)
        return next(names, label_id)


def shown_page(messages: Iterable[Json], names: LabelNames) -> list[Json]:
    """Return the messages of a list: headers and the start of the text."""
    return [_named(summary_of(one), names) for one in messages]


def shown_message(resource: Json, names: LabelNames, context: Context) -> Json:
    """Return one message with its text; a text that is too long is cut with a notice."""
    shown = _named(summary_of(resource), names)
    del shown["snippet"]
    found = text_of_mail(resource)
    if found.cut:
        context.notice(
            "text_cut",
            f"the text of the message {brief(shown['id'])} is too long, and was cut",
        )
    shown["text"] = found.text
    attachments = attachments_of(resource)
    return shown | {"attachments": attachments} if attachments else shown


def _named(shown: Json, names: LabelNames) -> Json:
    return shown | {"labelIds": names.names_of(shown["labelIds"])}
