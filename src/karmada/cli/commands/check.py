"""`karmadactl check`."""

import dataclasses

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.wrapping import wrapped
from karmada.cli.progress import Waiting
from karmada.cli.session import Session

_MARKS = {"ok": ("✓", 32), "warning": ("!", 33), "broken": ("✗", 31)}


async def run(session: Session, flags: Values) -> int:
    """Look at everything; the exit status is 1 where something is broken."""
    from karmada.explain.check.look import everything

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
    examples="karmadactl check",
)
