"""`karmadactl options`."""

from karmada.cli.command import Command
from karmada.cli.flags import Values
from karmada.cli.help import GLOBAL_FLAGS, flag_lines
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> None:
    """Print the flags of every command."""
    session.print("The following options can be passed to any command:\n")
    session.out.write("\n".join(flag_lines(GLOBAL_FLAGS)))


COMMAND = Command("options", "", "List the flags that every command has.", run, offline=True)
