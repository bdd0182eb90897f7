"""Dry runs and writes of manifests: server-side apply as whoever asks, object by object."""

import re
from typing import Any

from karmada.dashboard import manifests
from karmada.dashboard.answers import bad_request
from karmada.dashboard.credential_cache import MANAGER
from karmada.dashboard.manifests import Manifest
from karmada.dashboard.routes import Visit
from karmada.dashboard.rows import JSONObject, ref
from karmada.machinery.client import Client
from karmada.machinery.codec import TREE
from karmada.machinery.discovery import UnknownKind
from karmada.machinery.errors import ApiError, Conflict, NotFound
from karmada.machinery.resource import Resource

SHOWN = 50
"""Errors of one object."""
_UNKNOWN = re.compile(r'unknown field "([^"]+)"')
_FIELD = re.compile(r"\.?([a-zA-Z][\w.\[\]-]*): (?:field not declared|duplicate|Invalid|Required|Unsupported)")


async def dry_run(visit: Visit) -> list[JSONObject]:
    """What the server would say."""
    return await _all(visit, dry=True)


async def apply(visit: Visit) -> list[JSONObject]:
    """Write."""
    return await _all(visit, dry=False)


async def _all(visit: Visit, *, dry: bool) -> list[JSONObject]:
    body = visit.body()
    force = body.get("force", False)
    if not isinstance(force, bool):
        raise bad_request("force: must be true or false")
    found = await manifests.read(body)
    if not found:
        raise bad_request("manifests: there is no object in it")
    warnings: list[str] = []
    client = Client(visit.dashboard.upstream.transport(visit.credential, "", warnings.append), field_manager=MANAGER)
    try:
        done: list[JSONObject] = []
        for one in found:
            warnings.clear()
            outcome = await _one(client, one, dry=dry, force=force)
            errors = [{"line": await one.line(error["field"]), **error} for error in outcome["errors"][:SHOWN]]
            done.append({**outcome, "errors": errors, "warnings": list(dict.fromkeys(warnings))})
        return done
    finally:
        await client.close()


async def _one(client: Client, given: Manifest, *, dry: bool, force: bool) -> JSONObject:
    item = given.item
    about = item["metadata"]
    reference = ref(item["apiVersion"], item["kind"], about.get("namespace") or "", about["name"])
    try:
        kind = await client.mapper.of_kind(item["apiVersion"], item["kind"])
    except UnknownKind:
        text = f"the control plane does not serve {item['kind']} in {item['apiVersion']}: install its CRD first"
        return _failed(reference, [_error("kind", text)])
    if kind.namespaced and not reference["namespace"]:
        reference["namespace"] = "default"
    wanted = {key: value for key, value in item.items() if key != "status"}
    wanted["metadata"] = {key: value for key, value in about.items() if key != "managedFields"}
    if kind.namespaced:
        wanted["metadata"]["namespace"] = reference["namespace"]
    resource: Resource[Any] = Resource(
        client.transport, kind.type, TREE, MANAGER, client.timeout, field_validation="Strict"
    )
    before = await _present(resource, reference)
    try:
        after = await resource.apply(wanted, field_manager=MANAGER, force=force, dry_run=dry)
    except Conflict as error:
        remedy = "; somebody else owns these fields: take them over with force"
        return _failed(reference, _errors(error) or [_error("", f"{error}{remedy}")])
    except ApiError as error:
        return _failed(reference, _errors(error))
    return {"ref": reference, "action": _action(before, after, dry=dry), "errors": []}


async def _present(resource: Resource[Any], reference: JSONObject) -> JSONObject | None:
    try:
        found: JSONObject = await resource.get(reference["name"], reference["namespace"])
    except NotFound:
        return None
    except ApiError:
        return {}
    return found


def _action(before: JSONObject | None, after: JSONObject, *, dry: bool) -> str:
    if before is None:
        return "created"
    if dry:
        return "unchanged" if _content(before) == _content(after) else "configured"
    same = (before.get("metadata") or {}).get("resourceVersion") == after["metadata"].get("resourceVersion")
    return "unchanged" if same else "configured"


def _content(tree: JSONObject) -> JSONObject:
    about = tree.get("metadata") or {}
    kept = {key: value for key, value in about.items() if key not in ("managedFields", "resourceVersion", "generation")}
    return {**tree, "metadata": kept}


def _failed(reference: JSONObject, errors: list[JSONObject]) -> JSONObject:
    return {"ref": reference, "action": "failed", "errors": errors}


def _errors(error: ApiError) -> list[JSONObject]:
    causes = [(str(cause.get("field", "")), str(cause.get("message", ""))) for cause in error.causes]
    if causes:
        return [_error(field, message) for field, message in causes]
    text = str(error)
    named = _UNKNOWN.findall(text) or _FIELD.findall(text)
    if named:
        return [_error(field, text) for field in named]
    return [_error("", text)]


def _error(field: str, message: str) -> JSONObject:
    return {"field": field, "message": message}
