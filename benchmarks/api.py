"""The API model: what importing it costs, and decoding and encoding of a 3 KB ResourceBinding beside orjson."""

import os
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from typing import Any

import orjson

from benchmarks.result import Result
from karmada.api import codec
from karmada.api.work.v1alpha2 import ResourceBinding


def run() -> list[Result]:
    """Measure everything once, best of several."""
    data = binding_bytes()
    binding, tree = codec.decode(data, ResourceBinding), orjson.loads(data)
    size = f"{len(data) / 1024:.1f} KB ResourceBinding"
    decode = _microseconds(lambda: codec.decode(data, ResourceBinding))
    start, package, everything = _start_ms("pass", "import karmada.api", "import karmada.api.kinds, karmada.api.codec")
    return [
        Result("import karmada.api", package - start, "ms", target=60),
        Result("import every kind and the codec (most of it is msgspec)", everything - start, "ms"),
        Result(f"decode {size} to structs", decode, "µs", target=15),
        Result(f"decode {size} to dicts with orjson", _microseconds(lambda: orjson.loads(data)), "µs"),
        Result(f"encode {size} from structs", _microseconds(lambda: codec.encode(binding)), "µs", target=8),
        Result(f"encode {size} from dicts with orjson", _microseconds(lambda: orjson.dumps(tree)), "µs"),
    ]


def _start_ms(*programs: str) -> list[float]:
    """Best time of a fresh interpreter for each program, from cached bytecode, taking turns so that noise is shared."""
    times: list[list[float]] = [[] for _ in programs]
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(20):
            for program, taken in zip(programs, times, strict=True):
                begin = time.perf_counter()
                subprocess.run([sys.executable, "-c", program], env=environment, check=True)
                taken.append(time.perf_counter() - begin)
    return [min(taken) * 1e3 for taken in times]


def _microseconds(call: Callable[[], Any]) -> float:
    rounds = 500
    return min(timeit.repeat(call, number=rounds, repeat=100)) / rounds * 1e6


def binding_bytes() -> bytes:
    """A binding as the API server stores it: scheduled to three clusters, with status and managed fields."""
    clusters = [f"member{number}" for number in (1, 2, 3)]
    policy_annotations = {
        "propagationpolicy.karmada.io/name": "nginx-propagation",
        "propagationpolicy.karmada.io/namespace": "default",
        "policy.karmada.io/applied-placement": '{"clusterAffinity":{"clusterNames":["member1","member2","member3"]}}',
    }
    binding = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {
            "name": "nginx-deployment",
            "namespace": "default",
            "uid": "6c2a5f0e-6f5c-4b1e-9d3f-2f8f4b6a7c11",
            "resourceVersion": "48213",
            "generation": 4,
            "creationTimestamp": "2026-03-02T10:00:00Z",
            "labels": {
                "propagationpolicy.karmada.io/permanent-id": "f2507cgb-f3f3-4a4b-b289-5691a4fef979",
                "resourcebinding.karmada.io/permanent-id": "2a3a5b8c-1d1f-4d39-8c7e-0d5f7a3b9e42",
            },
            "annotations": policy_annotations,
            "finalizers": ["karmada.io/binding-controller", "karmada.io/binding-dependencies-distributor"],
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "name": "nginx",
                    "uid": "0a4f9c1d-3b55-4a0c-8d6e-93c1b7e2f001",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "resource": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "namespace": "default",
                "name": "nginx",
                "uid": "0a4f9c1d-3b55-4a0c-8d6e-93c1b7e2f001",
                "resourceVersion": "48190",
            },
            "propagateDeps": True,
            "replicas": 6,
            "replicaRequirements": {"resourceRequest": {"cpu": "100m", "memory": "128Mi"}, "namespace": "default"},
            "clusters": [{"name": name, "replicas": 2} for name in clusters],
            "placement": {
                "clusterAffinity": {"clusterNames": clusters},
                "clusterTolerations": [
                    {
                        "key": f"cluster.karmada.io/{state}",
                        "operator": "Exists",
                        "effect": "NoExecute",
                        "tolerationSeconds": 300,
                    }
                    for state in ("not-ready", "unreachable")
                ],
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Weighted",
                    "weightPreference": {
                        "staticWeightList": [
                            {"targetCluster": {"clusterNames": [name]}, "weight": 1} for name in clusters
                        ]
                    },
                },
            },
            "schedulerName": "default-scheduler",
            "conflictResolution": "Abort",
        },
        "status": {
            "schedulerObservedGeneration": 4,
            "lastScheduledTime": "2026-03-02T10:00:03Z",
            "conditions": [
                {
                    "type": type_,
                    "status": "True",
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": "2026-03-02T10:00:03Z",
                }
                for type_, reason, message in (
                    ("Scheduled", "Success", "Binding has been scheduled successfully."),
                    ("FullyApplied", "FullyAppliedSuccess", "All works have been successfully applied"),
                )
            ],
            "aggregatedStatus": [
                {
                    "clusterName": name,
                    "applied": True,
                    "health": "Healthy",
                    "status": {
                        "availableReplicas": 2,
                        "generation": 1,
                        "observedGeneration": 1,
                        "readyReplicas": 2,
                        "replicas": 2,
                        "resourceTemplateGeneration": 3,
                        "updatedReplicas": 2,
                    },
                }
                for name in clusters
            ],
        },
    }
    return orjson.dumps(binding)
