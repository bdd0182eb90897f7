"""`namespaces/finalize`: the only part through which a namespace's own finalizers change."""

from karmada.apiserver.requests import decoding, metadata
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.options import write_options
from karmada.apiserver.requests.update import Change, Part, modify
from karmada.apiserver.resources import JSONObject


async def finalize(context: Context, call: Call) -> Answer:
    """Replace spec.finalizers."""
    options = write_options(dict(call.params), "UpdateOptions")
    wanted = decoding.decode(context, call, options.field_validation)
    meta = metadata.ensure(wanted)
    metadata.check_name(call, meta)
    finalizers = (wanted.get("spec") or {}).get("finalizers") or []

    def build(current: JSONObject) -> JSONObject:
        spec = current.setdefault("spec", {})
        spec["finalizers"] = finalizers
        if not finalizers:
            del spec["finalizers"]
        current["metadata"]["resourceVersion"] = meta.get("resourceVersion") or ""
        return current

    return await modify(context, Change(call, options, build, Part.OTHER))
