"""`karmadactl check`."""

import dataclasses

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import aligned
from karmada.cli.output.wrapping import wrapped
from karmada.cli.progress import Waiting
from karmada.cli.reading import check_known, cluster_names
from karmada.cli.session import Session

_MARKS = {"ok": ("✓", 32), "warning": ("!", 33), "broken": ("✗", 31)}


async def run(session: Session, flags: Values) -> int:
    """Look at everything; the exit status is 1 where something is broken."""
    from karmada.explain.check.collection import everything

    if flags.output not in ("", "json"):
        raise CommandError("--output is json")
    hub = session.hub(flags)
    used = {"your certificate": hub.target.identity.certificate, "the control plane's authority": hub.target.authority}
    certificates = {what: material.read() for what, material in used.items() if material}
    with Waiting(session, "looking at the control plane and its members", after=1.0):
        found = await everything(hub.client, session.members(flags), certificates, flags.namespace)
    broken = any(finding.state == "broken" for finding in found)
    if flags.output == "json":
        import orjson

        data = {"ok": not broken, "findings": [dataclasses.asdict(finding) for finding in found]}
        session.print(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
        return 1 if broken else 0
    width = max(len(finding.what) for finding in found)
    for finding in found:
        mark, colour = _MARKS[finding.state]
        shown = f"\033[{colour}m{mark}\033[0m" if session.colours else mark
        first, *rest = wrapped(finding.said, session.columns, width + 4)
        session.print(f"{shown} {finding.what:<{width}}  {first}")
        for line in rest:
            session.print(f"  {'':<{width}}  {line}")
        for index, line in enumerate(wrapped(finding.remedy, session.columns, width + 6) if finding.remedy else ()):
            session.print(f"  {'':<{width}}  {' ' if index else '→'} {line}")
    return 1 if broken else 0


async def network(session: Session, flags: Values) -> int:
    """Say which members reach each other's pods; the exit status is 1 where some do not."""
    from karmada.explain.check.network import reaches

    if flags.output not in ("", "json"):
        raise CommandError("--output is json")
    if len(flags.arguments) not in (0, 2) or len(set(flags.arguments)) != len(flags.arguments):
        raise CommandError("name two clusters, or none for all of them: karmadactl check network member1 member2")
    hub = session.hub(flags)
    known = await cluster_names(hub)
    for name in flags.arguments:
        check_known(name, known)
    probe = None
    if flags.probe:
        from karmada.cli.probing import Prober

        probe = Prober(session, flags, flags.namespace or hub.target.namespace)
    with Waiting(session, "looking at the networks of members", after=1.0):
        found = await reaches(hub.client, session.members(flags), flags.arguments, probe)
    broken = any(each.status == "False" for each in found)
    if flags.output == "json":
        import orjson

        data = {"ok": not broken, "pairs": [each._asdict() for each in found]}
        session.print(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())
    elif found:
        rows = [["FROM", "TO", "REACHABLE", "WHY"]]
        rows += [[each.consumer, each.provider, each.status, each.message] for each in found]
        session.out.write(aligned(rows))
    else:
        session.print("there are no two clusters")
    return 1 if broken else 0


NETWORK = Command(
    "check network",
    "[CLUSTER CLUSTER]",
    "Say which members have a route to each other's pods.\n\n"
    "Clusters declare it: those that name a common network in their annotation network.karmada.io/networks have a\n"
    "route, unless their pod CIDRs overlap (network.karmada.io/pod-cidrs, else those of their nodes). What is not\n"
    "declared is Unknown. With --probe, a connection is tried as well: from a pod that runs, by its curl, nc or wget,\n"
    "to a ready endpoint. Exits with 1 if a member does not reach another.",
    network,
    (
        *common.CONNECTION,
        Flag("namespace", "", "Namespace whose pods and endpoints are used to probe.", "n"),
        Flag("probe", False, "Try connections, which runs a command in a container of each member."),
        Flag("output", "", "json.", "o"),
    ),
    examples="karmadactl check network\nkarmadactl check network member1 member2 --probe",
    takes_members=True,
)

COMMAND = Command(
    "check",
    "",
    "Find what is wrong with a control plane and say how to mend it.\n\n"
    "Looks at connectivity, certificates, clocks, leaders, clusters and the way to them, aggregated APIs, webhooks,\n"
    "deletions that are stuck, and resources that are not where they should be. Exits with 1 if something is broken.",
    run,
    (
        *common.CONNECTION,
        Flag("namespace", "karmada-system", "Namespace of the components.", "n"),
        Flag("output", "", "json.", "o"),
    ),
    (NETWORK,),
    examples="karmadactl check\nkarmadactl check network",
)
