"""karmada-search as a program: search.karmada.io on a storage of its own, beside any conformant API server."""

import sys
from collections.abc import Sequence
from pathlib import Path

from karmada.api import yaml
from karmada.apiserver.groupserver import GroupServer
from karmada.apiserver.groupserver.flags import add_serving, add_storage, storage_of
from karmada.apiserver.groupserver.program import control_plane_of, reading_flags, serve
from karmada.apiserver.groupserver.trust import serving_of, trust_of
from karmada.machinery import logging as logs
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL
from karmada.machinery.flags import FlagParser, add_accepted, add_common
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.process import run
from karmada.membership.access import SecretAccess
from karmada.membership.component_roles import search_in_members
from karmada.membership.connections import PushMembers
from karmada.membership.every_member import SecretOrTunnel, by_proxy
from karmada.search.api import SearchApi, Surroundings
from karmada.search.controller import COMPONENT
from karmada.standalone.search_hub import PassedOn

_ACCEPTED = ("disable-proxy", "disable-search")


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until stopped; the exit code."""
    flags = parser().parse(argv)
    if flags.print_member_rights:
        sys.stdout.write("---\n".join(yaml.dump(tree) for tree in search_in_members()))
        return 0
    logs.setup(flags.verbosity, logs.Format(flags.logging_format))
    with reading_flags():
        target = control_plane_of(flags)
        storage = storage_of(flags, "resource registries")

    async def work() -> None:
        hub = Client(HttpTransport(target, agent=COMPONENT), field_manager=COMPONENT)
        trust = await trust_of(flags, hub)
        serving = serving_of(flags)
        folder = flags.cert_dir if serving is None else None
        api = SearchApi(REAL, flags.cache_file)
        members = PushMembers(SecretOrTunnel(SecretAccess(hub, agent=COMPONENT), by_proxy(target, COMPONENT)), REAL)
        passed_on = PassedOn(hub, target)
        try:
            async with GroupServer(
                [api.local], hub, trust, name=COMPONENT, storage=storage, folder=folder, serving=serving
            ) as server:
                registries = Client(server.direct(), field_manager=COMPONENT)
                around = Surroundings(
                    hub,
                    registries,
                    members,
                    passed_on.to_cluster,
                    passed_on.to_control_plane,
                    server.authorizer,
                )
                api.start(around, InformerFactory(hub, server.supervisor), server.supervisor)
                await serve(server, flags)
        finally:
            await members.close()
            await hub.close()

    return run(work)


def parser() -> FlagParser:
    """The flags of search."""
    made = FlagParser(COMPONENT, "Serves the objects of all members as one API.")
    add_common(made, "0")
    add_storage(made)
    add_serving(made)
    add = made.add_argument
    add("--cache-file", type=Path, help="Keeps what is cached over a restart; nothing is kept if absent.")
    add("--print-member-rights", action="store_true", help="Print what lets search read members by their tunnels.")
    add_accepted(made, _ACCEPTED)
    return made
