"""The scale subresource: the replicas of an object as a Scale, for built-in and custom kinds."""

from collections.abc import Callable
from typing import Any

import orjson

from karmada.apiserver.failures import internal, invalid, not_found
from karmada.apiserver.managedfields import scale_config
from karmada.apiserver.requests import apply, bodies, metadata, patch, reading
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.options import WriteOptions, write_options
from karmada.apiserver.requests.patch_errors import undecodable
from karmada.apiserver.requests.update import Change, Part, changed
from karmada.apiserver.resources import FieldError, JSONObject, ScalePaths
from karmada.apiserver.served_resource import dig
from karmada.machinery.httpserver.failure import Failure, bad_request
from karmada.machinery.transport import PatchType

KIND = ("autoscaling", "v1", "Scale")
API_VERSION = "autoscaling/v1"
_INT32 = 1 << 31
_BUILTIN = ScalePaths(".spec.replicas", ".status.replicas", "")


async def scale(context: Context, call: Call) -> Answer:
    """Read or change the Scale of an object."""
    item = context.store.get(call.served.key, call.namespace, call.name)
    if item is None:
        raise not_found(call.served.type.group, call.served.type.plural, call.name)
    if call.verb == "get":
        return _answer(call, await reading.decoded(call.served, item.body))
    bodies.check_small(call, KIND[2])
    if call.verb == "patch" and patch.patch_type(call) is PatchType.APPLY:
        return await _apply(context, call)
    options = write_options(dict(call.params), "UpdateOptions" if call.verb == "update" else "PatchOptions")
    kind = patch.patch_type(call, scale=True) if call.verb == "patch" else None
    if kind is not None:
        document = (await patch.read(call, kind)).tree
    else:
        document = _checked(call, await bodies.read(call, KIND[2], lambda tree, _: tree))

    def build(current: JSONObject) -> JSONObject:
        wanted = _patched(call, kind, document, scale_of(call, current)) if kind is not None else document
        _check(call, wanted)
        meta = metadata.ensure(wanted)
        for field in ("resourceVersion", "uid"):
            if meta.get(field):
                current["metadata"][field] = meta[field]
            else:
                current["metadata"].pop(field, None)
        _set(current, paths_of(call).spec, (wanted.get("spec") or {}).get("replicas") or 0)
        return current

    return _answer(call, await reading.decoded(call.served, await changed(context, _change(call, options, build))))


def _change(
    call: Call, options: WriteOptions, build: Callable[[JSONObject], JSONObject], managed: bool = False
) -> Change:
    return Change(call, options, build, Part.MAIN, managed, view=lambda obj: scale_of(call, obj), view_kind=KIND)


async def _apply(context: Context, call: Call) -> Answer:
    options = write_options(dict(call.params), "PatchOptions", apply=True)
    wanted = _checked(call, await apply.read(call))
    if wanted.get("apiVersion") != API_VERSION:
        raise bad_request(f"invalid object type: {wanted.get('apiVersion') or '/'}, Kind=Scale")
    _check_names(call, wanted)
    _check_type(wanted)
    replicas = (wanted.get("spec") or {}).get("replicas") or 0

    def build(current: JSONObject) -> JSONObject:
        path = paths_of(call).spec
        if dig(current, path) == 0:
            _unset(current, path)  # A Scale does not show none at all, so that nobody is known to want it.
        config = scale_config(current, replicas, path)
        made = apply.applied(context, call, options, config, current)
        _check_range(call, replicas)  # A conflict comes first.
        return made

    body = await changed(context, _change(call, options, build, managed=True))
    return _answer(call, await reading.decoded(call.served, body))


def _checked(call: Call, body: Any) -> JSONObject:
    if not isinstance(body, dict):
        raise bad_request("the body must be a Scale")
    if body.get("kind", "Scale") != "Scale":
        version = str(body.get("apiVersion", "v1")).rpartition("/")[2]
        head = f'{body["kind"]} in version "{version}" cannot be handled as a Scale'
        raise bad_request(f"{head}: converting ({version}.{body['kind']}) to (autoscaling.Scale): unknown conversion")
    if call.verb == "update" and body.get("apiVersion") not in (None, "", API_VERSION):
        given = body["apiVersion"]
        head = f'Scale in version "{str(given).rpartition("/")[2]}" cannot be handled as a Scale'
        raise bad_request(f'{head}: no kind "Scale" is registered for version "{given}"')
    return body


def _patched(call: Call, kind: PatchType, document: Any, current: JSONObject) -> JSONObject:
    """A patched Scale; where it cannot be read any more the patch is to blame."""
    wanted = patch.patched(call, kind, document, current)
    try:
        _check_type(wanted)
    except Failure as failure:
        if kind is PatchType.STRATEGIC:
            raise
        raise undecodable(failure, orjson.dumps(wanted).decode()) from None
    made: JSONObject = wanted
    return made


def _check_type(wanted: JSONObject) -> None:
    replicas = (wanted.get("spec") or {}).get("replicas") or 0
    given = ""
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        given = "string" if isinstance(replicas, str) else "number"
    elif not -_INT32 <= replicas < _INT32:
        given = f"number {replicas}"
    if given:
        text = f"json: cannot unmarshal {given} into Go struct field ScaleSpec.spec.replicas of type int32"
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {text}')


def _check(call: Call, wanted: JSONObject) -> None:
    _check_names(call, wanted)
    _check_type(wanted)
    _check_range(call, (wanted.get("spec") or {}).get("replicas") or 0)


def _check_names(call: Call, wanted: JSONObject) -> None:
    meta = metadata.ensure(wanted)
    metadata.check_name(call, meta)
    if meta.get("namespace") and meta["namespace"] != call.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _check_range(call: Call, replicas: int) -> None:
    if replicas < 0 and call.served.type.custom:
        text = f"Invalid value: {replicas}: should be a non-negative integer"
        path = paths_of(call).spec
        raise invalid(
            call.served.type.group, call.served.kind, call.name, [FieldError("FieldValueInvalid", path, text)]
        )
    if replicas < 0:
        text = f"Invalid value: {replicas}: must be greater than or equal to 0"
        error = FieldError("FieldValueInvalid", "spec.replicas", text)
        raise invalid("autoscaling", "Scale", call.name, [error])


def paths_of(call: Call) -> ScalePaths:
    """Where the kind keeps its replicas and selector."""
    return call.served.type.scale or _BUILTIN


def scale_of(call: Call, obj: JSONObject) -> JSONObject:
    """The Scale of an object."""
    paths = paths_of(call)
    source = obj["metadata"]
    meta = {
        key: source[key]
        for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        if key in source
    }
    spec: JSONObject = {}
    replicas = dig(obj, paths.spec)
    if replicas:
        spec["replicas"] = replicas
    status: JSONObject = {"replicas": dig(obj, paths.status) or 0}
    selector = _selector(obj, paths)
    if selector:
        status["selector"] = selector
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": spec, "status": status}


def _selector(obj: JSONObject, paths: ScalePaths) -> str:
    if paths is not _BUILTIN:
        return str(dig(obj, paths.selector) or "") if paths.selector else ""
    from karmada.api import label_selector

    selector = dig(obj, "spec.selector")
    if obj.get("kind") == "ReplicationController":
        selector = {"matchLabels": selector or {}}
    return str(label_selector.from_json(selector)) if selector else ""


def _set(obj: JSONObject, path: str, value: int) -> None:
    *outer, last = path.strip(".").split(".")
    target = obj
    for key in outer:
        target = target.setdefault(key, {})
    target[last] = value


def _unset(obj: JSONObject, path: str) -> None:
    *outer, last = path.strip(".").split(".")
    target = obj
    for key in outer:
        target = target[key]
    del target[last]


def _answer(call: Call, obj: JSONObject) -> Answer:
    body = scale_of(call, obj)
    if call.served.type.custom and call.served.type.scale is not None and dig(obj, call.served.type.scale.spec) is None:
        path = call.served.type.scale.spec
        raise internal(f'the spec replicas field "{path}" does not exist')
    return Answer(200, orjson.dumps(body))
