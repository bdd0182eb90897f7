"""What a member answers, and what its status says then."""

import asyncio
from types import SimpleNamespace

import pytest
from tests.controllers.plane import CLUSTERS, CRDS, OneMember, on_a_plane, server
from tests.controllers.recorded import recorded

from karmada.apiserver.server import ADMIN
from karmada.controllers.cluster_status import ClusterStatusController, StatusOptions
from karmada.machinery.errors import BadAnswer, NotFound, ServerError, Timeout, Unavailable
from karmada.machinery.sharding.ownership import Ownership, Tenure
from karmada.machinery.transport import GroupVersionResource
from karmada.membership.connections import connection_of
from karmada.membership.members import MemberUnavailable

NODES = GroupVersionResource("", "v1", "nodes")
AT_ONCE = StatusOptions(success_threshold=0.0, failure_threshold=0.0)
FINALIZER = "karmada.io/cluster-controller"


class Answering:
    """A member's transport on which a test answers some paths, and on which loads of nodes may never end."""

    def __init__(self, inner):
        self._inner = inner
        self.answers = {}
        self.asked = []
        self.has_nodes = True

    async def raw(self, method, path, body=None, accept=""):
        self.asked.append(path)
        answer = self.answers.get(path)
        if isinstance(answer, Exception):
            raise answer
        if answer == "hangs":
            await asyncio.Event().wait()
        if isinstance(answer, bytes):
            return answer
        return await self._inner.raw(method, path, body, accept)

    async def send(self, request):
        if request.resource == NODES and not self.has_nodes:
            await asyncio.Event().wait()
        return await self._inner.send(request)

    def watch(self, request):
        if request.resource == NODES and not self.has_nodes:
            raise Unavailable("not now")
        return self._inner.watch(request)

    def __getattr__(self, name):
        return getattr(self._inner, name)


class Watched(OneMember):
    """One member that is asked on a transport of the test's, and whether it was forgotten."""

    def __init__(self, one, clock):
        super().__init__(one, clock)
        self.transport = Answering(one.direct(ADMIN))
        self.connection = connection_of("m1", self.transport, clock)
        self.unavailable = ""
        self.is_ours = True
        self.forgotten = []

    def concerns(self, cluster):
        return self.is_ours

    async def connect(self, cluster):
        if self.unavailable:
            raise MemberUnavailable(self.unavailable)
        return self.connection

    async def forget(self, name):
        self.forgotten.append(name)


def on_a_member(test, options=AT_ONCE):
    """Run a test on a control plane with one member."""

    async def scenario(plane):
        async with server(plane.clock) as one:
            members = Watched(one, plane.clock)
            controller = ClusterStatusController(plane.context, members, options)
            plane.start(controller.controller)
            await test(plane, members, controller)
            await members.connection.close()

    on_a_plane(scenario)


async def condition(plane, type_="Ready"):
    found = (await plane.client.resource(CLUSTERS).get("m1"))["status"].get("conditions") or ()
    return next(((c["status"], c["reason"], c["message"]) for c in found if c["type"] == type_), None)


READY = ("True", "ClusterReady", "cluster is healthy and ready to accept workloads")
NO_ANSWER = ("False", "ClusterNotReachable", "cluster is not reachable: no answer within 10 s")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({}, READY),
        ({"/readyz": NotFound("no such path")}, READY),
        ({"/readyz": NotFound("no such path"), "/healthz": ServerError("etcd")}, "ClusterNotReady"),
        ({"/readyz": ServerError("etcd")}, "ClusterNotReady"),
        ({"/readyz": Unavailable("refused")}, "ClusterNotReachable"),
        ({"/readyz": Timeout("late")}, "ClusterNotReachable"),
        ({"/readyz": "hangs"}, NO_ANSWER),
        ({"/healthz": ServerError("not asked")}, READY),
    ],
    ids=["well", "an old server", "an old and ill one", "ill", "away", "late", "silent", "no need for the old path"],
)
def test_readiness_is_what_the_health_endpoint_says(answers, expected):
    async def scenario(plane, members, _):
        members.transport.answers = answers
        await plane.cluster("m1", ready="Unknown")
        await plane.clock.sleep(15)
        found = await condition(plane)
        if isinstance(expected, tuple):
            assert found == expected
        else:
            assert found[:2] == ("False", expected)
            (error,) = [e for path, e in answers.items() if not isinstance(e, NotFound)]
            assert found[2].endswith(f": {error}")
        known = (await plane.client.resource(CLUSTERS).get("m1"))["status"]
        assert ("kubernetesVersion" in known) == (expected == READY)

    on_a_member(scenario)


def test_a_member_without_a_client_says_why_and_is_asked_again():
    async def scenario(plane, members, _):
        members.unavailable = "its secret is missing"
        await plane.cluster("m1")
        await plane.clock.sleep(1)
        text = "failed to get cluster client: its secret is missing"
        assert await condition(plane) == ("False", "StatusCollectionFailed", text)
        members.unavailable = ""
        await plane.clock.sleep(12)
        assert await condition(plane) == READY

    on_a_member(scenario)


def test_a_change_of_readiness_is_shown_once_it_has_lasted_and_what_was_known_stays():
    async def scenario(plane, members, _):
        await plane.cluster("m1")
        await plane.clock.sleep(1)
        known = (await plane.client.resource(CLUSTERS).get("m1"))["status"]["kubernetesVersion"]
        members.transport.answers = {"/readyz": Unavailable("refused")}
        await plane.clock.sleep(35)
        assert (await condition(plane))[0] == "True"
        await plane.clock.sleep(15)
        assert (await condition(plane))[0] == "False"
        members.transport.answers = {}
        await plane.clock.sleep(35)
        assert (await condition(plane))[0] == "False"
        assert (await plane.client.resource(CLUSTERS).get("m1"))["status"]["kubernetesVersion"] == known
        await plane.clock.sleep(15)
        assert await condition(plane) == READY

    on_a_member(scenario, StatusOptions())


def test_what_cannot_be_collected_keeps_its_last_value_and_an_event_says_why():
    async def scenario(plane, members, _):
        await plane.cluster("m1")
        await plane.clock.sleep(5)
        before = (await plane.client.resource(CLUSTERS).get("m1"))["status"]
        assert before["kubernetesVersion"]
        assert before["apiEnablements"]
        members.transport.answers = {"/version": ServerError("etcd")}
        await plane.clock.sleep(20)
        after = (await plane.client.resource(CLUSTERS).get("m1"))["status"]
        assert after == before
        ((type_, _, kind, text),) = await recorded(plane, "StatusCollectionFailed")
        assert (type_, kind, text) == ("Warning", "Cluster", "Failed to collect versions and APIs: etcd")

    on_a_member(scenario)


def test_a_member_whose_nodes_cannot_be_read_in_time_goes_without_their_sum():
    async def scenario(plane, members, _):
        members.transport.has_nodes = False
        await plane.cluster("m1")
        await plane.clock.sleep(25)
        status = (await plane.client.resource(CLUSTERS).get("m1"))["status"]
        assert status["kubernetesVersion"]
        assert "nodeSummary" not in status
        ((_, _, _, text),) = await recorded(plane, "StatusCollectionFailed")
        assert text.startswith("Failed to count nodes and pods: ")

    on_a_member(scenario)


@pytest.mark.parametrize("modeling", [True, False])
def test_nodes_are_counted_and_by_grades_if_wanted(modeling):
    async def scenario(plane, members, _):
        amounts = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
        node = {"metadata": {"name": "n"}, "status": {**amounts, "conditions": [{"type": "Ready", "status": "True"}]}}
        await members.client.resource(NODES).create(node)
        await members.client.resource(NODES).patch("n", node, subresource="status")
        await plane.cluster("m1")
        model = {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "9223372036854775807"}]}
        await plane.client.resource(CLUSTERS).patch("m1", {"spec": {"resourceModels": [model]}})
        await plane.clock.sleep(15)
        status = (await plane.client.resource(CLUSTERS).get("m1"))["status"]
        assert status["nodeSummary"]["totalNum"] == 1
        assert ("allocatableModelings" in status["resourceSummary"]) == modeling

    on_a_member(scenario, StatusOptions(success_threshold=0.0, failure_threshold=0.0, modeling=modeling))


def test_clusters_of_others_and_those_nobody_takes_care_of_yet_are_not_asked():
    async def scenario(plane, members, _):
        members.is_ours = False
        await plane.cluster("m1", ready="Unknown")
        await plane.clock.sleep(30)
        assert members.transport.asked == []
        members.is_ours = True
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": None}})
        await plane.client.resource(CLUSTERS).patch("m1", {"spec": {"region": "r"}})
        await plane.clock.sleep(30)
        assert members.transport.asked == []
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": [FINALIZER]}})
        await plane.clock.sleep(1)
        assert await condition(plane) == READY

    on_a_member(scenario)


def test_a_change_of_the_cluster_has_its_member_asked_at_once_and_a_status_does_not():
    async def scenario(plane, members, _):
        await plane.cluster("m1")
        await plane.clock.sleep(5)
        count = members.transport.asked.count("/readyz")
        await plane.condition("m1", "NetworkReady", "True")
        await plane.clock.sleep(1)
        assert members.transport.asked.count("/readyz") == count
        await plane.client.resource(CLUSTERS).patch("m1", {"spec": {"region": "r"}})
        await plane.clock.sleep(1)
        assert members.transport.asked.count("/readyz") == count + 1

    on_a_member(scenario)


def test_a_cluster_that_is_gone_is_forgotten_and_its_successor_is_shown_as_it_is():
    async def scenario(plane, members, _):
        await plane.cluster("m1")
        await plane.clock.sleep(5)
        members.transport.answers = {"/readyz": Unavailable("refused")}
        await plane.clock.sleep(15)
        await plane.client.resource(CLUSTERS).patch("m1", {"metadata": {"finalizers": None}})
        await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(1)
        assert members.forgotten == ["m1"]
        tree = {"metadata": {"name": "m1", "finalizers": [FINALIZER]}, "spec": {"syncMode": "Push"}}
        await plane.client.resource(CLUSTERS).create(tree)
        await plane.clock.sleep(1)
        assert (await condition(plane))[:2] == ("False", "ClusterNotReachable")

    on_a_member(scenario, StatusOptions())


def test_a_kind_that_karmada_brought_to_a_member_is_reported_without_waiting_for_the_next_look():
    async def scenario(plane, members, _):
        await plane.cluster("m1")
        await plane.clock.sleep(15)
        definition = (await plane.client.resource(CRDS).list()).items[0]
        marks = {"name": definition["metadata"]["name"], "labels": {"karmada.io/managed": "true"}}
        await members.client.resource(CRDS).create({"metadata": marks, "spec": definition["spec"]})
        await plane.clock.sleep(2)
        found = (await plane.client.resource(CLUSTERS).get("m1"))["status"]["apiEnablements"]
        kinds = {resource["kind"] for enabled in found for resource in enabled["resources"]}
        assert definition["spec"]["names"]["kind"] in kinds
        text = "collected complete APIEnablements from the cluster"
        assert await condition(plane, "CompleteAPIEnablements") == ("True", "Complete", text)

    on_a_member(scenario)


@pytest.mark.parametrize("undivided", [True, False], ids=["with the first shard", "without it"])
def test_the_clusters_of_a_shard_that_was_lost_are_forgotten(undivided):
    async def scenario(plane, members, controller):
        await plane.cluster("m1")
        await plane.clock.sleep(5)
        ownership = Ownership(2)
        if undivided:
            ownership.begin(Tenure(0, SimpleNamespace(identity="me", leads=True, exclusive=10.0)))
        await controller.lost(ownership, 1 - ownership.shard("m1"))
        assert members.forgotten == []
        await controller.lost(ownership, ownership.shard("m1"))
        assert members.forgotten == ([] if undivided else ["m1"])

    on_a_member(scenario)


def test_a_member_that_misbehaves_is_named_at_once_and_trusted_again_when_that_has_lasted():
    """Whatever the thresholds are, and though it is not its turn to be probed."""

    async def scenario(plane, members, _):
        await plane.cluster("m1")
        await plane.clock.sleep(65)
        asked = len(members.transport.asked)
        members.transport.answers = {"/apis": BadAnswer("a line without an end")}
        with pytest.raises(BadAnswer):
            await members.connection.client.transport.raw("GET", "/apis")
        members.transport.answers = {}
        await plane.clock.sleep(0.5)
        text = "cluster is cut off because it misbehaves: a line without an end"
        assert await condition(plane) == ("False", "ClusterMisbehaving", text)
        assert len(members.transport.asked) == asked + 1
        await plane.clock.sleep(35)
        assert (await condition(plane))[0] == "False"
        await plane.clock.sleep(25)
        assert await condition(plane) == READY

    on_a_member(scenario, StatusOptions(period=10.0, success_threshold=30.0, failure_threshold=30.0))


@pytest.mark.parametrize("path", ["/readyz", "/version"])
def test_a_member_that_gives_bad_answers_is_cut_off(path):
    async def scenario(plane, members, _):
        members.transport.answers = {path: BadAnswer("an answer without an end")}
        await plane.cluster("m1", ready="Unknown")
        await plane.clock.sleep(15)
        text = "cluster is cut off because it misbehaves: an answer without an end"
        assert await condition(plane) == ("False", "ClusterMisbehaving", text)

    on_a_member(scenario)
