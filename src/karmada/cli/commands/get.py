"""`karmadactl get`. What it does is in `karmada.cli.getting`: its help must not wait for that to be imported."""

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.flags import Flag, Values
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> int | None:
    """Show what was asked for."""
    from karmada.cli.getting import run

    return await run(session, flags)


COMMAND = Command(
    "get",
    "[NAME | -l label | -n namespace]",
    "Show objects of the control plane and of its members.\n\n"
    "With -s members or -s all the same objects of several clusters stand side by side: CLUSTER shows where a row is\n"
    "from, ADOPTION whether Karmada manages the object there. A cluster that fails does not hide the others' rows.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        common.ALL_NAMESPACES,
        *common.PRINTING,
        common.operation_scope("karmada", "members", "all"),
        Flag("clusters", [], "Names of the members to ask; all if left out.", "C"),
        Flag("labels", "", "Label selector.", "l"),
        common.FIELD_SELECTOR,
        Flag("label-columns", [], "Labels to show as columns.", "L"),
        Flag("show-labels", False, "Show all labels as the last column."),
        Flag("show-kind", False, "Show the kind in front of names."),
        Flag("no-headers", False, "Leave out the line of headers."),
        Flag("ignore-not-found", False, "Take objects that do not exist as no failure."),
        Flag("sort-by", "", "JSONPath of the field to sort by: .metadata.creationTimestamp."),
        Flag("watch", False, "Show objects and then their changes.", "w"),
        Flag("watch-only", False, "Show only changes."),
        Flag("output-watch-events", False, "Show the type of each change."),
        Flag("chunk-size", 500, "How many objects to ask for at a time; 0 asks for all at once."),
        Flag("raw", "", "A path to read from the server, as it is."),
    ),
    examples="""
# Deployments of the control plane
karmadactl get deployments
# Pods of all members
karmadactl get pods -s members
# One deployment everywhere, and in two members only
karmadactl get deployment nginx -s all
karmadactl get deployment nginx -s members -C member1,member2
""",
    quick=True,
)
