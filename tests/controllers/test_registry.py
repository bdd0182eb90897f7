"""Which controllers run under which selection, gates and options."""

import pytest
from tests.controllers.plane import OneMember, on_a_plane, server
from tests.controllers.test_endpointslice_dispatch import gate

from karmada.api.feature_gates import DEFAULTS
from karmada.controllers.eviction_storm import EvictionStorm, StormOptions
from karmada.controllers.registry import CONTROLLERS, Shared
from karmada.controllers.selection import Selection, parse_selection
from karmada.controllers.taint_manager import TaintManagerOptions
from karmada.machinery.controller import Controller
from karmada.machinery.options import Options
from karmada.machinery.sharding.ownership import Ownership

NAMES = [registered.name for registered in CONTROLLERS]
ALWAYS = {"resource-detector", "evictionStorm", "taintManager", "dependencies-distributor"}
GATED = {
    "taintManager": "Failover",
    "clustertaintpolicy": "Failover",
    "endpointsliceCollect": "MultiClusterService",
    "failback": "ControlledMoves",
    "federatedResourceQuotaEnforcement": "FederatedQuotaEnforcement",
}


RELEASING = {"PropagateDeps", "MultiClusterService"}
"""Gates whose controllers run without them, to let go of what they held."""


def running(*items, **gates):
    """The controllers that are to run."""
    everything = dict.fromkeys([*GATED.values(), *RELEASING], True) | gates
    chosen = Selection(items or ("*",))
    return {each.name for each in CONTROLLERS if each.wanted(chosen, DEFAULTS.with_overrides(everything))}


def test_all_but_two_run_by_default_and_some_whatever_is_selected():
    assert set(NAMES) - running() == {"deploymentReplicasSyncer", "hpaScaleTargetMarker"}
    assert running("*", "hpaScaleTargetMarker") == running() | {"hpaScaleTargetMarker"}
    assert running("binding") == ALWAYS | {"binding"}
    assert running("*", *(f"-{name}" for name in NAMES)) == running() & {*ALWAYS, *running("-remedy", "-binding")}


@pytest.mark.parametrize("gate", sorted({*GATED.values(), *RELEASING}))
def test_a_controller_needs_its_gate(gate):
    assert running() - running(**{gate: False}) == {name for name, needed in GATED.items() if needed == gate}


@pytest.mark.parametrize(
    ("items", "by_default", "expected"),
    [
        (("*",), True, True),
        (("*",), False, False),
        (("*", "a"), False, True),
        (("a",), False, True),
        (("b",), True, False),
        (("-a", "*"), True, False),
        (("*", "-a"), True, False),
        (("a", "-a"), True, True),
        (("-a", "a"), True, False),
        ((), True, False),
    ],
)
def test_the_first_item_that_decides_wins(items, by_default, expected):
    assert Selection(items).enabled("a", by_default) is expected


def test_a_selection_is_read_and_a_wrong_name_is_refused_with_the_nearest():
    assert parse_selection(" *, -remedy,,binding ", NAMES) == Selection(("*", "-remedy", "binding"))
    assert Selection().enabled("a")
    with pytest.raises(ValueError, match=r'there is no controller "remedi": did you mean remedy\?'):
        parse_selection("*,-remedi", NAMES)
    with pytest.raises(ValueError, match='there is no controller "": there are one, two'):
        parse_selection("-", ["one", "two"])
    with pytest.raises(ValueError, match='there is no controller "xyzzy": there are one, two'):
        parse_selection("xyzzy", ["one", "two"])


def parts(plane, members, *options):
    """The tasks that each controller consists of, all of them built, and what they share."""
    shared = Shared(plane.context, members, Selection(), Options(*options))
    return {each.name: dict(each.build(shared)) for each in CONTROLLERS if each.build is not None}, shared


def test_every_controller_is_built_under_its_name():
    async def test(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            gate(plane)
            built, shared = parts(plane, members, TaintManagerOptions(enabled=True), StormOptions(threshold=0.5))
            assert all(name in built[name] or name == "dependencies-distributor" for name in built)
            assert all(
                isinstance(part, Controller) or (name, task) == ("resource-detector", "templates")
                for name, tasks in built.items()
                for task, part in tasks.items()
            )
            assert {name: set(tasks) - {name} for name, tasks in built.items() if set(tasks) != {name}} == {
                "resource-detector": {"templates", "resource-detector policies"},
                "cluster": {"cluster monitor"},
                "serviceExport": {"serviceExport status"},
                "endpointsliceDispatch": {"endpointsliceDispatch leftovers"},
            }
            assert shared.readable is members
            assert isinstance(shared.storm, EvictionStorm)
            assert shared.status_reporter is not None
            await members.connection.close()

    on_a_plane(test)


def test_what_is_off_by_options_is_not_built():
    async def test(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            built, _ = parts(plane, members, StormOptions(threshold=1))
            assert (built["taintManager"], built["evictionStorm"]) == ({}, {})
            assert set(built["endpointsliceDispatch"]) == {"endpointsliceDispatch"}
            shared = Shared(plane.context, members, Selection(("*", "-workStatus")), Options(), readable=members)
            assert shared.status_reporter is None
            await members.connection.close()

    on_a_plane(test)


class Noting(Ownership):
    """Shards that note who forgets what it knows of a lost one."""

    def __init__(self):
        super().__init__(2)
        self.forgetful = []

    def on_lost(self, call):
        self.forgetful.append(call)


def test_what_is_known_of_clusters_is_forgotten_with_their_shard():
    async def test(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            shared = Shared(plane.context, members, Selection(), Options())
            shared.ownership = Noting()
            [status] = [each for each in CONTROLLERS if each.name == "clusterStatus"]
            assert [name for name, _ in status.build(shared)] == ["clusterStatus"]
            assert len(shared.ownership.forgetful) == 1
            await members.connection.close()

    on_a_plane(test)
