"""`callblocks completion`: what a shell sources to complete commands, options and dialects."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ("command",)


@click.command("completion", short_help="Print the completion script of a shell.")
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash  source <(callblocks completion bash), in ~/.bashrc
    zsh   source <(callblocks completion zsh), in ~/.zshrc
    fish  callblocks completion fish > ~/.config/fish/completions/callblocks.fish
    """
    script = get_completion_class(shell)
    assert script is not None
    made = script(ctx.find_root().command, {}, "callblocks", "_CALLBLOCKS_COMPLETE")
    # Not `source()`: it would run the shell to ask for its version.
    click.echo(made.source_template % made.source_vars())
