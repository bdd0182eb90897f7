"""`pods/ephemeralcontainers` and `pods/resize`: subresources that change one part of a running pod."""

from collections.abc import Callable

from karmada.api.field_errors import forbidden
from karmada.apiserver.builtin.strategies.pod_resize import CONTAINERS, resize_errors, resized
from karmada.apiserver.builtin.strategies.pod_validation import ephemeral_errors, spec_errors
from karmada.apiserver.failures import invalid, not_found
from karmada.apiserver.requests import metadata, reading
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.subresources.wanted import wanted
from karmada.apiserver.requests.update import Change, Part, modify
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.machinery.httpserver.failure import Failure

Take = Callable[[Call, JSONObject, JSONObject], None]
"""Takes over from the wanted pod (second) into the current one (third) what the part may change."""


async def ephemeral_containers(context: Context, call: Call) -> Answer:
    """Add containers for debugging; those that are there stay as they are."""
    return await _part(context, call, _take_ephemeral)


async def resize(context: Context, call: Call) -> Answer:
    """Change requests and limits of the containers; the node must be there, which has to make room."""

    def take(call: Call, new: JSONObject, current: JSONObject) -> None:
        node = (current.get("spec") or {}).get("nodeName")
        if _take_resources(call, new, current) and node and context.store.get(("", "nodes"), "", node) is None:
            text = f'pods "{call.name}" is forbidden: node "{node}" not found'
            raise Failure(403, "Forbidden", text, {"name": call.name, "kind": "pods"})

    return await _part(context, call, take)


async def _part(context: Context, call: Call, take: Take) -> Answer:
    if call.verb == "get":
        item = context.store.get(call.served.key, call.namespace, call.name)
        if item is None:
            raise not_found("", "pods", call.name)
        return await reading.one(call, item.body, revision=item.revision)
    asked = await wanted(context, call)

    def build(current: JSONObject) -> JSONObject:
        new = asked.object(current)
        meta = metadata.ensure(new)
        current["metadata"]["resourceVersion"] = meta.get("resourceVersion") or ""
        if asked.managed:
            current["metadata"]["managedFields"] = meta.get("managedFields") or []
        take(call, new, current)
        return current

    return await modify(context, Change(call, asked.options, build, Part.OTHER, asked.managed))


def _take_ephemeral(call: Call, new: JSONObject, current: JSONObject) -> None:
    spec = current.setdefault("spec", {})
    old = {container["name"]: container for container in spec.get("ephemeralContainers") or ()}
    wanted = (new.get("spec") or {}).get("ephemeralContainers") or []
    kept = {container.get("name"): container for container in wanted}
    if any(kept.get(name) != container for name, container in old.items()):
        text = "Forbidden: existing ephemeral containers may not be changed or removed"
        raise invalid("", "Pod", call.name, [FieldError("FieldValueForbidden", "spec.ephemeralContainers", text)])
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
    given = {**spec, "ephemeralContainers": wanted}
    if errors := ephemeral_errors(given, "spec.ephemeralContainers", volumes):
        raise invalid("", "Pod", call.name, errors)
    if wanted:
        spec["ephemeralContainers"] = wanted


def _take_resources(call: Call, new: JSONObject, current: JSONObject) -> bool:
    """Whether anything changed."""
    before, wanted = current.get("spec") or {}, new.get("spec") or {}
    errors = [
        forbidden(f"spec.{field}", "containers may not be added or removed on resize")
        for field in CONTAINERS
        if len(wanted.get(field) or ()) != len(before.get(field) or ())
    ]
    if errors:
        raise invalid("", "Pod", call.name, [*spec_errors(wanted, "spec"), *errors])
    spec = resized(before, wanted)
    if errors := resize_errors(before, spec):
        raise invalid("", "Pod", call.name, errors)
    current["spec"] = spec
    return bool(spec != before)
