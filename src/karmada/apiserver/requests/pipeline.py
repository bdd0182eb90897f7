"""The pipeline: one entry for HTTP and the direct transport. A call goes to its verb, or its subresource handler."""

from collections.abc import Awaitable, Callable, Mapping

import orjson

from karmada.apiserver.requests.access import Access, Guarded, check_declared
from karmada.apiserver.requests.create import create
from karmada.apiserver.requests.delete import delete, delete_collection
from karmada.apiserver.requests.get import get
from karmada.apiserver.requests.list import list_objects
from karmada.apiserver.requests.model import AnyAnswer, Call, Context
from karmada.apiserver.requests.patch import patch
from karmada.apiserver.requests.update import update
from karmada.apiserver.requests.watch import Watch, open_watch
from karmada.apiserver.resources import ANY
from karmada.machinery.httpserver.failure import bad_request

Verb = Callable[[Context, Call], Awaitable[AnyAnswer]]
Special = tuple[str, str, str]
"""Group, plural and subresource; the subresource is empty for resources that are not stored."""
Specials = Mapping[Special, Guarded[Verb]]

_VERBS: Mapping[str, Verb] = {
    "get": get,
    "list": list_objects,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}
_TOO_DEEP = "the object is nested too deeply: at most about 240 levels of objects and lists are supported"


class Pipeline:
    """Runs authorised calls."""

    def __init__(self, context: Context, specials: Specials) -> None:
        check_declared(specials, Access.RESOURCE)
        self.context = context
        self._specials = specials

    def is_special(self, call: Call) -> bool:
        """Whether a handler of its own answers the call, watches included."""
        return self._special(call) is not None

    def _special(self, call: Call) -> Verb | None:
        type_ = call.served.type
        if type_.open:
            own = self._specials.get((type_.group, type_.plural, "")) or self._specials[type_.group, ANY, ""]
            return own.handle
        special = self._specials.get((type_.group, type_.plural, call.subresource))
        if special is None and call.subresource:
            special = self._specials.get(("*", "*", call.subresource))
        return special.handle if special is not None else None

    async def run(self, call: Call) -> AnyAnswer:
        """Answer every verb but watch; refusals are raised as `Failure`."""
        verb = self._special(call) or _VERBS[call.verb]
        try:
            return await verb(self.context, call)
        except RecursionError:
            raise bad_request(_TOO_DEEP) from None
        except orjson.JSONEncodeError as error:
            if "recursion" in str(error).lower():
                raise bad_request(_TOO_DEEP) from None
            raise

    async def watch(self, call: Call) -> Watch:
        """Open a watch."""
        return await open_watch(self.context, call)
