"""Calls per second of each interpreter level, and what a script costs from call to answer."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from statistics import median
from typing import Any

import orjson

from benchmarks.result import Result
from karmada.api.codec import from_tree
from karmada.api.config.v1alpha1 import ResourceInterpreterCustomization
from karmada.interpreter.customizable import CustomizableInterpreter
from karmada.interpreter.model import GroupVersionKind, KindRules, ReplicaNeeds
from karmada.interpreter.plugins import Plugins
from karmada.interpreter.webhook import Endpoint

CALLS = 2_000
LUA_TARGET = 300.0
POD = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "containers": [
            {
                "name": f"c{index}",
                "image": "nginx:1.25",
                "args": ["--v=2", "--mode=fast"],
                "env": [{"name": f"E{n}", "value": "some value"} for n in range(6)],
                "envFrom": [{"configMapRef": {"name": f"config-{index}"}}],
                "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }
            for index in range(4)
        ],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    },
}
SCRIPTS = {
    "replicaResource": "function GetReplicas(obj) return obj.spec.replicas end",
    "replicaRevision": "function ReviseReplica(obj, n) obj.spec.replicas = n return obj end",
    "healthInterpretation": "function InterpretHealth(obj) return obj.status.ready == obj.spec.replicas end",
}


def resource(api_version: str, kind: str) -> dict[str, Any]:
    """A workload of about 3 KB."""
    metadata = {
        "name": "web",
        "namespace": "shop",
        "generation": 3,
        "labels": {"app": "web"},
        "annotations": {"a": "b" * 200},
    }
    spec = {"replicas": 3, "parallelism": 3, "selector": {"matchLabels": {"app": "web"}}, "template": POD}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": {"ready": 3}}


async def post(endpoint: Endpoint, body: bytes) -> bytes:
    raise AssertionError("no webhook is configured here")


def interpreter() -> CustomizableInterpreter:
    plugged = {
        GroupVersionKind("example.io", "v1", "Plugged"): KindRules(
            replicas=lambda tree: ReplicaNeeds(tree["spec"]["replicas"])
        )
    }
    made = CustomizableInterpreter(post=post, plugins=Plugins(plugged))
    tree = {
        "metadata": {"name": "scripted"},
        "spec": {
            "target": {"apiVersion": "example.io/v1", "kind": "Scripted"},
            "customizations": {field: {"luaScript": script} for field, script in SCRIPTS.items()},
        },
    }
    made.configure([from_tree(tree, ResourceInterpreterCustomization)], [])
    return made


async def times(
    ask: Callable[[dict[str, Any]], Awaitable[Any]], given: dict[str, Any], calls: int = CALLS
) -> list[float]:
    """Seconds of each call, after a few to warm up."""
    measured = []
    for number in range(calls + 50):
        start = time.perf_counter()
        await ask(given)
        if number >= 50:
            measured.append(time.perf_counter() - start)
    return measured


async def measure() -> list[Result]:
    subject = interpreter()
    levels = {
        "native": resource("apps/v1", "Deployment"),
        "bundled": resource("apps.kruise.io/v1alpha1", "CloneSet"),
        "python plug-in": resource("example.io/v1", "Plugged"),
        "scripts, one after the other": resource("example.io/v1", "Scripted"),
    }
    results = []
    for name, given in levels.items():
        seconds = await times(subject.replicas, given)
        results.append(Result(f"replicas, {name}", len(seconds) / sum(seconds), "calls/s", higher_is_better=True))
    scripted = resource("example.io/v1", "Scripted")
    size = len(orjson.dumps(scripted)) / 1024
    scripted_calls: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
        "GetReplicas": subject.replicas,
        "InterpretHealth": subject.healthy,
        "ReviseReplica": lambda tree: subject.revise(tree, 5),
    }
    for function, ask in scripted_calls.items():
        micros = [second * 1e6 for second in await times(ask, scripted)]
        results.append(Result(f"script {function} on {size:.1f} KiB, median", median(micros), "µs", LUA_TARGET))
    start = time.perf_counter()
    await asyncio.gather(*(subject.replicas(scripted) for _ in range(CALLS)))
    results.append(
        Result("scripts, all at once", CALLS / (time.perf_counter() - start), "calls/s", higher_is_better=True)
    )
    await subject.close()
    return results


def run() -> list[Result]:
    return asyncio.run(measure())
