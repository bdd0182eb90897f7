"""The scheduler: decisions by number of clusters, a storm after a cluster is deleted, an estimator with many nodes."""

import asyncio
import gc
import time
from statistics import median
from typing import Any

import orjson

from benchmarks.result import Result
from karmada.aggregated.cluster_type import cluster_type
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import from_tree
from karmada.api.crd.definition import definitions
from karmada.api.feature_gates import DEFAULTS
from karmada.api.native import Node
from karmada.api.work.v1alpha2 import ReplicaRequirements, ResourceBinding
from karmada.apiserver.aggregation.model import LocalApi
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.estimator.estimate import Answers, Member
from karmada.machinery.client import Client
from karmada.machinery.events import EventRecorder
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.process import COLLECTOR
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import GroupVersionResource
from karmada.scheduler.core.decide import decide
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.estimators.messages import ReplicasRequest
from karmada.scheduler.service import Scheduler

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
CLUSTERS = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
TARGETS = {100: 0.1, 1000: 0.3, 5000: 1.0}
STRATEGIES: dict[str, dict[str, Any]] = {
    "Duplicated": {"replicaSchedulingType": "Duplicated"},
    "dynamic weight": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    },
}
ROUNDS = 40
STORM_CLUSTERS, STORM_BINDINGS = 1000, 10_000
NODES = 5000


def run() -> list[Result]:
    """All figures, with the collector set as in a running component."""
    gc.set_threshold(*COLLECTOR)
    results = [result for clusters in TARGETS for result in _decisions(clusters)]
    results += asyncio.run(_storm())
    results.append(_estimator())
    return results


def _decisions(clusters: int) -> list[Result]:
    snapshot = Snapshot(from_tree(_cluster(number), Cluster) for number in range(clusters))
    found = []
    for name, strategy in STRATEGIES.items():
        subjects = [from_tree(_binding(number, strategy), ResourceBinding) for number in range(100)]
        decide(snapshot, subjects[0], {})
        rounds = []
        for _ in range(ROUNDS):
            gc.collect()
            started = time.process_time()
            for subject in subjects:
                decide(snapshot, subject, {})
            rounds.append((time.process_time() - started) / len(subjects))
        label = f"decision, {name}, region spread, {clusters} clusters"
        found.append(Result(label, min(rounds) * 1000, "ms", TARGETS[clusters]))
        unlike = [_unlike_any_other(snapshot, name, turn) for turn in range(ROUNDS)]
        found.append(Result(f"{label}, each unlike any other", min(unlike) * 1000, "ms", TARGETS[clusters]))
        changed = []
        for number, subject in enumerate(subjects):
            cluster = from_tree(_cluster(number % clusters, used=number), Cluster)
            started = time.process_time()
            snapshot.put(cluster)
            decide(snapshot, subject, {})
            changed.append(time.process_time() - started)
        found.append(Result(f"{label}, one changed before", median(changed) * 1000, "ms"))
    return found


def _unlike_any_other(snapshot: Snapshot, strategy: str, turn: int) -> float:
    """Seconds a decision takes whose binding has a cluster of its own and equals none that was decided before."""
    subjects = []
    for number in range(100):
        tree = _binding(number, STRATEGIES[strategy])
        tree["spec"]["clusters"] = [{"name": _cluster(number)["metadata"]["name"], "replicas": 1 + turn}]
        subjects.append(from_tree(tree, ResourceBinding))
    gc.collect()
    started = time.process_time()
    for subject in subjects:
        decide(snapshot, subject, {})
    return (time.process_time() - started) / len(subjects)


async def _storm() -> list[Result]:
    """One of many clusters is deleted and every binding has to be decided and written again."""
    async with ApiServer(ApiServerOptions(apis=[LocalApi([cluster_type()])])) as hub, Supervisor() as supervisor:
        client = Client(hub.direct(ADMIN))
        for crd in definitions():
            await client.resource(CRDS).create(crd)
        for number in range(STORM_CLUSTERS):
            tree = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", **_cluster(number)}
            if number == 0:
                tree["metadata"]["finalizers"] = ["benchmark/hold"]
            await client.resource(CLUSTERS).create(tree)
            await client.resource(CLUSTERS).patch(
                tree["metadata"]["name"], {"status": _cluster(number)["status"]}, subresource="status"
            )
        victim = _cluster(0)["metadata"]["name"]
        for number in range(STORM_BINDINGS):
            tree = _binding(number, STRATEGIES["dynamic weight"])
            others = [_cluster(1 + number % (STORM_CLUSTERS - 1))["metadata"]["name"], victim]
            tree["spec"]["clusters"] = [{"name": name, "replicas": 5} for name in others]
            tree["spec"]["replicas"] = 10
            tree["metadata"]["annotations"] = {
                "policy.karmada.io/applied-placement": _applied(tree["spec"]["placement"])
            }
            await client.resource(BINDINGS).create(
                {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", **tree}
            )
        informers = InformerFactory(client, supervisor)
        recorder = EventRecorder(client, "default-scheduler")
        scheduler = Scheduler(client, informers, recorder)
        scheduler.start(supervisor)
        supervisor.start("events", recorder.run)
        await informers.synced()
        ready = False
        while not ready:
            await asyncio.sleep(0.05)
            ready = scheduler.queue.idle
        started = time.perf_counter()
        await client.resource(CLUSTERS).delete(victim)
        left = STORM_BINDINGS
        while left:
            await asyncio.sleep(0.05)
            left = STORM_BINDINGS - scheduler.metrics.attempts["scheduled", "reconcile"]
        seconds = time.perf_counter() - started
    label = f"{STORM_BINDINGS} bindings decided and written, one of {STORM_CLUSTERS} clusters deleted"
    return [Result(label, seconds, "s", 10.0)]


def _estimator() -> Result:
    member = Member()
    for number in range(NODES):
        status = {"allocatable": {"cpu": str(8 + number % 56), "memory": "256Gi", "pods": "110"}}
        labels = {"zone": f"z{number % 3}"}
        tree = {"metadata": {"name": f"n{number}", "labels": labels}, "status": status}
        member.nodes.put_node(from_tree(tree, Node))
    answers = Answers("m1", member, DEFAULTS)
    requests = [
        ReplicasRequest("m1", from_tree({"resourceRequest": {"cpu": f"{100 + number}m"}}, ReplicaRequirements))
        for number in range(50)
    ]
    answers.replicas(requests[0])
    spent = []
    for request in requests:
        started = time.process_time()
        answers.replicas(request)
        spent.append(time.process_time() - started)
    return Result(f"estimator's answer, {NODES} nodes", median(spent) * 1000, "ms", 5.0)


def _cluster(number: int, used: int = 0) -> dict[str, Any]:
    models = [
        {
            "grade": grade,
            "ranges": [
                {"name": "cpu", "min": str(2**grade), "max": str(2 ** (grade + 1))},
                {"name": "memory", "min": f"{4 * 2**grade}Gi", "max": f"{8 * 2**grade}Gi"},
            ],
        }
        for grade in range(9)
    ]
    summary = {
        "allocatable": {"cpu": str(100 + number % 50), "memory": "400Gi", "pods": "100000"},
        "allocated": {"cpu": f"{number * 37 % 5000 + used}m", "memory": "10Gi", "pods": str(number % 100)},
        "allocatableModelings": [{"grade": grade, "count": 1 + (number + grade) % 5} for grade in range(9)],
    }
    enabled = [{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}]
    return {
        "metadata": {"name": f"member-{number:05d}", "labels": {"env": "dev" if number % 3 == 1 else "prod"}},
        "spec": {"syncMode": "Push", "region": f"region-{number % 10}", "resourceModels": models},
        "status": {"apiEnablements": enabled, "resourceSummary": summary},
    }


def _binding(number: int, strategy: dict[str, Any]) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"b{number}",
            "namespace": "default",
            "labels": {"propagationpolicy.karmada.io/permanent-id": "p"},
        },
        "spec": {
            "resource": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": f"d{number}",
                "namespace": "default",
                "uid": str(number),
            },
            "replicas": 10 + number % 7,
            "replicaRequirements": {"resourceRequest": {"cpu": "500m", "memory": "1Gi"}},
            "placement": {
                "clusterAffinity": {"labelSelector": {"matchLabels": {"env": "prod"}}},
                "spreadConstraints": [
                    {"spreadByField": "region", "minGroups": 2, "maxGroups": 3},
                    {"spreadByField": "cluster", "minGroups": 2, "maxGroups": 5},
                ],
                "replicaScheduling": strategy,
            },
        },
    }


def _applied(placement: dict[str, Any]) -> str:
    return orjson.dumps(placement).decode()
