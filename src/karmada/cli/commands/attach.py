"""`karmadactl attach`."""

from karmada.cli.command import Command
from karmada.cli.commands.exec import STREAM_FLAGS, stream
from karmada.cli.failures import CommandError
from karmada.cli.flags import Values
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> int:
    """Attach to the process of a container."""
    if not flags.arguments:
        raise CommandError("at least 1 argument is required for attach")
    if flags.stdin and flags.tty and not flags.quiet:
        session.warn("If you don't see a command prompt, try pressing enter.")
    return await stream(session, flags, "attach", [])


COMMAND = Command(
    "attach",
    "(POD | TYPE/NAME) [-c CONTAINER] (-C CLUSTER)",
    "Attach to the process that runs in a container of a member.",
    run,
    STREAM_FLAGS,
    examples="karmadactl attach nginx-abc -C member1",
)
