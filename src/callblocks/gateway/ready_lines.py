"""Lines that connect a client to a running gateway, ready to be copied."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ("ready_lines",)


def ready_lines(address: str, model: str, *, has_key: bool) -> Iterator[tuple[str, list[str]]]:
    """Yield each client with its lines. With a key, the lines name a variable that has it."""
    key = "$CALLBLOCKS_KEY" if has_key else "none"
    yield (
        "Codex",
        [
            "codex -c model_provider=callblocks \\",
            f'  -c \'model_providers.callblocks={{name="callblocks", base_url="{address}/v1",'
            f' wire_api="responses"{_codex_key(has_key)}}}\' -m {model}',
        ],
    )
    yield (
        "Claude Code",
        [
            f"ANTHROPIC_BASE_URL={address} ANTHROPIC_AUTH_TOKEN={key} \\",
            f"  ANTHROPIC_MODEL={model} ANTHROPIC_SMALL_FAST_MODEL={model} claude",
        ],
    )
    yield (
        "opencode (opencode.json)",
        [
            '{"provider": {"callblocks": {"npm": "@ai-sdk/openai-compatible",',
            f'  "options": {{"baseURL": "{address}/v1"{_opencode_key(has_key)}}},',
            f'  "models": {{"{model}": {{}}}}}}}}, "model": "callblocks/{model}"}}',
        ],
    )
    yield (
        "Cline",
        [f"cline auth -p openai-compatible -b {address}/v1 -k {key} -m {model}"],
    )
    shown = 'os.environ["CALLBLOCKS_KEY"]' if has_key else '"none"'
    yield (
        "openai (Python)",
        [f'OpenAI(base_url="{address}/v1", api_key={shown})  # model="{model}"'],
    )


def _codex_key(has_key: bool) -> str:
    return ', env_key="CALLBLOCKS_KEY"' if has_key else ""


def _opencode_key(has_key: bool) -> str:
    return ', "apiKey": "{env:CALLBLOCKS_KEY}"' if has_key else ""
