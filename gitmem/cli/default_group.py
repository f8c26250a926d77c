"""A group with a command that needs no name: `gitmem sync origin` is `gitmem sync run origin`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class DefaultGroup(click.Group):
    """A group that runs its hidden command where none of the others is named; its help shows that one's options."""

    @property
    def default(self) -> click.Command:
        return next(command for command in self.commands.values() if command.hidden)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if (not args and not ctx.resilient_parsing) or (
            args and args[0] not in {*self.commands, *ctx.help_option_names}
        ):
            args = [str(self.default.name), *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, and what the hidden one takes."""
        found = super().shell_complete(ctx, incomplete) + self.default.shell_complete(ctx, incomplete)
        for param in self.default.params:
            if isinstance(param, click.Argument) and not incomplete.startswith("-"):
                found += param.shell_complete(ctx, incomplete)
        return list({item.value: item for item in found}.values())

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return self.default.collect_usage_pieces(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.default.format_options(ctx, formatter)
        self.format_commands(ctx, formatter)
