"""Subresources that reach into workloads: log, exec, attach, portforward, proxy.

The server has no kubelets of its own: a `Connector` answers, injected by the composition root (the simulator for its
members, nothing on a bare control plane). Connecting is a CONNECT to admission.
"""

from typing import Protocol

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import Failure, not_found
from karmada.apiserver.requests.model import AnyAnswer, Call, Context


class Connector(Protocol):
    """Answers connections to one kind of object."""

    async def connect(self, call: Call) -> AnyAnswer:
        """Answer the call; `call.http` is the request on the wire."""
        ...


class Connect:
    """The handler of all connecting subresources."""

    def __init__(self, connectors: dict[str, Connector]) -> None:
        self._connectors = connectors

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Find the object, ask admission, hand over to the connector."""
        type_ = call.served.type
        if context.store.get(call.served.key, call.namespace, call.name) is None:
            raise not_found(type_.group, type_.plural, call.name)
        if call.subresource != "log":
            request = AdmissionRequest(
                Operation.CONNECT,
                type_,
                call.namespace,
                call.name,
                call.subresource,
                None,
                None,
                call.user,
                {},
                warnings=call.warnings,
            )
            await context.admission.mutate(request)
            await context.admission.validate(request)
        connector = self._connectors.get(f"{type_.plural}/{call.subresource}") or self._connectors.get(type_.plural)
        if connector is None:
            message = f"this server runs no workloads: {type_.plural}/{call.subresource} is not available"
            raise Failure(501, "NotImplemented", message)
        return await connector.connect(call)
