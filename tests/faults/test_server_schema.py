"""Requests made from the OpenAPI document, right and wrong ones: none breaks the server.

What comes back is checked against the document as well: its status, its type, and its shape.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from callblocks.server.app import ENDPOINTS
from callblocks.server.openapi import openapi_document
from support.chat_server import Running, posted, running_server

# A stream without an end is followed in tests of its own.
schema = schemathesis.openapi.from_dict(openapi_document(ENDPOINTS)).exclude(path_regex="/follow$")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running_server(tmp_path_factory.mktemp("schema"), rate=1e6, burst=10**6) as running:
        running.client.post("/api/chat", json=posted("Hello", "a"))
        yield running


@schema.parametrize()
@settings(
    max_examples=8,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_no_request_breaks_the_server(case: schemathesis.Case, server: Running) -> None:
    response = case.call(base_url=f"http://127.0.0.1:{server.port}", timeout=120)
    assert response.status_code < 500, response.text
    case.validate_response(
        response,
        checks=[status_code_conformance, content_type_conformance, response_schema_conformance],
    )
