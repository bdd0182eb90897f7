"""`karmadactl tree`: everything that belongs to a workload, from its policies to its pods."""

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.commands.why import one_wanted
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.progress import Waiting
from karmada.cli.reading import namespace_of
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> None:
    """Show the tree."""
    wanted = await one_wanted(session, flags)
    hub = session.hub(flags)
    from karmada.cli import answers
    from karmada.cli.output.tree import as_text

    namespace = namespace_of(hub, flags, wanted.kind)
    try:
        with Waiting(session, "waiting for the members", after=1.0):
            root = await answers.root(hub.client, session.members(flags), wanted.kind, namespace, wanted.name)
    except answers.Absent as error:
        raise CommandError(str(error)) from None
    if flags.output == "json":
        import orjson

        session.print(orjson.dumps(root.data(), option=orjson.OPT_INDENT_2).decode())
        return
    if flags.output:
        raise CommandError("--output is json")
    session.out.write(as_text(root, session.colours))


COMMAND = Command(
    "tree",
    "KIND/NAME [-n NAMESPACE]",
    "Show everything that belongs to a workload as a tree, with health and age: its policy, its binding, and for\n"
    "every cluster the Work, the object there and its pods.",
    run,
    (*common.CONNECTION, common.NAMESPACE, Flag("output", "", "json.", "o")),
    examples="karmadactl tree deployment/nginx",
)
