"""CREATE: decode once, admit, validate, encode once, store."""

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.auth.decisions import require
from karmada.apiserver.auth.model import Attributes
from karmada.apiserver.failures import already_exists, invalid
from karmada.apiserver.requests import decoding, metadata, offload, ownership, reading
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.offload import LARGE
from karmada.apiserver.requests.options import WriteOptions, admission_options, write_options
from karmada.apiserver.resources import FieldError, JSONObject
from karmada.apiserver.storage.base import Mismatch
from karmada.machinery.httpserver.failure import Failure

_GENERATED_NAME_TRIES = 8


async def create(context: Context, call: Call) -> Answer:
    """Create the object in the body."""
    options = write_options(dict(call.params), "CreateOptions")
    obj = await decoding.decode(context, call, options.field_validation)
    return await create_object(context, call, obj, options)


async def create_missing(
    context: Context, call: Call, obj: JSONObject, options: WriteOptions, managed: bool = False
) -> Answer:
    """Create the object that was to be changed, for those who may create it: who may change it need not."""
    type_ = call.served.type
    asked = (type_.group, type_.version, type_.plural, call.subresource, call.namespace, call.name)
    require(context.authorizer, call.user, Attributes("create", *asked))
    return await create_object(context, call, obj, options, managed)


async def create_object(
    context: Context, call: Call, obj: JSONObject, options: WriteOptions, managed: bool = False
) -> Answer:
    """Create an object; `managed` says that its managedFields are already those of this request."""
    served = call.served
    type_ = served.type
    strategy = type_.strategy
    size = offload.size_of(call)
    meta = metadata.ensure(obj)
    metadata.check_namespace(call, meta)
    metadata.wipe(meta)
    if not managed:
        if size < LARGE:
            ownership.track(context, call, obj, None, options.field_manager)
        else:
            await offload.run(size, ownership.track, context, call, obj, None, options.field_manager)
    request = AdmissionRequest(
        Operation.CREATE,
        type_,
        call.namespace,
        "" if managed else meta.get("name") or "",
        "",
        obj,
        None,
        call.user,
        admission_options(options, "CreateOptions"),
        options.dry_run,
        warnings=call.warnings,
    )
    await context.admission.mutate(request)
    obj = request.object or obj
    meta = metadata.ensure(obj)
    generated = bool(meta.get("generateName")) and not meta.get("name")
    for attempt in range(_GENERATED_NAME_TRIES):
        if generated:
            meta.pop("name", None)
        metadata.fill(context, meta, strategy.generation)
        if not meta.get("name"):
            raise refuse_nameless(call)
        if attempt == 0:
            strategy.prepare_create(obj)
            if size < LARGE:
                decoding.validate(call, obj, None)
            else:
                await offload.run(size, decoding.validate, call, obj, None)
            metadata.tidy(meta)
        request.name = meta["name"]
        if attempt == 0:
            await context.admission.validate(request)
        try:
            return await _store(context, call, obj, options, size)
        except Mismatch:
            if not generated or attempt == _GENERATED_NAME_TRIES - 1:
                raise _exists(context, call, meta["name"]) from None
    raise AssertionError("the last try either answers or raises")


async def _store(context: Context, call: Call, obj: JSONObject, options: WriteOptions, size: int) -> Answer:
    served = call.served
    name: str = obj["metadata"]["name"]
    if options.dry_run:
        if context.store.get(served.key, call.namespace, name) is not None:
            raise Mismatch(name, 0, 1)
        return await reading.tree(call, obj, 201, size)
    stored = await decoding.for_storage(context, served, obj)
    encode = stored.served.encode
    value = encode(stored.obj) if size < LARGE else await offload.run(size, encode, stored.obj)
    item = await context.store.create(served.key, call.namespace, name, value, stored.served.index(stored.obj))
    return await reading.one(call, item.body, 201)


def _exists(context: Context, call: Call, name: str) -> Failure:
    type_ = call.served.type
    failure = already_exists(type_.group, type_.plural, name)
    item = context.store.get(call.served.key, call.namespace, name)
    if item is not None and item.ends:
        failure.message = f"object is being deleted: {failure.message}"
    return failure


def refuse_nameless(call: Call) -> Failure:
    """An object with neither name nor generateName."""
    text = "Required value: name or generateName is required"
    error = FieldError("FieldValueRequired", "metadata.name", text)
    return invalid(call.served.type.group, call.served.kind, "", [error])
