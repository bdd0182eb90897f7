"""`karmadactl api-versions`."""

import orjson

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.flags import Values
from karmada.cli.reading import scoped
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> None:
    """List groups with their versions."""
    transport = (await scoped(session, flags)).transport
    groups = orjson.loads(await transport.raw("GET", "/apis")).get("groups") or ()
    found = [version["groupVersion"] for group in groups for version in group["versions"]]
    found += orjson.loads(await transport.raw("GET", "/api")).get("versions") or ()
    for version in sorted(found):
        session.print(version)


COMMAND = Command(
    "api-versions",
    "",
    'List the API versions a server has, as "group/version".',
    run,
    (*common.CONNECTION, common.operation_scope("karmada", "members"), common.cluster_flag()),
    examples="karmadactl api-versions\nkarmadactl api-versions -s members --cluster=member1",
)
