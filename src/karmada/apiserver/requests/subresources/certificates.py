"""CertificateSigningRequests: approval, and the rules of who may approve and sign."""

from collections.abc import Callable

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.auth import csr
from karmada.apiserver.auth.model import Authorizer
from karmada.apiserver.failures import invalid, not_found
from karmada.apiserver.requests import metadata, reading
from karmada.apiserver.requests.model import Answer, Call, Context
from karmada.apiserver.requests.subresources.wanted import wanted
from karmada.apiserver.requests.update import Change, Part, modify
from karmada.apiserver.resources import JSONObject
from karmada.machinery.clock import rfc3339

KIND = (csr.GROUP, csr.PLURAL)


async def approval(context: Context, call: Call) -> Answer:
    """Read or change the conditions of a request."""
    if call.verb == "get":
        item = context.store.get(call.served.key, call.namespace, call.name)
        if item is None:
            raise not_found(*KIND, call.name)
        return await reading.one(call, item.body)
    asked = await wanted(context, call)

    def build(current: JSONObject) -> JSONObject:
        new = asked.object(current)
        status = {**(current.get("status") or {}), "conditions": csr.stamped(new, current, rfc3339(context.now()))}
        if not status["conditions"]:
            del status["conditions"]
        changed = {**current, "metadata": metadata.ensure(new), "status": status}
        errors = csr.validate(changed, current, csr.Subresource.APPROVAL)
        if errors:
            raise invalid(csr.GROUP, call.served.kind, call.name, errors)
        return changed

    return await modify(context, Change(call, asked.options, build, Part.OTHER, asked.managed))


class CertificateRules:
    """The admission plugin of certificate signing requests."""

    kinds = (KIND,)

    def __init__(self, authorizer: Authorizer, now: Callable[[], float]) -> None:
        self._authorizer = authorizer
        self._now = now

    def applies(self, request: AdmissionRequest) -> bool:
        """Writes of signing requests."""
        return request.operation is not Operation.DELETE

    async def mutate(self, request: AdmissionRequest) -> None:
        """A new request is its requester's; who signs it leaves decisions alone."""
        if request.object is None:
            return
        if request.operation is Operation.CREATE:
            csr.prepare(request.object, request.user)
        elif request.old is not None and request.subresource == csr.Subresource.STATUS:
            conditions = csr.stamped(request.object, request.old, rfc3339(self._now()))
            if conditions:
                kept = csr.with_decisions(conditions, request.old)
                request.object["status"] = {**request.object["status"], "conditions": kept}

    async def validate(self, request: AdmissionRequest) -> None:
        """Check subject and permission."""
        if request.object is None:
            return
        if request.operation is Operation.CREATE:
            csr.check_subject(request.object)
        elif request.old is not None:
            part = csr.Subresource(request.subresource)
            csr.check_permission(self._authorizer, request.user, part, request.object, request.old)
