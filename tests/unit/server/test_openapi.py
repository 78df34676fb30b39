from __future__ import annotations

import re
from pathlib import Path

import pytest

from callblocks.server.app import ENDPOINTS
from callblocks.server.http.faults import FAULTS
from callblocks.server.openapi import openapi_document

PINNED = Path(__file__).parent / "routes.txt"


def test_the_routes_are_pinned(request: pytest.FixtureRequest) -> None:
    text = "".join(f"{one.method:4} {one.path:40} {one.summary}\n" for one in ENDPOINTS)
    if request.config.getoption("--accept"):
        PINNED.write_text(text, "utf-8")
    assert text == PINNED.read_text("utf-8")


def test_every_reference_of_the_document_leads_somewhere() -> None:
    document = openapi_document(ENDPOINTS)
    names = re.findall(r"#/components/schemas/(\w+)", str(document))
    assert names
    assert set(names) <= set(document["components"]["schemas"])


def test_every_operation_has_a_name_of_its_own_and_says_what_it_does() -> None:
    names = [one.name for one in ENDPOINTS]
    assert len(names) == len(set(names))
    assert all(one.summary for one in ENDPOINTS)


def test_every_fault_of_an_operation_is_a_known_one() -> None:
    assert {code for one in ENDPOINTS for code in one.faults} <= set(FAULTS)


def test_no_operation_hides_an_error_of_its_own_making() -> None:
    for path in openapi_document(ENDPOINTS)["paths"].values():
        for operation in path.values():
            assert {"200", "401", "403", "429"} <= set(operation["responses"])
