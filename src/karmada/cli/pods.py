"""From what people name (`POD`, `TYPE/NAME`, a selector) to pods of a server."""

import asyncio
from typing import Any

from karmada.cli.access import Access
from karmada.cli.failures import CommandError
from karmada.cli.progress import PAUSE
from karmada.cli.reading import in_time
from karmada.machinery.errors import NotFound
from karmada.machinery.resource import Scope

JSONObject = dict[str, Any]


async def find_pod(access: Access, namespace: str, word: str, patience: float) -> JSONObject:
    """The pod of that name, or the first one of a workload that runs; where none does yet, that is waited for."""
    end = asyncio.get_running_loop().time() + patience
    while True:
        found = await in_time(access, _find(access, namespace, word))
        phase = (found.get("status") or {}).get("phase")
        if phase != "Pending" or asyncio.get_running_loop().time() >= end:
            return found
        await asyncio.sleep(PAUSE)


async def _find(access: Access, namespace: str, word: str) -> JSONObject:
    kind, slash, name = word.partition("/")
    if not slash or kind in ("pod", "pods", "po"):
        pod = name if slash else word
        try:
            return await access.resource("", "v1", "pods").get(pod, namespace)
        except NotFound:
            where = f'pods "{pod}" not found in namespace "{namespace}"'
            raise CommandError(f"error from server (NotFound): {where}") from None
    pods = await pods_of(access, namespace, word)
    running = [pod for pod in pods if (pod.get("status") or {}).get("phase") == "Running"]
    if not pods:
        raise CommandError(f"{word} has no pods in namespace {namespace} of {access.name}")
    return (running or pods)[0]


async def pods_of(access: Access, namespace: str, word: str) -> list[JSONObject]:
    """All pods of a workload."""
    from karmada.cli.describe.metadata import selector

    kind, _, name = word.partition("/")
    found = await access.kinds.find(kind)
    owner = await access.client.resource(found.type).get(name, namespace if found.namespaced else "")
    chosen = (owner.get("spec") or {}).get("selector")
    if not isinstance(chosen, dict):
        raise CommandError(f"a {found.kind} has no pods")
    labels = selector(chosen) if "matchLabels" in chosen or "matchExpressions" in chosen else _plain(chosen)
    return await selected(access, namespace, labels)


async def selected(access: Access, namespace: str, labels: str) -> list[JSONObject]:
    """The pods of a selector, by name."""
    found = (await access.resource("", "v1", "pods").list(Scope(namespace, labels))).items
    return sorted(found, key=lambda pod: str(pod["metadata"]["name"]))


def containers(pod: JSONObject, everything: bool = False) -> list[str]:
    """The names of a pod's containers; with `everything`, of all that run before and beside them too."""
    spec = pod.get("spec") or {}
    keys = ("initContainers", "containers", "ephemeralContainers") if everything else ("containers",)
    return [container["name"] for key in keys for container in spec.get(key) or ()]


def chosen_container(pod: JSONObject, wanted: str, unknown: str = "not found in") -> str:
    """The container meant: the one named, the one the pod recommends, or the first; `unknown` is what scripts know the
    refusal of another by."""
    known = containers(pod, everything=True)
    if wanted:
        if wanted not in known:
            name = pod["metadata"]["name"]
            raise CommandError(f"container {wanted} {unknown} pod {name} (there are: {', '.join(known)})")
        return wanted
    recommended = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container", "")
    return recommended if recommended in known else containers(pod)[0]


def _plain(labels: JSONObject) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())
