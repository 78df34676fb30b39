"""Parts of what a model is sent, where there is only text."""

from __future__ import annotations

from callblocks.core.blocks import DocumentPart, ImagePart, TextPart, text_of


def test_an_image_or_a_document_stands_as_one_line_of_text() -> None:
    parts = [
        TextPart("See:\n"),
        ImagePart("image/png", "aGk="),
        DocumentPart("application/pdf", "aGVsbG8="),
        TextPart("Done."),
    ]
    assert text_of(parts) == (
        "See:\n"
        "<image media_type=image/png b64_len=4>\n"
        "<document media_type=application/pdf b64_len=8>\n"
        "Done."
    )
