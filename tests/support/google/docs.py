"""Google Docs, played: a title and a text, whose last line always ends."""

from __future__ import annotations

import re

from support.google.state import Asked, Json, Method, Refused, State

__all__ = ("docs_methods",)


def docs_methods(state: State) -> dict[str, Method]:
    """The methods that the tools use."""
    fake = _Fake(state)
    return {
        "docs.documents.get": fake.get,
        "docs.documents.create": fake.create,
        "docs.documents.batchUpdate": fake.batch_update,
    }


class _Fake:
    def __init__(self, state: State) -> None:
        self.state = state

    def get(self, asked: Asked) -> Json:
        return _shown(asked.path["documentId"], self._document(asked))

    def create(self, asked: Asked) -> Json:
        if "body" in asked.body:
            raise Refused(400, "invalid", "a new document is empty")
        made = self.state.new_id("1D")
        title = asked.body.get("title", "Untitled document")
        self.state.documents[made] = {"title": title, "text": ""}
        return _shown(made, self.state.documents[made])

    def batch_update(self, asked: Asked) -> Json:
        document = self._document(asked)
        replies = [_change(document, request) for request in asked.body["requests"]]
        return {"documentId": asked.path["documentId"], "replies": replies}

    def _document(self, asked: Asked) -> Json:
        wanted = asked.path["documentId"]
        if wanted in self.state.documents:
            return self.state.documents[wanted]
        if wanted in {**self.state.files, **self.state.spreadsheets}:
            raise Refused(400, "failedPrecondition", "This operation is not supported")
        raise Refused(404, "notFound", "Requested entity was not found.")


def _change(document: Json, request: Json) -> Json:
    match request:
        case {"insertText": {"text": str(text), "endOfSegmentLocation": _}} if text:
            document["text"] += text
            return {}
        case {"replaceAllText": {"containsText": wanted, **rest}} if wanted.get("text"):
            flags = 0 if wanted.get("matchCase") else re.IGNORECASE
            new = rest.get("replaceText", "")
            document["text"], count = re.subn(
                re.escape(wanted["text"]), lambda _: new, document["text"], flags=flags
            )
            # Google leaves out a number that is 0.
            return {"replaceAllText": {"occurrencesChanged": count} if count else {}}
        case _:
            raise Refused(400, "invalid", f"no such request is played: {list(request)}")


def _shown(one: str, document: Json) -> Json:
    start, content = 1, [{"endIndex": 1, "sectionBreak": {"sectionStyle": {}}}]
    for line in document["text"].split("\n"):
        end = start + len(f"{line}\n".encode("utf-16-le")) // 2
        place = {"startIndex": start, "endIndex": end}
        run = {"content": f"{line}\n", "textStyle": {}}
        content.append({**place, "paragraph": {"elements": [{**place, "textRun": run}]}})
        start = end
    return {
        "documentId": one,
        "title": document["title"],
        "revisionId": f"r{len(document['text'])}",
        "body": {"content": content},
    }
