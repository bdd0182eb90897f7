"""Random transcripts of what bounds pods: limit ranges, quotas, pod security, priority and runtime classes."""

import copy
from random import Random
from typing import Any

from karmada.testing.differential.kube.scenarios import Step, kinds

_CORE = "/api/v1/namespaces/${ns}"
_MERGE = "application/merge-patch+json"
_LEVELS = ("privileged", "baseline", "restricted", "nope")


def limit_scenario(dice: Random) -> list[Step]:
    """Some bounds, then pods, claims and services that keep to them or do not."""
    steps = [step for made in dice.sample(_BOUNDS, dice.randint(1, 3)) for step in made(dice)]
    steps.append({"method": "GET", "path": f"{_CORE}/limitranges", "pause": 0.5})
    steps += [_bounded(dice, number) for number in range(dice.randint(3, 6))]
    if dice.random() < 0.5:
        steps.append({"method": "GET", "path": f"{_CORE}/resourcequotas", "pause": 0.3})
    return steps


def _limit_range(dice: Random) -> list[Step]:
    made: list[dict[str, Any]] = []
    for kind in dice.sample(("Container", "Pod", "PersistentVolumeClaim"), dice.randint(1, 2)):
        if kind == "PersistentVolumeClaim":
            made.append({"type": kind, "min": {"storage": "1Gi"}, "max": {"storage": dice.choice(("2Gi", "10Gi"))}})
            continue
        item: dict[str, Any] = {"type": kind}
        if dice.random() < 0.6:
            item["max"] = {"cpu": "2", "memory": "1Gi"} if dice.random() < 0.5 else {"cpu": "1"}
        if dice.random() < 0.5:
            item["min"] = {"cpu": dice.choice(("50m", "200m"))}
        if kind == "Container" and dice.random() < 0.6:
            item["default"] = {"cpu": dice.choice(("500m", "3")), "memory": "128Mi"}
        if kind == "Container" and dice.random() < 0.5:
            item["defaultRequest"] = {"cpu": "250m"}
        if dice.random() < 0.3:
            item["maxLimitRequestRatio"] = {"cpu": dice.choice(("2", "4"))}
        made.append(item)
    return [{"method": "POST", "path": f"{_CORE}/limitranges", "body": _object("l", {"limits": made})}]


def _quota(dice: Random) -> list[Step]:
    choices = {
        "pods": "2",
        "requests.cpu": "1",
        "limits.memory": "256Mi",
        "count/configmaps": "1",
        "services": "1",
        "services.nodeports": "0",
        "requests.storage": "3Gi",
        "persistentvolumeclaims": "1",
        "count/deployments.apps": "1",
        "fast.storageclass.storage.k8s.io/requests.storage": "2Gi",
    }
    hard = {name: choices[name] for name in dice.sample(sorted(choices), dice.randint(1, 3))}
    spec: dict[str, Any] = {"hard": hard}
    if dice.random() < 0.25 and set(hard) <= {"pods", "requests.cpu", "limits.memory"}:
        spec["scopes"] = [dice.choice(("NotBestEffort", "NotTerminating", "BestEffort"))]
    steps: list[Step] = [{"method": "POST", "path": f"{_CORE}/resourcequotas", "body": _object("q", spec)}]
    if dice.random() < 0.95:  # nobody counts beside a kube-apiserver alone
        used = {"hard": hard, "used": dict.fromkeys(hard, "0")}
        path = f"{_CORE}/resourcequotas/q/status"
        steps.append({"method": "PATCH", "path": path, "body": {"status": used}, "headers": {"Content-Type": _MERGE}})
    return steps


def _security(dice: Random) -> list[Step]:
    labels = {}
    for mode in dice.sample(("enforce", "warn", "audit"), dice.randint(1, 2)):
        labels[f"pod-security.kubernetes.io/{mode}"] = dice.choice(_LEVELS)
        if dice.random() < 0.3:
            labels[f"pod-security.kubernetes.io/{mode}-version"] = dice.choice(("latest", "v1.25", "v1.0", "x"))
    body = {"metadata": {"labels": labels}}
    path = "/api/v1/namespaces/${ns}"
    return [{"method": "PATCH", "path": path, "body": body, "headers": {"Content-Type": _MERGE}}]


def _priority(dice: Random) -> list[Step]:
    body: dict[str, Any] = {"metadata": {"name": "p-${run}"}, "value": dice.choice((0, 100, -5))}
    if dice.random() < 0.3:
        body["preemptionPolicy"] = "Never"
    return [{"method": "POST", "path": "/apis/scheduling.k8s.io/v1/priorityclasses", "body": body}]


def _runtime(dice: Random) -> list[Step]:
    body: dict[str, Any] = {"metadata": {"name": "r-${run}"}, "handler": "h", "overhead": {"podFixed": {"cpu": "100m"}}}
    if dice.random() < 0.4:
        body["scheduling"] = {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
    return [{"method": "POST", "path": "/apis/node.k8s.io/v1/runtimeclasses", "body": body}]


_BOUNDS = (_limit_range, _quota, _quota, _security, _priority, _runtime)


def _bounded(dice: Random, number: int) -> Step:
    name = f"o{number}"
    match dice.randrange(8):
        case 0:
            spec = {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": dice.choice(_SIZES)}},
            }
            if dice.random() < 0.5:
                spec["storageClassName"] = "fast"
            return {"method": "POST", "path": f"{_CORE}/persistentvolumeclaims", "body": _object(name, spec)}
        case 1:
            service: dict[str, Any] = {"ports": [{"port": 80}], "type": dice.choice(("ClusterIP", "NodePort"))}
            return {"method": "POST", "path": f"{_CORE}/services", "body": _object(name, service)}
        case 2:
            body: dict[str, Any] = {"metadata": {"name": name}}
            return {"method": "POST", "path": f"{_CORE}/configmaps" + dice.choice(("", "?dryRun=All")), "body": body}
        case 3:
            body = copy.deepcopy(next(kind.body for kind in kinds() if kind.type.kind == "Deployment"))
            body["metadata"]["name"] = name
            body["spec"]["template"]["spec"] = _pod(dice)
            return {"method": "POST", "path": "/apis/apps/v1/namespaces/${ns}/deployments", "body": body}
        case 4:
            path = f"{_CORE}/pods/o{dice.randrange(3)}"
            return {"method": "DELETE", "path": path, "body": {"gracePeriodSeconds": 0}}
    return {"method": "POST", "path": f"{_CORE}/pods", "body": _object(name, _pod(dice))}


_SIZES = ("500Mi", "1Gi", "3Gi", "20Gi")


def _object(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def _pod(dice: Random) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [_container(dice, "c")]}
    if dice.random() < 0.3:
        spec["initContainers"] = [_container(dice, "i")]
        if dice.random() < 0.4:
            spec["initContainers"][0]["restartPolicy"] = "Always"
    if dice.random() < 0.25:
        spec["priorityClassName"] = dice.choice(("p-${run}", "system-node-critical", "none"))
    if dice.random() < 0.1:
        spec["priority"] = dice.choice((0, 100, 7))
    if dice.random() < 0.25:
        spec["runtimeClassName"] = dice.choice(("r-${run}", "r-${run}", "none"))
    if dice.random() < 0.1:
        spec["overhead"] = {"cpu": "100m"}
    if dice.random() < 0.3:
        spec["securityContext"] = dice.choice(_POD_SECURITY)
    if dice.random() < 0.2:
        spec[dice.choice(("hostNetwork", "hostPID", "hostIPC"))] = True
    if dice.random() < 0.2:
        spec["volumes"] = [dice.choice(({"name": "v", "hostPath": {"path": "/x"}}, {"name": "v", "emptyDir": {}}))]
    if dice.random() < 0.15:
        spec["activeDeadlineSeconds"] = 5
    if dice.random() < 0.1:
        spec["resources"] = {"requests": {"cpu": "700m"}}
    return spec


_POD_SECURITY: tuple[dict[str, Any], ...] = (
    {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    {"runAsUser": 0},
    {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "1"}]},
    {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]},
    {"seccompProfile": {"type": "Unconfined"}},
    {"seLinuxOptions": {"type": "container_t", "user": "u"}},
    {"windowsOptions": {"hostProcess": True}},
)
_CONTAINER_SECURITY: tuple[dict[str, Any], ...] = (
    {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    {"privileged": True},
    {"capabilities": {"add": ["NET_ADMIN", "SYS_TIME"]}},
    {"capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}, "allowPrivilegeEscalation": False},
    {"procMount": "Unmasked"},
    {"runAsUser": 0},
    {"appArmorProfile": {"type": "Unconfined"}},
)


def _container(dice: Random, name: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "image": "img:1"}
    if dice.random() < 0.7:
        resources: dict[str, Any] = {}
        if dice.random() < 0.7:
            resources["requests"] = {"cpu": dice.choice(("10m", "100m", "1500m", "1")), "memory": "64Mi"}
        if dice.random() < 0.6:
            resources["limits"] = {"cpu": dice.choice(("1", "2", "4")), "memory": dice.choice(("128Mi", "2Gi"))}
        made["resources"] = resources
    if dice.random() < 0.4:
        made["securityContext"] = dice.choice(_CONTAINER_SECURITY)
    if dice.random() < 0.1:
        made["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    return made
