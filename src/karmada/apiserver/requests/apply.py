"""Server-side apply: PATCH with a configuration that one manager wants to hold."""

from typing import Any

from karmada.api import field_errors
from karmada.apiserver import managedfields
from karmada.apiserver.failures import conflict, invalid
from karmada.apiserver.requests import bodies, decoding, metadata, offload
from karmada.apiserver.requests.create import create_missing
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.options import WriteOptions, write_options
from karmada.apiserver.requests.update import Change, Part, modify
from karmada.apiserver.resources import JSONObject
from karmada.machinery.clock import rfc3339
from karmada.machinery.httpserver.failure import bad_request


async def apply(context: Context, call: Call) -> Answer:
    """Apply the configuration in the body; creates the object when there is none."""
    options = write_options(dict(call.params), "PatchOptions", apply=True)
    config = await configuration(context, call)
    bare = "metadata" not in config
    meta = dict(metadata.ensure(config))  # checks fill it in; the configuration stays as it was sent
    item = context.store.get(call.served.key, call.namespace, call.name)
    if item is not None:
        meta.setdefault("name", call.name)
    metadata.check_name(call, meta)
    metadata.check_namespace(call, meta)
    created_by_status = call.subresource == "status" and call.served.type.strategy.create_by_status
    if item is None and (not call.subresource or created_by_status):
        if uid := meta.get("uid"):  # It names the object that is to be changed, not one in its place.
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise conflict(call.served.type.group, call.served.type.plural, call.name, why)
        obj = await offload.run(offload.size_of(call), applied, context, call, options, config, None)
        obj["metadata"].pop("resourceVersion", None)
        return await create_missing(context, call, obj, options, managed=True)
    part = Part.STATUS if call.subresource == "status" else Part.MAIN

    def build(current: JSONObject) -> JSONObject:
        if bare and _owned_metadata(call, options, current):
            metadata.check_name(call, {})  # What the manager gives up takes the rest of the metadata along.
        made = applied(context, call, options, config, current)
        if meta.get("uid") not in (None, "", current["metadata"].get("uid")):  # A conflict comes first.
            error = field_errors.invalid("metadata.uid", meta["uid"], "field is immutable")
            raise invalid(call.served.type.group, call.served.kind, call.name, [error])
        return made

    change = Change(
        call,
        options,
        build,
        part,
        managed=True,
    )
    return await modify(context, change)


def _owned_metadata(call: Call, options: WriteOptions, current: JSONObject) -> bool:
    """Whether the manager applied metadata the last time."""
    who = (options.field_manager, "Apply", call.served.api_version, call.subresource)
    return any(
        "f:metadata" in entry.get("fieldsV1", {})
        for entry in current["metadata"].get("managedFields") or ()
        if (entry.get("manager"), entry.get("operation"), entry.get("apiVersion"), entry.get("subresource", "")) == who
    )


async def configuration(context: Context, call: Call) -> JSONObject:
    """The configuration in the body, of the served kind and version."""
    body = await read(call)
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if (api_version, kind) != (call.served.api_version, call.served.kind):
        raise bad_request(f"invalid object type: {_spelt(api_version)}, Kind={kind if isinstance(kind, str) else ''}")
    return bodies.check_kind(context.catalog, call, body, call.served)


async def read(call: Call) -> JSONObject:
    """The configuration in the body, YAML or JSON, of any kind; the loop goes on meanwhile if it is large."""
    body, tree = call.body, None
    if not isinstance(body, bytes):
        tree = body
    elif body[:1] == b"{":
        tree = await offload.run(offload.size_of(call), bodies.plain_json, body)
    if tree is None and isinstance(body, bytes):
        try:
            tree = await offload.run(offload.size_of(call, as_yaml=True), bodies.configuration, body)
        except ValueError as error:
            raise bad_request(f"error decoding YAML: {error}") from None
    if not isinstance(tree, dict):
        raise bad_request("error decoding YAML: a configuration must be an object")
    return tree


def _spelt(api_version: Any) -> str:
    """A group version with its group, be that empty."""
    text = api_version if isinstance(api_version, str) else ""
    return text if "/" in text else f"/{text}"


def applied(
    context: Context, call: Call, options: WriteOptions, config: JSONObject, current: JSONObject | None
) -> JSONObject:
    """The object after the configuration is applied to it, decoded and defaulted."""
    served = call.served
    obj = managedfields.apply(
        current,
        config,
        served.type.schema,
        options.field_manager,
        options.force,
        served.api_version,
        call.subresource,
        rfc3339(context.now()),
        managedfields.reset_fields(served.type, call.subresource),
    )
    obj["metadata"].setdefault("name", call.name)
    if served.type.namespaced:
        obj["metadata"].setdefault("namespace", call.namespace)
    decoding.conform(call, obj, "Ignore")  # What is unknown has been refused, but for what goes without a word.
    return obj
