"""Cost of field ownership and of table rows on a Deployment of about 3 KB."""

import copy
import time
from collections.abc import Callable
from typing import Any

from benchmarks.result import Result
from karmada.apiserver.builtin import builtin_types
from karmada.apiserver.managedfields import apply, reset_fields, track_update
from karmada.apiserver.printing import table

ROUNDS = 2000


def run() -> list[Result]:
    """Microseconds of CPU per operation, the best of five rounds."""
    resource = next(t for t in builtin_types() if (t.group, t.plural) == ("apps", "deployments"))
    reset = reset_fields(resource, "")
    config = _deployment()
    live = apply(None, config, resource.schema, "kubectl-create", False, "apps/v1", "", "2026-01-01T00:00:00Z", reset)
    live["metadata"]["uid"] = "5f0c"
    scaled = {**live, "metadata": dict(live["metadata"]), "spec": {**live["spec"], "replicas": 9}}

    def update() -> None:
        scaled["metadata"].pop("managedFields", None)
        track_update(live, scaled, resource.schema, "scaler", "apps/v1", "", "2026-01-01T00:00:01Z", reset)

    def unchanged() -> None:
        same["metadata"].pop("managedFields", None)
        track_update(live, same, resource.schema, "scaler", "apps/v1", "", "2026-01-01T00:00:01Z", reset)

    def no_op_apply() -> None:
        apply(live, config, resource.schema, "kubectl-create", False, "apps/v1", "", "2026-01-01T00:00:01Z", reset)

    def create() -> None:
        new = {**config, "metadata": dict(config["metadata"])}
        track_update(None, new, resource.schema, "creator", "apps/v1", "", "2026-01-01T00:00:01Z", reset)

    def print_rows() -> None:
        table(resource, [live] * 100, now=1_800_000_000.0)

    same = copy.deepcopy(live)
    live["metadata"]["creationTimestamp"] = same["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return [
        Result("ownership: tracked update of one field (3 KB)", _micros(update), "µs", target=40),
        Result("ownership: update without a change (3 KB)", _micros(unchanged), "µs", target=40),
        Result("ownership: create (3 KB)", _micros(create), "µs"),
        Result("apply: no-op (3 KB)", _micros(no_op_apply), "µs"),
        Result("printing: one table row", _micros(print_rows) / 100, "µs", target=20),
    ]


def _micros(operation: Callable[[], None]) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        for _ in range(ROUNDS // 5):
            operation()
        best = min(best, (time.process_time() - start) / (ROUNDS // 5))
    return best * 1e6


def _deployment() -> dict[str, Any]:
    containers = [
        {
            "name": f"container-{number}",
            "image": f"registry.example/app-{number}:1.{number}",
            "env": [{"name": f"VARIABLE_{i}", "value": f"value-{i}" * 2} for i in range(8)],
            "ports": [{"containerPort": 8080 + number, "protocol": "TCP", "name": f"http-{number}"}],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
            "volumeMounts": [{"name": "data", "mountPath": f"/data/{number}"}],
            "terminationMessagePath": "/dev/termination-log",
            "imagePullPolicy": "IfNotPresent",
        }
        for number in range(3)
    ]
    labels = {"app": "bench", "tier": "backend", "release": "stable"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "bench", "namespace": "default", "labels": labels},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": containers,
                    "volumes": [{"name": "data", "emptyDir": {}}],
                    "restartPolicy": "Always",
                    "dnsPolicy": "ClusterFirst",
                    "terminationGracePeriodSeconds": 30,
                },
            },
        },
    }
