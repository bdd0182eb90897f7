"""UPDATE, and the one loop behind every change of an existing object: read, change, admit, validate, write if changed.

A change that changes nothing is answered with the object as it is, at its old revision. An object that is being
deleted disappears with the change that removes its last finalizer. Changes of one object wait for each other; those
that lost a race with other writes are tried again unless the client named the revision it saw.
"""

from collections.abc import Awaitable, Callable
from enum import Enum

import msgspec
import orjson

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import conflict, invalid, not_found
from karmada.apiserver.requests import decoding, metadata, offload, ownership, reading
from karmada.apiserver.requests.create import create_missing
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.offload import LARGE
from karmada.apiserver.requests.options import WriteOptions, admission_options, write_options
from karmada.apiserver.requests.turns import Place, TooManyWaiting, Turns
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.apiserver.schema.update_checks import CUSTOM, as_change, looks_at
from karmada.apiserver.storage.base import Mismatch
from karmada.apiserver.watchcache import Item
from karmada.machinery.httpserver.failure import Failure

_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
_TRIES = 100
_COUNTED_PARTS = ("ephemeralcontainers", "resize")
"""Subresources through which a spec changes."""


class Part(Enum):
    """Which part of an object a change goes through."""

    MAIN = ""
    STATUS = "status"
    OTHER = "other"
    """A subresource with rules of its own; nothing is prepared or validated here beyond the schema."""


class Change(msgspec.Struct, eq=False):
    """A wanted change of one object."""

    call: Call
    options: WriteOptions
    build: Callable[[JSONObject], Awaitable[JSONObject] | JSONObject]
    """The new object from the current one, which it may change unless it shares parts with it. It looks at nothing else
    that changes: of a large object, it is made in another thread."""
    part: Part = Part.MAIN
    managed: bool = False
    """`build` keeps managedFields itself (apply)."""
    admitted: bool = False
    """Admission has judged the change already, in another form."""
    validated: bool = False
    """The whole object is validated, be it changed through a subresource with rules of its own."""
    sharing: bool = False
    """`build` leaves the current object alone and gives one that shares parts with it."""
    tries: int = _TRIES
    view: Callable[[JSONObject], JSONObject] | None = None
    """What admission sees instead of the object, where the subresource has a kind of its own."""
    view_kind: tuple[str, str, str] | None = None
    """Group, version and kind of the view."""


async def update(context: Context, call: Call) -> Answer:
    """Replace the object with the one in the body."""
    options = write_options(dict(call.params), "UpdateOptions")
    try:
        obj = await decoding.decode(context, call, options.field_validation)
    except Failure as failure:
        if failure.code == 422 and _current(context, call) is None:
            raise not_found(call.served.type.group, call.served.type.plural, call.name) from None
        raise
    meta = metadata.ensure(obj)
    metadata.check_name(call, meta)
    metadata.check_namespace(call, meta)
    part = Part.STATUS if call.subresource == "status" else Part.MAIN
    strategy = call.served.type.strategy
    if strategy.create_on_update and part is Part.MAIN and _current(context, call) is None:
        meta.pop("resourceVersion", None)
        _check_uid(call, meta, "", context.key_prefix)
        return await create_missing(context, call, obj, options)
    if not strategy.unconditional_update and not meta.get("resourceVersion"):
        current = _current(context, call)
        if current is not None:
            _check_uid(call, meta, current.index.uid, context.key_prefix)
            text = "Invalid value: 0: must be specified for an update"
            error = FieldError("FieldValueInvalid", "metadata.resourceVersion", text)
            raise invalid(call.served.type.group, call.served.type.plural, call.name, [error])
    first = [obj]
    copy = None if isinstance(call.body, bytes) else orjson.dumps(obj)

    def build(_: JSONObject) -> Awaitable[JSONObject] | JSONObject:
        """The object of the request; writing changes it, so that another try needs another one."""
        if first:
            return first.pop()
        if copy is None:
            return _read_again(context, call, options.field_validation)
        again: JSONObject = orjson.loads(copy)
        return again

    return await modify(context, Change(call, options, build, part, sharing=True))


async def _read_again(context: Context, call: Call, field_validation: str) -> JSONObject:
    """The object in the body, as it was judged before: nothing is said of it twice."""
    said = len(call.warnings)
    obj = await decoding.decode(context, call, field_validation)
    del call.warnings[said:]
    meta = metadata.ensure(obj)
    metadata.check_name(call, meta)
    metadata.check_namespace(call, meta)
    return obj


def _current(context: Context, call: Call) -> Item | None:
    return context.store.get(call.served.key, call.namespace, call.name)


async def modify(context: Context, change: Change) -> Answer:
    """Carry out a change."""
    return await reading.one(change.call, await changed(context, change))


async def changed(context: Context, change: Change) -> bytes:
    """Carry out a change in its turn; the encoded object as it is afterwards."""
    call, turns = change.call, context.turns
    place = (call.served.key, call.namespace, call.name)
    try:
        turn = await _turn(turns, place)
    except TooManyWaiting:
        raise conflict(call.served.type.group, call.served.type.plural, call.name, _MODIFIED) from None
    try:
        return await _changed(context, change)
    finally:
        turns.end(place, turn)


async def _turn(turns: Turns, place: Place) -> int:
    """A turn with an object. Who has to wait leaves its seat meanwhile: whoever has the turn may need one to go on."""
    seat = offload.seat() if turns.is_taken(place) else None
    if seat is None:
        return await turns.take(place)
    seat.give_back()
    turn = await turns.take(place)
    try:
        await seat.take(refusable=False)
    except BaseException:
        turns.end(place, turn)
        raise
    return turn


async def _changed(context: Context, change: Change) -> bytes:
    call = change.call
    served = call.served
    type_ = served.type
    for _ in range(change.tries):
        item = context.store.get(served.key, call.namespace, call.name)
        if item is None:
            raise not_found(type_.group, type_.plural, call.name)
        body = item.body
        size = offload.size_of(call, len(body))
        if size >= LARGE or reading.may_differ(served):
            trees = await reading.objects(served, [item] if change.sharing else [item, item])
            old, current = trees[0], trees[-1]
        else:  # Almost every object is small and stored as it is served: reading it needs no coroutine.
            old = orjson.loads(body)
            current = old if change.sharing else orjson.loads(body)
        built = change.build(current) if size < LARGE else await offload.run(size, change.build, current)
        new = built if isinstance(built, dict) else await built
        named = _check_version(call, new, item, context.key_prefix)
        try:
            return await _write(context, change, item, new, old, size)
        except Mismatch:
            if named:
                break
    raise conflict(type_.group, type_.plural, call.name, _MODIFIED)


def _check_version(call: Call, new: JSONObject, item: Item, prefix: str) -> bool:
    """Compare the revision the client saw; whether it named one."""
    type_ = call.served.type
    meta = metadata.ensure(new)
    version = meta.get("resourceVersion")
    if call.verb == "update":
        _check_uid(call, meta, item.index.uid, prefix)
    if version in (None, "", "0"):
        return False
    if version == str(item.revision):
        return call.verb == "update"
    if not str(version).isdigit():
        raise Failure(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')
    raise conflict(type_.group, type_.plural, call.name, _MODIFIED)


def _check_uid(call: Call, meta: JSONObject, current: str, prefix: str) -> None:
    """The uid that a client names must be the object's, which is empty where there is none."""
    given, type_ = meta.get("uid"), call.served.type
    if not given or given == current:
        return
    where = f"{prefix}/{type_.plural}/{call.namespace}/{call.name}".replace("//", "/")
    text = f"Precondition failed: UID in precondition: {given}, UID in object meta: {current}"
    why = f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, AdditionalErrorMsg: {text}"
    raise conflict(type_.group, type_.plural, call.name, why)


async def _write(context: Context, change: Change, item: Item, new: JSONObject, old: JSONObject, size: int) -> bytes:
    call = change.call
    served = call.served
    looks = CUSTOM if served.type.custom else looks_at(served.type.group, served.kind)
    status = change.part is Part.STATUS
    if status:
        decoding.keep_metadata(new["metadata"], old["metadata"], looks.kept)
    wrong = metadata.keep(new["metadata"], old["metadata"])
    errors = wrong * as_change(looks.status if status else looks.main)
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if size < LARGE:
        _track(context, change, new, old)
    else:
        await offload.run(size, _track, context, change, new, old)
    view = change.view
    request = AdmissionRequest(
        Operation.UPDATE,
        served.type,
        call.namespace,
        call.name,
        call.subresource,
        new if view is None else view(new),
        old if view is None else view(old),
        call.user,
        admission_options(change.options, "UpdateOptions"),
        change.options.dry_run,
        change.view_kind,
        call.warnings,
        verb=call.verb,
    )
    if not change.admitted:
        await context.admission.mutate(request)
    if view is None and request.object is not None and request.object is not new:
        new = request.object
        metadata.keep(metadata.ensure(new), old["metadata"])
        _prepare(change, new, old)
    if size < LARGE:
        _validate(change, new, old, errors)
    else:
        await offload.run(size, _validate, change, new, old, errors)
    if not change.admitted:
        await context.admission.validate(request)
    if not change.options.dry_run and (
        ownership.unchanged(new, old) if size < LARGE else await offload.run(size, ownership.unchanged, new, old)
    ):
        if item.revision >= served.since:
            return item.body
        new = old  # It may have been stored in another version, or before the schema got a default.
    stored = await decoding.for_storage(context, served, new)
    if change.options.dry_run:
        return await offload.run(size, orjson.dumps, stored.obj)
    encode = stored.served.encode
    value = encode(stored.obj) if size < LARGE else await offload.run(size, encode, stored.obj)
    if new is old and value.at(item.revision) == item.body:
        return item.body
    if _is_finished(new):
        last = await decoding.for_storage(context, served, old)
        final = await offload.run(size, last.served.encode, last.obj)
        await context.store.delete(served.key, call.namespace, call.name, final, item.revision)
        return value.at(item.revision)
    written = await context.store.update(
        served.key, call.namespace, call.name, value, stored.served.index(stored.obj), item.revision
    )
    return written.body


def _track(context: Context, change: Change, new: JSONObject, old: JSONObject) -> None:
    """Make the writer own what it gives, also where that changes nothing; take over what the part does not change."""
    if not change.managed:
        ownership.track(context, change.call, new, old, change.options.field_manager)
    _prepare(change, new, old)


def _validate(change: Change, new: JSONObject, old: JSONObject, errors: list[FieldError]) -> None:
    """Refuse what breaks the rules of the type, and count a new generation; `errors` are found already."""
    call, served = change.call, change.call.served
    if change.part is not Part.OTHER or change.validated:
        decoding.validate(call, new, old, errors, change.part is Part.STATUS)
    elif errors:
        raise invalid(served.type.group, served.kind, call.name, errors)
    meta = new["metadata"]
    metadata.tidy(meta)
    counted = change.part is Part.MAIN or call.subresource in _COUNTED_PARTS
    if served.type.strategy.generation and counted and not metadata.same_generation(served.type, new, old):
        meta["generation"] = old["metadata"].get("generation", 0) + 1


def _is_finished(obj: JSONObject) -> bool:
    """Whether a deletion waits for nothing any more: no finalizer, no grace period."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds"):
        return False
    return obj.get("kind") != "Namespace" or not (obj.get("spec") or {}).get("finalizers")


def _prepare(change: Change, new: JSONObject, old: JSONObject) -> None:
    if change.part is Part.STATUS:
        decoding.prepare_status(change.call.served, new, old)
    elif change.part is Part.MAIN:
        decoding.prepare_update(change.call.served, new, old)
