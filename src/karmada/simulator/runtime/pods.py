"""Pods as the ways into them see them."""

import orjson

from karmada.apiserver.watchcache import WatchCache
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.views import POD, Container, ContainerStatus, Pod


def find(store: WatchCache, namespace: str, name: str) -> Pod:
    """The pod; the server has made sure that there is one."""
    item = store.get(("", "pods"), namespace, name)
    if item is None:
        raise Failure(404, "NotFound", f'pods "{name}" not found')
    return POD.decode(item.body)


def container_of(pod: Pod, name: str) -> Container:
    """One of its containers."""
    every = [*pod.spec.containers, *(pod.spec.init_containers or ())]
    return next((container for container in every if container.name == name), Container(name))


def status_of(pod: Pod, name: str) -> ContainerStatus:
    """How one of its containers is."""
    for status in pod.status.container_statuses or ():
        if status.name == name:
            return status
    raise bad_request(f'container "{name}" in pod "{pod.metadata.name}" is waiting to start: ContainerCreating')


def config_files(store: WatchCache, pod: JSONObject, container: JSONObject) -> dict[str, str]:
    """The files that ConfigMaps put into a container."""
    files: dict[str, str] = {}
    namespace = pod["metadata"]["namespace"]
    volumes = {volume["name"]: volume for volume in (pod.get("spec") or {}).get("volumes") or ()}
    for mount in container.get("volumeMounts") or ():
        source = (volumes.get(mount["name"]) or {}).get("configMap")
        item = store.get(("", "configmaps"), namespace, source["name"]) if source else None
        if item is not None:
            for key, text in (orjson.loads(item.body).get("data") or {}).items():
                files[f"{mount['mountPath'].rstrip('/')}/{key}"] = text
    return files
