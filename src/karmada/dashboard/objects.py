"""Single objects and their schemas, of the control plane and of members."""

import re

import orjson

from karmada.dashboard.names import checked_kind, checked_name
from karmada.dashboard.redaction import redacted
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import JSONObject
from karmada.dashboard.workload import kind_of
from karmada.machinery.client import Client
from karmada.machinery.discovery import split_api_version
from karmada.machinery.errors import NotFound

_GVK = "x-kubernetes-group-version-kind"
_REFERENCE = re.compile(rb'"\$ref":\s*"#/components/schemas/([^"]+)"')


async def object_(visit: Visit) -> JSONObject:
    """One object; Secrets are shown only to those who ask for them, and may read them."""
    api_version, kind, namespace, name = visit.subject()
    cluster = visit.params.get("cluster", "")
    context = visit.context
    client = context.member(checked_name(cluster, "a cluster")) if cluster else context.hub
    reading = _read(client, api_version, kind, namespace, name)
    found = await (context.members.in_time(reading) if cluster else reading)
    found = {"apiVersion": api_version, "kind": kind, **found}
    found["metadata"].pop("managedFields", None)
    if visit.params.get("reveal") == "true":
        return found
    shown: JSONObject = redacted(found)
    return shown


async def _read(client: Client, api_version: str, kind: str, namespace: str, name: str) -> JSONObject:
    served = await kind_of(client, api_version, kind)
    return await client.resource(served.type).get(name, namespace if served.namespaced else "")


async def schema(visit: Visit) -> JSONObject:
    """The schema of a kind, with the schemas that it refers to."""
    api_version, kind = checked_kind(visit.params.get("apiVersion", ""), visit.params.get("kind", ""))
    group, version = split_api_version(api_version)
    path = f"/openapi/v3/apis/{group}/{version}" if group else f"/openapi/v3/api/{version}"
    document = orjson.loads(await visit.context.hub.transport.raw("GET", path))
    schemas: JSONObject = (document.get("components") or {}).get("schemas") or {}
    wanted = {"group": group, "version": version, "kind": kind}
    root = next((node for node in schemas.values() if wanted in (node.get(_GVK) or ())), None)
    if root is None:
        raise NotFound(f"the control plane has no schema of {kind} in {api_version}")
    needed: JSONObject = {}
    waiting = [root]
    while waiting:
        for name in _REFERENCE.findall(orjson.dumps(waiting.pop())):
            if (text := name.decode()) not in needed and text in schemas:
                needed[text] = schemas[text]
                waiting.append(schemas[text])
    return {**root, "definitions": needed}
