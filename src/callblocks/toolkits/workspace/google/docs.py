"""Google Docs."""

from __future__ import annotations

from callblocks.model.errors import ToolError
from callblocks.toolkits.workspace.backend import Json
from callblocks.toolkits.workspace.google.service import Service

__all__ = ("GoogleDocuments",)


class GoogleDocuments:
    """The documents of an account."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def document(self, document_id: str) -> Json:
        """Return a document with its paragraphs."""
        return self._service.call(lambda api: api.documents().get(documentId=document_id))

    def create(self, title: str, text: str) -> Json:
        """Create a document; Google creates it empty, and the text is inserted afterwards."""
        made = self._service.call(lambda api: api.documents().create(body={"title": title}))
        if not text:
            return made
        document_id: str = made["documentId"]
        try:
            # Google has no request that creates a document with text.
            self.append(document_id, text)
        except ToolError as error:
            # Two requests are not atomic. The failure names the id, so that the model completes
            # that document instead of creating a second one.
            message = f"the document {document_id} was made, but is empty: {error.message}"
            raise ToolError(
                error.code, message, **error.details | {"documentId": document_id}
            ) from error
        return self.document(document_id)

    def append(self, document_id: str, text: str) -> None:
        """Append text before the end of the last paragraph."""
        self._change(document_id, {"insertText": {"text": text, "endOfSegmentLocation": {}}})

    def replace(self, document_id: str, find: str, new: str, *, match_case: bool) -> int:
        """Replace each match; return their number."""
        wanted = {"text": find, "matchCase": match_case}
        answer = self._change(
            document_id, {"replaceAllText": {"containsText": wanted, "replaceText": new}}
        )
        reply = answer.get("replies", [{}])[0]
        return int(reply.get("replaceAllText", {}).get("occurrencesChanged", 0))

    def _change(self, document_id: str, request: Json) -> Json:
        body = {"requests": [request]}
        return self._service.call(
            lambda api: api.documents().batchUpdate(documentId=document_id, body=body)
        )
