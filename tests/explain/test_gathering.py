"""Explanations need clients only: no command line, no flags, no session."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from tests.cli.samples import SHOP

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.feature_gates import DEFAULTS, parse
from karmada.apiserver.auth.model import UserInfo
from karmada.apiserver.server import ApiServer
from karmada.controllers.taint_manager import TaintManagerOptions
from karmada.explain.check.collection import everything
from karmada.explain.errors import NoSuchKind, NothingToPlace, UnknownCluster
from karmada.explain.members import Members
from karmada.explain.simulate import world as worlds
from karmada.explain.simulate.gathering import all_subjects, subjects
from karmada.explain.simulate.outcome import outcome
from karmada.explain.simulate.terms import ASSUMED, RUNNING, Terms, running
from karmada.explain.tree import Node, tree
from karmada.explain.why.chain import chain
from karmada.explain.why.facts import Facts, read
from karmada.explain.why.links import first_broken
from karmada.machinery.client import Client
from karmada.machinery.errors import Forbidden, NotFound
from karmada.machinery.options import Options
from karmada.scheduler.core.snapshot import Snapshot
from karmada.standalone.control_plane import ControlPlane, ControlPlaneOptions
from karmada.testing.federation import Federation, manifests

PATIENCE = 30.0


def members(world: Federation, patience: float = PATIENCE) -> Members:
    return Members(lambda name: world.members[name].client, patience)


async def facts_of(world: Federation, who: Members, name: str = "shop") -> Facts:
    kind = await world.hub.mapper.of_kind("apps/v1", "Deployment")
    return await read(world.hub, who, kind, "default", name)


def kinds(node: Node) -> list[str]:
    return [node.kind, *(kind for child in node.children for kind in kinds(child))]


async def test_a_federation_is_explained_with_clients_alone(federation: type[Federation]) -> None:
    async with federation(members=2) as world:
        await world.apply(SHOP)

        async def settled() -> Facts:
            found = await facts_of(world, members(world))
            assert first_broken(chain(found)) is None
            return found

        found = await world.eventually(settled)
        assert found.template is not None
        assert kinds(tree(found, found.template, 0.0)).count("Pod") == 3

        silent = Members(lambda name: _Silent() if name == "member2" else world.members[name].client, 0.5)
        broken = first_broken(chain(await facts_of(world, silent)))
        assert broken is not None
        assert (broken.name, broken.text.startswith("it cannot be asked: no answer within 0.5 s")) == (
            "member member2",
            True,
        )

        states = {one.what: one.state for one in await everything(world.hub, members(world), {}, "karmada-system")}
        assert states["control plane"] == states["cluster member1"] == states["proxy to member2"] == "ok"

        clusters = worlds.of((await world.hub.of(Cluster).list()).items)
        left = list(worlds.without(clusters, ["member1"]).values())
        everybody = {one.name: one for one in await all_subjects(world.hub, "default", None)}
        assert outcome(everybody["Deployment default/shop"], left, Snapshot(left), Terms()).after == {"member2": 3}
        with pytest.raises(UnknownCluster, match="there is no cluster member9"):
            worlds.tainted(clusters, [("member9", {"key": "a", "effect": "NoSchedule"})])
        with pytest.raises(NothingToPlace):
            await subjects(world.hub, [], [], "default", None, DEFAULTS)
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        with pytest.raises(NoSuchKind, match='no matches for kind "Widget" in version'):
            await subjects(world.hub, [widget], [], "default", None, DEFAULTS)


async def test_a_simulation_runs_under_the_gates_and_flags_of_the_control_plane() -> None:
    chosen = ControlPlaneOptions(gates=parse("Failover=true"), options=Options(TaintManagerOptions(enabled=True)))
    async with ControlPlane(chosen) as plane:
        terms = await running(plane.client)
        assert (terms.source, terms.evicts) == (RUNNING, True)
        assert str(terms) == "Feature gates (as the control plane runs): Failover=true. NoExecute taints evict."
        stranger = Client(plane.server.direct(UserInfo("stranger", ("system:authenticated",))))
        with pytest.raises(Forbidden):
            await stranger.transport.raw("GET", "/configuration")
        with pytest.raises(NotFound):
            await plane.client.transport.raw("GET", "/configuration/more")
        assert (await running(stranger)).source == ASSUMED


async def test_who_may_only_read_simulates_files_as_they_are(federation: type[Federation]) -> None:
    async with federation(members=1) as world:
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}
        group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"}
        of = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "reading"}}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reading"}
        await world.apply(of | {"kind": "ClusterRole", "rules": [rule]})
        await world.apply(of | {"kind": "ClusterRoleBinding", "roleRef": role, "subjects": [group]})
        reader = Client(world.plane.server.direct(UserInfo("reader", ("system:authenticated", "readers"))))
        found = await subjects(reader, list(manifests(SHOP)), [], "default", None, DEFAULTS)
        (shop,) = (one for one in found if one.name == "Deployment default/shop")
        assert shop.wanted is not None


async def test_gates_are_assumed_where_nobody_publishes_them(apiserver: type[ApiServer]) -> None:
    async with apiserver() as server:
        terms = await running(Client(server.direct()))
    assert (terms.source, terms.evicts, terms.gates) == (ASSUMED, False, DEFAULTS)
    changed = terms.changed(parse("Failover=true"), True)
    assert (changed.evicts, changed.source) == (True, f"{ASSUMED}, changed by flags")


class _Silent(Client):
    """A member that takes requests and never answers."""

    def __init__(self) -> None:
        super().__init__(self)  # type: ignore[arg-type]

    async def send(self, request: Any) -> bytes:
        await asyncio.Event().wait()
        return b""


def test_commands_that_explain_load_nothing_of_it_before_they_run() -> None:
    program = (
        "import sys\n"
        "from karmada.cli.commands import check, simulate, tree, why\n"
        "print([name for name in sys.modules if name.startswith(('karmada.explain', 'karmada.scheduler'))])"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert output == "[]\n"
