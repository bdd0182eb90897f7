"""Which controllers a process starts: all that are wanted, or the divided and the undivided ones apart."""

from collections.abc import Callable, Hashable

from tests.controllers.plane import OneMember, on_a_plane, server

from karmada.controllers.bindings import BindingKey
from karmada.controllers.detector.policies import PolicyKey
from karmada.controllers.manager import ControllerManager
from karmada.controllers.registry import CONTROLLERS, TEMPLATES
from karmada.controllers.selection import Selection
from karmada.machinery.informers.cache import Key
from karmada.machinery.options import Options
from karmada.machinery.sharding.ownership import Ownership
from karmada.machinery.supervisor import Supervisor

DIVIDED = {"binding", "bindingStatus", "clusterStatus", "execution", "workStatus"}
QUEUELESS = {TEMPLATES, "multiclusterservice", "endpointsliceDispatch"}
"""Parts that are no controllers; two become one once there is something to release of a gate that is off."""


def managing(test, *given):
    """Run a test with a manager and the supervisor that its controllers run on."""

    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            async with Supervisor(plane.clock) as supervisor:
                await test(ControllerManager(plane.context, members, *given), supervisor, plane)
            await members.connection.close()

    on_a_plane(scenario)


def optional(plane, selection=None):
    """The controllers that are to run, of those that a selection can turn off."""
    selection, gates = selection or Selection(), plane.context.gates
    return {one.name for one in CONTROLLERS if one.optional and one.wanted(selection, gates)}


def test_every_wanted_controller_runs_and_is_returned():
    async def scenario(manager, supervisor, plane):
        started = manager.start(supervisor)
        running = set(supervisor.running)
        names = {one.name for one in CONTROLLERS if one.optional}
        assert running & names == optional(plane)
        assert TEMPLATES in running
        assert len(started) == len(running - QUEUELESS)
        await plane.clock.sleep(5)
        assert all(not controller.defects for controller in started)

    managing(scenario)


def test_what_is_not_selected_does_not_run():
    selection = Selection(("*", "-binding"))

    async def scenario(manager, supervisor, plane):
        manager.start(supervisor)
        running = set(supervisor.running)
        assert optional(plane, selection) <= running
        assert "binding" not in running

    managing(scenario, selection, Options())


def test_divided_controllers_work_on_keys_of_their_shards_only_and_the_others_start_apart():
    async def scenario(manager, supervisor, plane):
        divided = manager.start_divided(supervisor, Ownership(1))
        assert set(supervisor.running) == DIVIDED | {TEMPLATES}
        assert len(divided) == len(DIVIDED)
        binding = next(one for one in divided if "binding" in one.name.lower())
        assert not binding.queue.admits(BindingKey("default", "web")), "no shard is held"
        async with Supervisor(plane.clock) as leading:
            undivided = manager.start_undivided(leading)
            running = set(leading.running)
            assert optional(plane) - DIVIDED <= running
            assert not running & (DIVIDED | {TEMPLATES})
            assert len(undivided) == len(running - QUEUELESS)

    managing(scenario)


OF_TENANTS: dict[str, Callable[[str, str], Hashable]] = {
    "resource-detector-policies": PolicyKey,
    "resource-binding-graceful-eviction-controller": BindingKey,
    "resource-binding-application-failover-controller": BindingKey,
    "failback-controller": BindingKey,
    "federated-resource-quota-status-controller": Key,
    "federated-resource-quota-sync-controller": Key,
    "service-export-status-controller": Key,
    "service-import-controller": Key,
}


def test_objects_of_one_namespace_do_not_wait_for_the_many_of_another():
    async def scenario(manager, supervisor, plane):
        started = {one.name: one for one in manager.start(supervisor)}
        for name, key in OF_TENANTS.items():
            queue = started[name].queue
            for number in range(50):
                queue.add(key("crowded", f"o{number}"))
            queue.add(key("other", "one"))
            assert key("other", "one") in [await queue.get() for _ in range(2)], name

    managing(scenario)
