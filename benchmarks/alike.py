"""What the Works of workloads that run in many clusters take, on disk and in memory, with and without sharing.

A Work is a rendered Deployment of a usual size; in each cluster it has its own namespace, identities and times. The
full size takes an hour: `KARMADA_BENCH_WORKLOADS=10000 KARMADA_BENCH_CLUSTERS=100 python -m benchmarks storage`.
Disk is what they take of the file, without the pages that it keeps for new ones. Memory is that of a fresh process that
serves them: the objects' bodies, and with them what is needed to find and select them, which does not shrink.
"""

import asyncio
import gc
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import NamedTuple
from uuid import UUID

import orjson
import psutil

from benchmarks.result import Result
from karmada.apiserver.storage.base import Change, Record, Snapshot, Value, Write
from karmada.apiserver.storage.delta import Delta
from karmada.apiserver.storage.sqlite import SqliteStorage
from karmada.apiserver.storage.sqlite.sharing import WORTH, Sharing
from karmada.apiserver.watchcache import Index, WatchCache
from karmada.machinery.transport import JSONObject

WORKLOADS = int(os.environ.get("KARMADA_BENCH_WORKLOADS", "200"))
CLUSTERS = int(os.environ.get("KARMADA_BENCH_CLUSTERS", "100"))
_NEVER = Sharing(copies=sys.maxsize)
_LIMIT = 1 / 20
_LARGE = 60_000
"""Bytes of a ConfigMap that is large; there are few of them."""


class _Room(NamedTuple):
    disk: float
    bodies: float
    memory: float


def run() -> list[Result]:
    """All figures."""
    return [*_compared("Deployment", WORKLOADS, 0), *_compared("ConfigMap of 60 KB", max(1, WORKLOADS // 20), _LARGE)]


def _compared(what: str, workloads: int, ballast: int) -> list[Result]:
    plain, shared = (_measured(workloads, ballast, sharing) for sharing in (False, True))
    size = f"{what} x {CLUSTERS} clusters"
    return [
        Result(f"{size}: disk a Work", shared.disk, "B"),
        Result(f"{size}: disk, share of plain", shared.disk / plain.disk, "", _LIMIT),
        Result(f"{size}: bodies in memory a Work", shared.bodies, "B"),
        Result(f"{size}: bodies in memory, share of plain", shared.bodies / plain.bodies, "", _LIMIT),
        Result(f"{size}: resident memory a Work", shared.memory, "B"),
        Result(f"{size}: resident memory, share of plain", shared.memory / plain.memory, ""),
    ]


def _measured(workloads: int, ballast: int, sharing: bool) -> _Room:
    with tempfile.TemporaryDirectory(prefix="karmada-bench-") as folder:
        path = Path(folder) / "store.db"
        asyncio.run(_fill(path, workloads, ballast, WORTH if sharing else _NEVER))
        count = workloads * CLUSTERS
        reading = [sys.executable, "-m", "benchmarks.alike", str(path)]
        bodies, memory = subprocess.run(reading, check=True, capture_output=True, text=True).stdout.split()
        return _Room(_used(path) / count, int(bodies) / count, int(memory) / count)


def _used(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        pages = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")]
    return int((pages[0] - pages[1]) * pages[2])


class _Nobody:
    """Follows a storage and does nothing about it."""

    def committed(self, changes: list[Change], revision: int) -> None:
        """See `Listener`."""

    def shrunk(self, records: Sequence[Record]) -> None:
        """See `Listener`."""

    def replaced(self, snapshot: Snapshot) -> None:
        """See `Listener`."""


async def _fill(path: Path, workloads: int, ballast: int, sharing: Sharing) -> None:
    storage, random = SqliteStorage(path, sharing=sharing), Random(1)
    revision = (await storage.open(_Nobody())).revision
    for workload in range(workloads):
        writes = [_write(workload, cluster, ballast, random) for cluster in range(CLUSTERS)]
        assert not any(await storage.write_all(writes))
        revision += len(writes)
        if not workload % 100 or workload == workloads - 1:
            await storage.compact(revision)
    await storage.close()


def _write(workload: int, cluster: int, ballast: int, random: Random) -> Write:
    name, namespace = f"web-{workload:010x}", f"karmada-es-member{cluster:04d}"
    own = str(UUID(int=random.getrandbits(128), version=4))
    binding = str(UUID(int=workload, version=4))
    time = f"2026-11-17T02:{workload % 60:02d}:{random.randrange(20, 40):02d}Z"
    noted = {"resourcebinding.karmada.io/namespace": "shop", "resourcebinding.karmada.io/name": name}
    labels = {"resourcebinding.karmada.io/permanent-id": binding, "work.karmada.io/permanent-id": own}
    manifest = _config_map(ballast) if ballast else _deployment(workload)
    marks = {"work.karmada.io/namespace": namespace, "work.karmada.io/name": name, **noted}
    manifest["metadata"] = {"name": f"web{workload}", "namespace": "shop", "labels": labels, "annotations": marks}
    identity = {"uid": str(UUID(int=random.getrandbits(128), version=4)), "creationTimestamp": time, "generation": 1}
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": noted, **identity}
    tail = orjson.dumps(metadata)[1:-1]
    rest = orjson.dumps({"spec": {"workload": {"manifests": [manifest]}}, "status": _status(workload, time)})[1:]
    head = b'{"apiVersion":"work.karmada.io/v1alpha1","kind":"Work","metadata":{"resourceVersion":"'
    return Write(f"/work.karmada.io/works/{namespace}/{name}", Value(head, b'",' + tail + b"}," + rest), 0)


def _deployment(workload: int) -> JSONObject:
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1}
    container: JSONObject = {
        "name": "web",
        "image": f"registry.example.com/shop/web{workload}:1.42.0",
        "imagePullPolicy": "IfNotPresent",
        "ports": [{"containerPort": port, "protocol": "TCP"} for port in (8080, 9090)],
        "env": [{"name": f"SETTING_{number}", "value": f"the value of setting {number}"} for number in range(12)],
        "envFrom": [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "credentials"}}],
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
        "livenessProbe": probe,
        "readinessProbe": probe,
        "securityContext": {"runAsNonRoot": True, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [{"name": "cache", "mountPath": "/var/cache"}, {"name": "config", "mountPath": "/etc/web"}],
    }
    volumes = [{"name": "cache", "emptyDir": {}}, {"name": "config", "configMap": {"name": "web", "defaultMode": 420}}]
    pod = {"containers": [container, container | {"name": "sidecar"}], "volumes": volumes, "restartPolicy": "Always"}
    marks = {"app.kubernetes.io/name": f"web{workload}", "app.kubernetes.io/part-of": "shop"}
    template = {"metadata": {"labels": marks}, "spec": pod}
    spec = {"replicas": 3, "selector": {"matchLabels": marks}, "template": template, "revisionHistoryLimit": 10}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": spec}


def _config_map(ballast: int) -> JSONObject:
    data = {f"file{number}.yaml": f"line {number}\n" * (ballast // 200) for number in range(20)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": data}


def _status(workload: int, time: str) -> JSONObject:
    conditions = [
        {
            "type": kind,
            "status": "True",
            "lastTransitionTime": time,
            "reason": kind,
            "message": "Work is as it should be.",
        }
        for kind in ("Dispatching", "Applied")
    ]
    identifier = {"ordinal": 0, "version": "v1", "kind": "Deployment", "namespace": "shop", "name": f"web{workload}"}
    found = {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3, "observedGeneration": 1}
    return {"conditions": conditions, "manifestStatuses": [{"identifier": identifier, "status": found}]}


def _index(kind: tuple[str, str], body: bytes) -> Index:
    metadata = orjson.loads(body)["metadata"]
    return Index(metadata["uid"], metadata["labels"], (), {})


async def _memory(path: Path) -> tuple[int, int]:
    """Bytes that the bodies of a database's objects take, and those that serving it adds to this process."""
    process = psutil.Process()
    gc.collect()
    before = process.memory_info().rss
    store = WatchCache(SqliteStorage(path), _index)
    await store.start()
    gc.collect()
    added: int = process.memory_info().rss - before
    stored = [item.stored for item in store.list(("work.karmada.io", "works")).items]
    deltas = [one for one in stored if isinstance(one, Delta)]
    parts = [*(one for one in stored if isinstance(one, bytes)), *deltas, *(one.changes for one in deltas)]
    bases = {id(one.base): one.base for one in deltas}
    await store.stop()
    return sum(map(sys.getsizeof, (*parts, *bases.values()))), added


if __name__ == "__main__":
    print(*asyncio.run(_memory(Path(sys.argv[1]))))
