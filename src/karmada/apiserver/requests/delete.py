"""DELETE and DELETECOLLECTION.

An object without finalizers goes at once; with them it is marked and goes when the last one is removed. How
dependents are treated is a finalizer too (`orphan`, `foregroundDeletion`), left to the garbage collector. Pods are
given their grace period first: they are marked, and go when someone deletes them with a grace period of zero.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import orjson

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import not_found
from karmada.apiserver.requests import bodies, decoding, offload, reading
from karmada.apiserver.requests.list import page_metadata, read_page
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.options import DeleteOptions, delete_options, list_options
from karmada.apiserver.requests.selection import select
from karmada.apiserver.resources import JSONObject, ResourceType
from karmada.apiserver.storage.base import Mismatch
from karmada.apiserver.watchcache import Item
from karmada.machinery.clock import rfc3339
from karmada.machinery.httpserver.failure import Failure, bad_request

_ANSWERED_WITH_OBJECT = frozenset(
    {
        ("", "persistentvolumeclaims"),
        ("", "persistentvolumes"),
        ("", "pods"),
        ("", "podtemplates"),
        ("", "resourcequotas"),
        ("", "serviceaccounts"),
        ("", "services"),
        ("resource.k8s.io", "deviceclasses"),
        ("resource.k8s.io", "resourceclaims"),
        ("resource.k8s.io", "resourceclaimtemplates"),
        ("resource.k8s.io", "resourceslices"),
        ("storage.k8s.io", "csidrivers"),
        ("storage.k8s.io", "csinodes"),
        ("storage.k8s.io", "storageclasses"),
        ("storage.k8s.io", "volumeattachments"),
        ("storage.k8s.io", "volumeattributesclasses"),
    }
)
"""Kinds whose deletion is answered with the deleted object instead of a Status."""
_ORPHANED_BY_DEFAULT = frozenset({("", "replicationcontrollers"), ("batch", "jobs")})
_WITHOUT_DEPENDENTS = ("", "events")
"""Nothing may belong to an event, so no policy concerns it."""
_LEFT_BEHIND = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_POLICY_FINALIZERS = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}
DEFINITION_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
"""Keeps a CRD until its objects are gone."""
_TRIES = 100
_TOGETHER = 50
"""Members of a collection deleted at the same time: durable stores commit them together."""


class _Admitted(NamedTuple):
    """An object whose deletion nobody refused, as it was then."""

    item: Item
    tree: JSONObject


class Deleted(NamedTuple):
    """How a deletion went: the object afterwards, of about some size, and whether it is gone."""

    obj: JSONObject
    gone: bool
    size: int
    written: bytes | None = None
    """The encoded object, if anything was written."""


async def delete(context: Context, call: Call) -> Answer:
    """Delete one object."""
    options = delete_options(dict(call.params), await _options_body(call))
    _warn(call, options)
    deleted = await delete_object(context, call, options)
    served = call.served
    if not deleted.gone or served.key in _ANSWERED_WITH_OBJECT:
        code = 202 if not deleted.gone and options.orphan is False else 200
        if deleted.written is not None:
            return await reading.one(call, deleted.written, code)
        return await reading.tree(call, deleted.obj, code, deleted.size)
    return Answer(200, orjson.dumps(_success(served.type, call.name, deleted.obj["metadata"].get("uid", ""))))


def _warn(call: Call, options: DeleteOptions) -> None:
    """Who deletes jobs the old way leaves their pods behind."""
    if call.served.key == ("batch", "jobs") and not options.policy and options.orphan is None:
        call.warnings.append(_LEFT_BEHIND)


def _success(type_: ResourceType, name: str, uid: str) -> JSONObject:
    details = {"name": name, "group": type_.group, "kind": type_.plural, "uid": uid}
    if not type_.group:
        del details["group"]
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


async def delete_collection(context: Context, call: Call) -> Answer:
    """Delete every object that the selectors match; answer with the list of them as they were."""
    options = delete_options(dict(call.params), await _options_body(call))
    listing = list_options(dict(call.params), watch=False)
    selection = await select(call.served, listing.label_selector, listing.field_selector)
    page = await read_page(context, call, listing, selection)
    _warn(call, options)
    served = call.served
    size = sum(item.size for item in page.items)
    items = await reading.objects(served, page.items)
    for start in range(0, len(page.items), _TOGETHER):
        await _delete_members(context, call, options, page.items[start : start + _TOGETHER])
    if not served.type.custom:
        for obj in items:
            obj.pop("apiVersion", None)
            obj.pop("kind", None)
    body = {
        "kind": served.list_kind,
        "apiVersion": served.api_version,
        "metadata": page_metadata(call, page, selection),
        "items": items,
    }
    return Answer(200, await offload.run(size, orjson.dumps, body))


async def _delete_members(context: Context, call: Call, options: DeleteOptions, items: Sequence[Item]) -> None:
    """Delete some of a collection: admission sees one after the other, and those after a refused one stay."""
    admitted: list[tuple[Call, _Admitted]] = []
    refusal: Failure | None = None
    for item in items:
        single = Call(
            "delete",
            call.served,
            call.user,
            item.namespace,
            item.name,
            params=call.params,
            agent=call.agent,
            warnings=call.warnings,
        )
        try:
            admitted.append((single, await _admitted(context, single, options, collection=True)))
        except Failure as failure:
            if failure.code == 404:
                continue
            refusal = failure
            break
    deletions = (_delete_admitted(context, single, options, found, collection=True) for single, found in admitted)
    for outcome in await asyncio.gather(*deletions, return_exceptions=True):
        if isinstance(outcome, BaseException) and not (isinstance(outcome, Failure) and outcome.code == 404):
            raise outcome
    if refusal is not None:
        raise refusal


async def _options_body(call: Call) -> JSONObject | None:
    if not call.body:
        return None
    body = await bodies.read(call, "DeleteOptions", lambda tree, _: tree)
    if not isinstance(body, dict):
        if body is None:
            return None
        raise bad_request(f"couldn't get version/kind; json parse error: {bodies.not_an_object(body)}")
    kind = body.get("kind", "DeleteOptions")
    if kind != "DeleteOptions":
        raise bad_request(f"decoded object cannot be converted to DeleteOptions: {kind}")
    return body


async def delete_object(context: Context, call: Call, options: DeleteOptions) -> Deleted:
    """Delete or mark one object, whatever comes in between."""
    return await _delete_admitted(context, call, options, await _admitted(context, call, options))


async def _admitted(context: Context, call: Call, options: DeleteOptions, collection: bool = False) -> _Admitted:
    """Have admission judge a deletion; as part of a collection it sees no name."""
    item = context.store.get(call.served.key, call.namespace, call.name)
    if item is None:
        raise not_found(call.served.type.group, call.served.type.plural, call.name)
    tree = await reading.decoded(call.served, item.body)
    await _admit(context, call, tree, options, collection)
    return _Admitted(item, tree)


async def _delete_admitted(
    context: Context, call: Call, options: DeleteOptions, admitted: _Admitted, collection: bool = False
) -> Deleted:
    for _ in range(_TRIES):
        _check_preconditions(call, options, admitted.item)
        try:
            return await _delete(context, call, options, admitted.item, admitted.tree)
        except Mismatch:
            # It may be protected by now.
            admitted = await _admitted(context, call, options, collection)
    raise Failure(409, "Conflict", f"{call.served.type.plural} {call.name} keeps changing; try again")


async def _admit(context: Context, call: Call, old: JSONObject, options: DeleteOptions, collection: bool) -> None:
    body: JSONObject = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1"}
    if options.grace_seconds is not None:
        body["gracePeriodSeconds"] = options.grace_seconds
    given = {"uid": options.uid, "resourceVersion": options.resource_version}
    if given := {key: value for key, value in given.items() if value is not None}:
        body["preconditions"] = given
    if options.policy:
        body["propagationPolicy"] = options.policy
    if options.orphan is not None:
        body["orphanDependents"] = options.orphan
    if options.dry_run:
        body["dryRun"] = ["All"]
    request = AdmissionRequest(
        Operation.DELETE,
        call.served.type,
        call.namespace,
        call.name,
        "",
        None,
        old,
        call.user,
        body,
        options.dry_run,
        warnings=call.warnings,
    )
    if collection:
        request.name = ""
    await context.admission.mutate(request)
    await context.admission.validate(request)


def _check_preconditions(call: Call, options: DeleteOptions, item: Item) -> None:
    kind = call.served.kind
    if options.uid is not None and options.uid != item.index.uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({item.index.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise _precondition(call, kind, why)
    if options.resource_version is not None and options.resource_version != str(item.revision):
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
            f"ResourceVersion in record ({item.revision}). The object might have been modified"
        )
        raise _precondition(call, kind, why)


def _precondition(call: Call, kind: str, why: str) -> Failure:
    group = call.served.type.group
    subject = f"{kind}.{group}" if group else kind
    details = {"name": call.name, "group": group, "kind": kind}
    if not group:
        del details["group"]
    return Failure(409, "Conflict", f'Operation cannot be fulfilled on {subject} "{call.name}": {why}', details)


async def _delete(context: Context, call: Call, options: DeleteOptions, item: Item, obj: JSONObject) -> Deleted:
    served = call.served
    metadata = obj["metadata"]
    grace, changed = _grace(served.type, options, obj)
    if served.type.strategy.graceful_seconds is not None and "deletionTimestamp" in metadata and not changed:
        return Deleted(obj, False, item.size)  # it is ending already
    finalizers = _finalizers(served.type, metadata.get("finalizers") or [], options)
    if served.type.kind == "CustomResourceDefinition" and not finalizers and "deletionTimestamp" not in metadata:
        finalizers = [DEFINITION_FINALIZER]
    if finalizers != (metadata.get("finalizers") or []):
        metadata["finalizers"] = finalizers
        if not finalizers:
            del metadata["finalizers"]
        changed = True
    if _is_namespace(served.type) and (obj.get("spec") or {}).get("finalizers"):
        return await _mark_namespace(context, call, options, item, obj)
    if finalizers or grace > 0:
        if "deletionTimestamp" not in metadata or changed:
            changed = True
            _mark(context, served.type, metadata, grace)
            if served.type.kind == "CustomResourceDefinition":
                obj["status"] = _terminating(context, obj)
        if not changed or options.dry_run:
            return Deleted(obj, False, item.size)
        return await _marked(context, call, item, obj)
    expected = item.revision
    if served.type.strategy.graceful_seconds is not None and metadata.get("deletionGracePeriodSeconds") != 0:
        _mark(context, served.type, metadata, 0)
        if not options.dry_run:
            expected = (await _write(context, call, item, obj)).revision
    if options.dry_run:
        return Deleted(obj, True, item.size)
    stored = await decoding.for_storage(context, served, obj)
    value = await offload.run(item.size, stored.served.encode, stored.obj)
    try:
        revision = await context.store.delete(served.key, call.namespace, call.name, value, expected)
    except Mismatch:
        if expected == item.revision or not _is_gone(context, call, item):
            raise
        # Any write to an object that is marked with no time left removes it.
        return Deleted(obj, True, item.size, value.at(expected))
    return Deleted(obj, True, item.size, value.at(revision))


def _is_gone(context: Context, call: Call, item: Item) -> bool:
    present = context.store.get(call.served.key, call.namespace, call.name)
    return present is None or present.index.uid != item.index.uid


def _grace(type_: ResourceType, options: DeleteOptions, obj: JSONObject) -> tuple[int, bool]:
    """Seconds the object is still given, and whether that differs from what it was given before."""
    graceful = type_.strategy.graceful_seconds
    if graceful is None:
        return 0, False
    metadata = obj["metadata"]
    wanted = options.grace_seconds if options.grace_seconds is not None else graceful(obj)
    if wanted < 0:
        wanted = 1
    if type_.plural == "pods" and (
        not (obj.get("spec") or {}).get("nodeName") or (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded")
    ):
        wanted = 0
    if "deletionTimestamp" not in metadata:
        return wanted, True
    current = metadata.get("deletionGracePeriodSeconds", 0)
    if options.grace_seconds is None or wanted >= current:
        return current, False
    return wanted, True


def _finalizers(type_: ResourceType, finalizers: list[str], options: DeleteOptions) -> list[str]:
    """The finalizers with the one of the propagation policy, and without those of other policies."""
    if type_.stored_as == _WITHOUT_DEPENDENTS:
        return finalizers
    policy = options.policy
    if options.orphan is not None:
        policy = "Orphan" if options.orphan else "Background"
    if not policy:
        if type_.stored_as not in _ORPHANED_BY_DEFAULT or set(finalizers) & set(_POLICY_FINALIZERS.values()):
            return finalizers
        policy = "Orphan"
    wanted = _POLICY_FINALIZERS.get(policy)
    kept = [item for item in finalizers if item not in _POLICY_FINALIZERS.values()]
    return [*kept, wanted] if wanted else kept


def _mark(context: Context, type_: ResourceType, metadata: JSONObject, grace: int) -> None:
    first = "deletionTimestamp" not in metadata
    if type_.kind == "CustomResourceDefinition":
        # Neither a grace period nor a new generation: a controller ends it.
        metadata.setdefault("deletionTimestamp", rfc3339(context.now()))
        return
    if not first and grace and grace >= metadata.get("deletionGracePeriodSeconds", 0):
        return
    if first or type_.strategy.graceful_seconds is not None:
        metadata["deletionTimestamp"] = rfc3339(context.now() + grace)
        metadata["deletionGracePeriodSeconds"] = grace
    if first and "generation" in metadata:
        metadata["generation"] += 1


def _terminating(context: Context, crd: JSONObject) -> JSONObject:
    from karmada.apiserver.crds.status import terminating

    text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
    return terminating(crd, "InstanceDeletionPending", text, rfc3339(context.now()))


def _is_namespace(type_: ResourceType) -> bool:
    return type_.plural == "namespaces" and type_.group == ""


async def _mark_namespace(context: Context, call: Call, options: DeleteOptions, item: Item, obj: JSONObject) -> Deleted:
    """A namespace terminates: its content goes first, then its own finalizers (see `controllers.namespaces`)."""
    metadata = obj["metadata"]
    if "deletionTimestamp" in metadata:
        return Deleted(obj, False, item.size)
    metadata["deletionTimestamp"] = rfc3339(context.now())
    obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    if options.dry_run:
        return Deleted(obj, False, item.size)
    return await _marked(context, call, item, obj)


async def _marked(context: Context, call: Call, item: Item, obj: JSONObject) -> Deleted:
    written = await _write(context, call, item, obj)
    return Deleted(obj, False, written.size, written.body)


async def _write(context: Context, call: Call, item: Item, obj: JSONObject) -> Item:
    served = call.served
    stored = await decoding.for_storage(context, served, obj)
    value = await offload.run(item.size, stored.served.encode, stored.obj)
    index = stored.served.index(stored.obj)
    return await context.store.update(served.key, call.namespace, call.name, value, index, item.revision)
