"""`namespaces/finalize`: the only part through which a namespace's own finalizers change."""

from karmada.apiserver.requests import decoding, metadata
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.options import write_options
from karmada.apiserver.requests.update import Change, Part, modify
from karmada.apiserver.resources import JSONObject


async def finalize(context: Context, call: Call) -> Answer:
    """Replace a namespace, its own finalizers included, all but the status."""
    options = write_options(dict(call.params), "UpdateOptions")
    wanted = await decoding.decode(context, call, options.field_validation)
    meta = metadata.ensure(wanted)
    metadata.check_name(call, meta)
    metadata.check_namespace(call, meta)

    def build(current: JSONObject) -> JSONObject:
        new = decoding.copied(wanted)  # Writing changes it, and another try needs another one.
        if not new["spec"].get("finalizers"):
            new["spec"].pop("finalizers", None)
        new["status"] = current["status"]
        return new

    return await modify(context, Change(call, options, build, Part.OTHER, validated=True))
