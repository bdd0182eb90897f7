"""Whose pods are whose, of which revision, and which a node rejects."""

import orjson
from tests.simulator.conftest import template
from tests.simulator.test_other_workloads import job, stateful_set

from karmada.machinery.transport import GroupVersionResource
from karmada.simulator.workloads.kinds import CONTROLLER_REVISIONS, DAEMON_SETS, JOBS, PODS, STATEFUL_SETS

EVENTS = GroupVersionResource("", "v1", "events")


def test_the_revision_of_a_daemon_set_holds_its_template_with_fields_in_order(act):
    async def scene(actor):
        spec = {"selector": {"matchLabels": {"app": "log"}}, "template": template({"app": "log"})}
        meta = {"name": "log", "namespace": "default"}
        await actor.create(DAEMON_SETS, {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": spec})
        (revision,) = await actor.until(lambda: actor.items(CONTROLLER_REVISIONS))
        stored = (await actor.get(DAEMON_SETS, "log"))["spec"]["template"]
        expected = {"spec": {"template": {**stored, "$patch": "replace"}}}
        assert orjson.dumps(revision["data"]) == orjson.dumps(expected, option=orjson.OPT_SORT_KEYS)

    act(scene)


def test_the_pods_of_a_stateful_set_name_their_whole_revision(act):
    async def scene(actor):
        await actor.create(STATEFUL_SETS, stateful_set(1))
        (pod,) = await actor.until(actor.pods)
        status = await actor.until(lambda: actor.status(STATEFUL_SETS, "db"))
        assert pod["metadata"]["labels"]["controller-revision-hash"] == status["currentRevision"]
        assert status["currentRevision"] == status["updateRevision"]

    act(scene)


def test_a_job_adopts_a_pod_again_that_lost_its_owner_and_releases_one_that_lost_its_labels(act):
    async def scene(actor):
        await actor.create(JOBS, job(command=("sleep", "1000"), parallelism=1))
        (pod,) = await actor.until(actor.pods)
        name = pod["metadata"]["name"]

        async def is_owned():
            return bool((await actor.get(PODS, name))["metadata"].get("ownerReferences"))

        async def is_free():
            return not await is_owned()

        await actor.patch(PODS, name, {"metadata": {"ownerReferences": None}})
        await actor.until(is_owned)
        await actor.patch(PODS, name, {"metadata": {"labels": None}})
        await actor.until(is_free)

        async def is_replaced():
            return len(await actor.pods()) == 2

        await actor.until(is_replaced)

    act(scene)


def test_a_pod_that_wants_a_port_of_its_node_that_is_taken_is_rejected_and_replaced_until_the_port_is_free(act):
    async def scene(actor):
        ports = {"container": {"ports": [{"containerPort": 80, "hostPort": 8080}]}}
        spec = template({}, nodeName="m-node-1", **ports)["spec"]
        first = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "first", "namespace": "default"}}
        await actor.create(PODS, first | {"spec": spec})

        async def phase_of(name):
            found = [pod for pod in await actor.pods() if pod["metadata"]["name"] == name]
            return found[0].get("status", {}).get("phase") if found else None

        async def holds(name, phase):
            return await phase_of(name) == phase

        await actor.until(lambda: holds("first", "Running"))
        one = stateful_set(1, template=template({"app": "db"}, nodeName="m-node-1", **ports), volumeClaimTemplates=[])
        await actor.create(STATEFUL_SETS, one)
        await actor.until(lambda: phase_of("db-0"))
        before = (await actor.get(PODS, "db-0"))["metadata"]["uid"]

        async def is_replaced():
            return [pod for pod in await actor.pods() if pod["metadata"]["uid"] == before] == []

        await actor.until(is_replaced)
        await actor.delete(PODS, "first")
        await actor.until(lambda: holds("db-0", "Running"))
        events = await actor.items(EVENTS)
        assert "NodePorts" in {event["reason"] for event in events}

    act(scene)
