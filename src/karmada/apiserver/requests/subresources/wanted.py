"""What a request to a subresource wants of an object: a body, a patched object or an applied configuration."""

from collections.abc import Callable
from typing import NamedTuple

from karmada.apiserver.requests import apply, decoding, metadata, patch
from karmada.apiserver.requests.model import Call, Context
from karmada.apiserver.requests.options import WriteOptions, write_options
from karmada.apiserver.resources import JSONObject
from karmada.machinery.transport import PatchType


class Wanted(NamedTuple):
    """The object that is wanted, given the current one, which is not changed; `managed` if it tracks its owners."""

    options: WriteOptions
    object: Callable[[JSONObject], JSONObject]
    managed: bool = False


async def wanted(context: Context, call: Call) -> Wanted:
    """Read the body of a PUT or a PATCH."""
    if call.verb == "update":
        options = write_options(dict(call.params), "UpdateOptions")
        body = await decoding.decode(context, call, options.field_validation)
        metadata.check_name(call, metadata.ensure(body))
        return Wanted(options, lambda current: body)
    kind = patch.patch_type(call)
    if kind is PatchType.APPLY:
        return await _applied(context, call)
    options = write_options(dict(call.params), "PatchOptions")
    document = await patch.read(call, kind)

    def patched(current: JSONObject) -> JSONObject:
        new: JSONObject = patch.patched(call, kind, document.tree, decoding.copied(current))
        decoding.conform(call, new, options.field_validation, warnings=document.warnings)
        return new

    return Wanted(options, patched)


async def _applied(context: Context, call: Call) -> Wanted:
    options = write_options(dict(call.params), "PatchOptions", apply=True)
    config = await apply.configuration(context, call)
    meta = {"name": call.name, **metadata.ensure(config)}
    metadata.check_name(call, meta)
    metadata.check_namespace(call, meta)
    return Wanted(options, lambda current: apply.applied(context, call, options, config, current), managed=True)
