"""The environment of a container's process: what the pod says, never what could change which code runs."""

import os
import re
from collections.abc import Mapping

from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.simulator.processes.programs import Refused
from karmada.simulator.processes.volumes import CONFIG_MAPS, SECRETS, NotYet, content_of

_CODE = re.compile(r"(?:LD_|PYTHON|BASH_|GO|SSL_|OPENSSL_).*|PATH|HOME|TMPDIR|GCONV_PATH|NODE_OPTIONS")
"""Variables by which a process can be made to load other code."""
_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", "PYTHONPATH")
"""Variables of this process that the others need to find the same code."""


def base(folder: str, server: tuple[str, int] | None, pod: JSONObject) -> dict[str, str]:
    """What every process gets; `server` is where the cluster's API server listens."""
    found = {name: os.environ[name] for name in _KEPT if name in os.environ}
    if path := found.get("PYTHONPATH"):
        found["PYTHONPATH"] = absolute(path)
    found |= {"HOME": f"{folder}/tmp", "TMPDIR": f"{folder}/tmp", "HOSTNAME": pod["metadata"]["name"]}
    found |= {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if server is not None:
        found |= {"KUBERNETES_SERVICE_HOST": server[0], "KUBERNETES_SERVICE_PORT": str(server[1])}
    return found


def absolute(path: str) -> str:
    """A search path as it means the same in another folder."""
    return os.pathsep.join(map(os.path.abspath, path.split(os.pathsep)))


async def given(client: Client, pod: JSONObject, container: JSONObject, address: str) -> dict[str, str]:
    """The variables that a container's spec gives; raises `NotYet` and `Refused`."""
    namespace = pod["metadata"]["namespace"]
    found: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        prefix = source.get("prefix") or ""
        for kind, key in ((SECRETS, "secretRef"), (CONFIG_MAPS, "configMapRef")):
            if reference := source.get(key):
                content = await _content(client, kind, namespace, reference)
                found |= {f"{prefix}{name}": value.decode(errors="replace") for name, value in content.items()}
    for entry in container.get("env") or ():
        if "valueFrom" not in entry:
            found[entry["name"]] = str(entry.get("value") or "")
            continue
        source = entry["valueFrom"]
        if field := source.get("fieldRef"):
            found[entry["name"]] = field_of(pod, field["fieldPath"], address)
        for kind, key in ((SECRETS, "secretKeyRef"), (CONFIG_MAPS, "configMapKeyRef")):
            if reference := source.get(key):
                content = await _content(client, kind, namespace, reference)
                if reference["key"] in content:
                    found[entry["name"]] = content[reference["key"]].decode(errors="replace")
                elif not reference.get("optional"):
                    raise NotYet(f'"{reference["name"]}" has no key {reference["key"]!r}')
    for name in found:
        if _CODE.fullmatch(name):
            raise Refused(f"the variable {name} is not passed on: it can change which code runs")
    return found


async def _content(
    client: Client, kind: GroupVersionResource, namespace: str, reference: Mapping[str, object]
) -> dict[str, bytes]:
    name = str(reference.get("name") or "")
    try:
        return content_of(await client.resource(kind).get(name, namespace))
    except NotFound:
        if reference.get("optional"):
            return {}
        raise NotYet(f'"{name}" not found') from None


def field_of(pod: JSONObject, path: str, address: str) -> str:
    """A field of the pod, as the downward API names it."""
    about, spec = pod["metadata"], pod["spec"]
    if path.startswith(("metadata.labels['", "metadata.annotations['")):
        return str((about.get(path.partition("[")[0].removeprefix("metadata.")) or {}).get(path.split("'")[1], ""))
    fields = {
        "metadata.name": about["name"],
        "metadata.namespace": about["namespace"],
        "metadata.uid": about["uid"],
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.serviceAccountName": spec.get("serviceAccountName") or "",
        "status.podIP": address,
        "status.podIPs": address,
        "status.hostIP": address,
    }
    if path not in fields:
        raise Refused(f"the process runtime does not know the field {path}")
    return str(fields[path])
