"""After a restart nobody looks at what is as it was left, and whatever changed meanwhile is found and repaired."""

import re
from functools import partial

import pytest
from tests.controllers.remembering import Remembered

from karmada.controllers.bindings import BindingKey
from karmada.controllers.resumption.resumption import BUSY, LONGEST
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import GroupVersionResource
from karmada.machinery.workqueue.queue import Priority
from karmada.testing.scenarios import federation
from karmada.testing.scenarios.federation import (
    BINDINGS,
    CLUSTERS,
    DEPLOYMENTS,
    MEMBERS,
    POLICIES,
    SERVERS,
    WORKS,
    deployment,
    install,
    run_manager,
    run_scheduler,
)
from karmada.testing.world import HUB, Component, explore

OVERRIDES = GroupVersionResource("policy.karmada.io", "v1alpha1", "overridepolicies")
SCRIPTS = GroupVersionResource("config.karmada.io", "v1alpha1", "resourceinterpretercustomizations")
WEBHOOKS = GroupVersionResource("config.karmada.io", "v1alpha1", "resourceinterpreterwebhookconfigurations")
WEB, SHOP, LATE = (BindingKey("default", f"{name}-deployment") for name in ("web", "shop", "late"))
ACTING = {
    "resource-detector",
    "binding-controller",
    "resource-binding-status-controller",
    "execution-controller",
    "work-status-controller",
}
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SPACE = "karmada-es-member1"


class RestartScenario:
    """A simulated federation with two propagated Deployments, whose controller-manager stops and restarts."""

    def __init__(self, world):
        self.world = world
        self.client = world.client()
        self.records = Remembered()
        self.controllers = {}
        self._managers = 0

    async def begin(self):
        await install(self.world)
        self.world.start(Component("scheduler", run_scheduler))
        await self.start()
        for name in ("web", "shop"):
            await self.client.resource(DEPLOYMENTS).create(deployment(name, 1))
        await self.wait()

    async def start(self):
        """A controller-manager that finds the records of the one before."""
        self.records = Remembered(self.records.known)
        self._managers += 1
        run = partial(run_manager, records=self.records, started=self._started)
        self.world.start(Component(f"manager {self._managers}", run))

    def end(self):
        for server in (HUB, *MEMBERS):
            self.world.cut(f"manager {self._managers}", server)

    async def wait(self):
        await self.world.clock.sleep(60)

    def _started(self, controllers):
        self.controllers = {controller.name: controller for controller in controllers}

    def looked(self):
        """How often controllers that act on bindings looked at anything."""
        return {name: count for name in ACTING if (count := sum(self.controllers[name].results.values()))}

    def member(self):
        return self.world.client(server="member1").resource(DEPLOYMENTS)

    def copy(self, name="web"):
        return self.world.object(DEPLOYMENTS, name, "default", "member1")

    def work(self):
        return next(
            tree
            for tree in self.world.objects(WORKS, SPACE)
            if tree["spec"]["workload"]["manifests"][0]["metadata"]["name"] == "web"
        )


def run_scenario(steps):
    """Runs a scenario in a simulated federation; a step that fails, or is never reached, fails the test."""
    ended = []

    async def run(world):
        scenario = RestartScenario(world)
        await scenario.begin()
        await steps(scenario)
        ended.append(True)

    explore(run, 1, SERVERS)
    assert ended


def test_nobody_looks_at_what_is_as_it_was_left():
    async def steps(scenario):
        assert set(scenario.records.known) == {WEB, SHOP}
        assert scenario.looked().keys() == ACTING
        scenario.end()
        await scenario.start()
        await scenario.wait()
        others = scenario.looked().pop("resource-detector")
        assert scenario.looked() == {"resource-detector": others}
        assert set(scenario.records.known) == {WEB, SHOP}
        scenario.end()
        scenario.records = Remembered()
        await scenario.start()
        await scenario.wait()
        assert scenario.looked().keys() == ACTING
        assert scenario.looked()["resource-detector"] == others + 2

    run_scenario(steps)


def test_records_wait_for_busy_controllers_but_not_for_long():
    async def steps(scenario):
        queue = scenario.controllers["execution-controller"].queue
        queue.hold()
        for number in range(BUSY):
            queue.add(Key(SPACE, f"gone-{number}"), Priority.INITIAL)
        await scenario.client.resource(DEPLOYMENTS).create(deployment("late", 1))
        await scenario.world.clock.sleep(LONGEST / 2)
        assert scenario.copy("late")
        assert LATE not in scenario.records.known
        await scenario.world.clock.sleep(2 * LONGEST)
        assert LATE in scenario.records.known

    run_scenario(steps)


def test_what_happens_after_the_restart_is_noticed_as_before_it():
    async def steps(scenario):
        scenario.end()
        await scenario.start()
        await scenario.wait()
        await scenario.member().patch("web", {"spec": {"replicas": 7}}, "default")
        await scenario.member().patch("shop", {"status": {"replicas": 1}}, "default", subresource="status")
        await scenario.wait()
        assert scenario.copy()["spec"]["replicas"] == 1
        binding = scenario.world.object(BINDINGS, "shop-deployment", "default")
        reported = {item["clusterName"]: item.get("status") or {} for item in binding["status"]["aggregatedStatus"]}
        assert reported["member1"].get("replicas") == 1
        await scenario.client.resource(DEPLOYMENTS).patch("web", {"spec": {"replicas": 3}}, "default")
        await scenario.wait()
        assert scenario.copy()["spec"]["replicas"] == 3
        assert set(scenario.records.known) == {WEB, SHOP}

    run_scenario(steps)


async def drifted(scenario):
    await scenario.member().patch("web", {"spec": {"replicas": 7}}, "default")


async def relabelled(scenario):
    await scenario.member().patch("web", {"metadata": {"labels": {"karmada.io/managed": None}}}, "default")


async def lost_in_the_member(scenario):
    await scenario.member().delete("web", "default")


async def lost(scenario):
    works = scenario.client.resource(WORKS)
    name = scenario.work()["metadata"]["name"]
    await works.patch(name, {"metadata": {"finalizers": None}}, SPACE)
    await works.delete(name, SPACE)


async def edited_by_hand(scenario):
    work = scenario.work()
    manifest = work["spec"]["workload"]["manifests"][0]
    manifest["spec"]["replicas"] = 5
    patch = {"spec": {"workload": {"manifests": [manifest]}}}
    await scenario.client.resource(WORKS).patch(work["metadata"]["name"], patch, SPACE)


async def edited(scenario):
    await scenario.client.resource(DEPLOYMENTS).patch("web", {"spec": {"minReadySeconds": 5}}, "default")


async def moved(scenario):
    placement = {"clusterAffinity": {"clusterNames": ["member2"]}}
    await scenario.client.resource(POLICIES).patch("all", {"spec": {"placement": placement}}, "default")


async def overridden(scenario):
    rule = {"overriders": {"labelsOverrider": [{"operator": "add", "value": {"tier": "gold"}}]}}
    spec = {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "overrideRules": [rule]}
    await scenario.client.resource(OVERRIDES).create({"metadata": {"name": "o", "namespace": "default"}, "spec": spec})


async def reports_lost(scenario):
    await scenario.client.resource(WORKS).patch(
        scenario.work()["metadata"]["name"], {"status": {"manifestStatuses": None}}, SPACE, subresource="status"
    )


async def binding_half_written(scenario):
    status = {"aggregatedStatus": None, "conditions": None}
    await scenario.client.resource(BINDINGS).patch(WEB.name, {"status": status}, "default", subresource="status")


async def claim_lost(scenario):
    gone = {"labels": {"propagationpolicy.karmada.io/permanent-id": None}}
    await scenario.client.resource(BINDINGS).patch(WEB.name, {"metadata": gone}, "default")


async def cluster_labelled(scenario):
    await scenario.client.resource(CLUSTERS).patch("member1", {"metadata": {"labels": {"tier": "gold"}}})


async def script_added(scenario):
    script = {"luaScript": "function GetReplicas(obj) return 1, nil end"}
    spec = {"target": {"apiVersion": "apps/v1", "kind": "Deployment"}, "customizations": {"replicaResource": script}}
    await scenario.client.resource(SCRIPTS).create({"metadata": {"name": "s"}, "spec": spec})


def shown(scenario):
    """What a restart has to bring back: all that controllers write, but for versions, times and identities."""
    found = {}
    for server in (HUB, "member1", "member2"):
        for type_ in (DEPLOYMENTS, BINDINGS, WORKS) if server == HUB else (DEPLOYMENTS,):
            for tree in scenario.world.objects(type_, server=server):
                metadata = tree["metadata"]
                status = tree.get("status") or {}
                conditions = [(one["type"], one["status"]) for one in status.get("conditions") or []]
                reports = _stable(status.get("aggregatedStatus") or status.get("manifestStatuses"))
                said = (metadata.get("labels"), metadata.get("finalizers"), sorted(conditions), reports)
                where = (server, type_.resource, metadata["namespace"], metadata["name"])
                found[where] = UUID.sub("", repr((_stable(tree.get("spec")), *said)))
    return found


def _stable(node):
    """A spec or a report without versions, which differ from one way to the same end to another."""
    if isinstance(node, dict):
        left_out = ("resourceVersion", "generation", "resourcetemplate.karmada.io/generation")
        return {key: _stable(part) for key, part in node.items() if key not in left_out}
    return [_stable(part) for part in node] if isinstance(node, list) else node


HAPPENED = [
    drifted,
    relabelled,
    lost_in_the_member,
    lost,
    edited_by_hand,
    edited,
    moved,
    overridden,
    reports_lost,
    binding_half_written,
    claim_lost,
    cluster_labelled,
    script_added,
]


@pytest.mark.parametrize("happened", HAPPENED, ids=lambda happened: happened.__name__)
def test_what_changed_meanwhile_is_repaired_as_by_a_control_plane_that_remembers_nothing(happened):
    ends = []

    async def steps(scenario, remembers):
        scenario.end()
        await happened(scenario)
        if not remembers:
            scenario.records = Remembered()
        await scenario.start()
        await scenario.wait()
        assert scenario.looked().keys() - {"resource-detector"}, "it was noticed"
        ends.append(shown(scenario))

    run_scenario(partial(steps, remembers=True))
    run_scenario(partial(steps, remembers=False))
    assert ends[0] == ends[1]


def test_a_webhook_may_answer_otherwise_from_one_time_to_the_next():
    async def steps(scenario):
        hook = {
            "name": "h.example.com",
            "rules": [{"operations": ["*"], "apiGroups": ["x"], "apiVersions": ["v1"], "kinds": ["X"]}],
            "clientConfig": {"url": "https://localhost/none", "caBundle": ""},
            "interpreterContextVersions": ["v1alpha1"],
        }
        await scenario.client.resource(WEBHOOKS).create({"metadata": {"name": "w"}, "webhooks": [hook]})
        await scenario.wait()
        assert scenario.records.known == {}

    run_scenario(steps)


def test_records_that_cannot_be_read_or_written_cost_a_look_at_everything_and_nothing_else():
    class Broken(Remembered):
        async def load(self):
            raise OSError("disk I/O error")

        async def write(self, changed):
            raise OSError("disk I/O error")

    async def steps(scenario):
        scenario.end()
        scenario.records = broken = Broken()
        run = partial(run_manager, records=broken, started=scenario._started)
        scenario.world.start(Component("another", run))
        await scenario.wait()
        assert scenario.looked().keys() == ACTING

    run_scenario(steps)


@pytest.mark.parametrize("seed", range(4))
def test_members_hold_what_templates_say_although_the_manager_crashes_and_looks_at_little_when_it_is_back(seed):
    explore(partial(federation.scenario, records=Remembered()), seed, SERVERS)
