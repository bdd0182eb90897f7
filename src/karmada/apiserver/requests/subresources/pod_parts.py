"""`pods/ephemeralcontainers` and `pods/resize`: subresources that change one part of a running pod."""

from collections.abc import Callable

from karmada.apiserver.builtin.strategies.pod_validation import ephemeral_errors, spec_errors
from karmada.apiserver.failures import invalid, not_found
from karmada.apiserver.requests import decoding, metadata, patch, reading
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.options import write_options
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
    options = write_options(dict(call.params), "UpdateOptions" if call.verb == "update" else "PatchOptions")
    if call.verb == "update":
        body = decoding.decode(context, call, options.field_validation)
        metadata.check_name(call, metadata.ensure(body))

        def wanted(current: JSONObject) -> JSONObject:
            return body

    else:
        kind = patch.patch_type(call)
        document = patch.patch_body(call, kind)

        def wanted(current: JSONObject) -> JSONObject:
            new: JSONObject = patch.patched(call, kind, document, current)
            decoding.conform(call, new, options.field_validation)
            return new

    def build(current: JSONObject) -> JSONObject:
        # The current pod is changed below, and patches share its parts.
        new = wanted(decoding.copied(current))
        current["metadata"]["resourceVersion"] = metadata.ensure(new).get("resourceVersion") or ""
        take(call, new, current)
        return current

    return await modify(context, Change(call, options, build, Part.OTHER))


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
    changed = False
    spec = new.get("spec") or {}
    errors = spec_errors(spec, "spec")
    for field in ("containers", "initContainers"):
        if len(spec.get(field) or ()) != len((current.get("spec") or {}).get(field) or ()):
            text = "Forbidden: containers may not be added or removed on resize"
            errors.append(FieldError("FieldValueForbidden", f"spec.{field}", text))
    if errors:
        raise invalid("", "Pod", call.name, errors)
    for field in ("containers", "initContainers"):
        wanted = {container["name"]: container for container in spec.get(field) or ()}
        for container in (current.get("spec") or {}).get(field) or ():
            resources = (wanted.get(container["name"]) or {}).get("resources")
            if resources is not None and resources != container.get("resources"):
                container["resources"] = resources
                changed = True
    return changed
