"""What is in deploy/ is as its schemas, the command line and the metrics are."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import jsonschema_rs
import kubernetes_validate
import pytest
import yaml

from callblocks.core.events import CallEnded, TurnEnded
from callblocks.core.outcomes import Outcome
from callblocks.server.app import PROBES
from callblocks.server.http.monitoring import Metrics
from support.command import run
from support.pages import ROOT

DEPLOY = ROOT / "deploy"
KUBERNETES = "1.37"


def load(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text("utf-8"))


MANIFESTS: list[Any] = [
    one
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for one in yaml.safe_load_all(file.read_text("utf-8"))
]
COMPOSE = load("compose.yaml")


def containers() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for one in MANIFESTS:
        spec = one.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        found += spec.get("template", {}).get("spec", {}).get("containers", [])
    return found


COMMANDS = [
    *(one["args"] for one in containers()),
    *(one["command"] for one in COMPOSE["services"].values() if one["image"] == "callblocks"),
]


def test_the_compose_file_is_as_its_schema() -> None:
    schemas = files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "compose-spec.json").read_text("utf-8"))
    jsonschema_rs.validator_for(schema).validate(COMPOSE)


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda one: f"{one['kind']}")
def test_a_manifest_is_as_the_schema_of_its_kind(manifest: dict[str, Any]) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_has_options_that_there_are(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0, result.stderr


def test_labels_names_and_probes_fit_together() -> None:
    kinds = {(one["kind"], one["metadata"]["name"]): one for one in MANIFESTS}
    pods = {
        name: one["spec"]["template"]["metadata"]["labels"]
        for (kind, name), one in kinds.items()
        if kind == "Deployment"
    }
    for (kind, name), one in kinds.items():
        spec = one.get("spec", {})
        if kind in ("Deployment", "PodDisruptionBudget"):
            assert spec["selector"]["matchLabels"].items() <= pods[name].items()
        if kind == "Service":
            assert any(spec["selector"].items() <= labels.items() for labels in pods.values())
        if kind == "HorizontalPodAutoscaler":
            assert spec["scaleTargetRef"]["name"] in pods
    probed = {
        one[probe]["httpGet"]["path"]
        for one in containers()
        for probe in ("readinessProbe", "livenessProbe", "startupProbe")
        if probe in one
    }
    assert probed <= {one.path for one in PROBES}


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    metrics = Metrics()
    metrics.queue("queued", 1)
    metrics.answered("/api", 200, 0.1)
    metrics.count(TurnEnded(turn="turn_1", status="answered"))
    metrics.count(CallEnded(outcome=Outcome(id="c", name="n")))
    there = set(re.findall(r"^callblocks_\w+", metrics.text().decode(), re.M))
    board = json.loads((DEPLOY / "dashboards" / "callblocks.json").read_bytes())
    asked = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in re.findall(r"callblocks_\w+", target["expr"])
    }
    assert asked <= there
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
