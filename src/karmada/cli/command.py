"""What a command is: its words, its flags and the coroutine that does it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from karmada.cli.flags import Flag, Values
from karmada.cli.session import Session

Run = Callable[[Session, Values], Awaitable[int | None]]


class Command(NamedTuple):
    """One command. Those with subcommands may do without `run`."""

    name: str
    """All words, without the program: `token create`."""
    usage: str
    """What follows the name in the usage line."""
    about: str
    """What it does; the first line stands alone in lists."""
    run: Run | None = None
    flags: Sequence[Flag] = ()
    subcommands: "Sequence[Command]" = ()
    examples: str = ""
    aliases: Sequence[str] = ()
    """Other spellings of the last word."""
    offline: bool = False
    """Whether it waits for nothing, and so needs no event loop: importing one takes longer than all the rest."""
    quick: bool = False
    """Whether it is tried without an event loop first: it writes nothing, and prints when it has everything."""
    files_only: bool = False
    """Whether it is told by files alone what it is about."""
    takes_members: bool = False
    """Whether completion offers the names of clusters as arguments."""

    @property
    def summary(self) -> str:
        """The first line."""
        return self.about.partition("\n")[0]
