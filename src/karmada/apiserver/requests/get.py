"""GET of one object: the stored bytes."""

from karmada.apiserver.failures import not_found
from karmada.apiserver.requests import reading
from karmada.apiserver.requests.freshness import wait_for
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.options import unparsable_version


async def get(context: Context, call: Call) -> Answer:
    """Answer with the object, 404 when there is none."""
    version = call.params.get("resourceVersion") if call.params else None
    if version:
        if not version.isdigit():
            raise unparsable_version(version)
        await wait_for(context, int(version), call.params)
    else:
        await context.store.sync()
    served = call.served
    item = context.store.get(served.key, call.namespace, call.name)
    if item is None:
        plural = served.type.plural
        raise not_found(served.type.group, "componentstatus" if plural == "componentstatuses" else plural, call.name)
    return await reading.one(call, item.body, revision=item.revision)
