"""Karmada's admission functions inside the embedded API server, in place of a webhook server."""

import time
import uuid
from collections.abc import Callable

from karmada.api.feature_gates import FeatureGates
from karmada.api.work.conversion import convert
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.admission.model import Operation as ServerOperation
from karmada.machinery.httpserver.failure import Failure
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.model import Denied, Handler, Inventory, JSONObject, Lookup, Operation, Review
from karmada.webhook.reviews import untrack

_OPERATIONS = {operation.value: operation for operation in Operation}


class KarmadaAdmission:
    """An `AdmissionPlugin` made of the webhook's handlers."""

    def __init__(
        self,
        lookup: Lookup,
        gates: FeatureGates,
        *,
        allow_no_execute: bool = False,
        now: Callable[[], float] = time.time,
        inventory: Inventory | None = None,
    ) -> None:
        self._lookup = lookup
        self._inventory = inventory
        self._gates = gates
        self._allow_no_execute = allow_no_execute
        self._now = now
        self._handlers = {(handler.group, handler.resource): handler for handler in HANDLERS}

    def applies(self, request: AdmissionRequest) -> bool:
        """Karmada's own kinds only; their subresources are not admitted."""
        if request.subresource or request.operation is ServerOperation.CONNECT:
            return False
        if request.operation is ServerOperation.DELETE:
            return True
        return (request.type.group, request.type.plural) in self._handlers

    async def mutate(self, request: AdmissionRequest) -> None:
        """Complete the object."""
        handler = self._handlers.get((request.type.group, request.type.plural))
        if handler is None:
            return
        operation = _OPERATIONS[request.operation._value_]
        if handler.mutate is None or operation not in handler.mutate_on or request.object is None:
            return
        review = self._review(request, handler)
        status = request.object.get("status")
        try:
            handler.mutate(review)
        except Denied as denial:
            raise _failure(handler, denial) from denial
        untrack(handler, review)
        request.object = in_version(review.object, request.type.api_version)
        if review.operation is Operation.UPDATE:
            # Handlers may change the very object: what they say of its status is no part of this write.
            request.object.pop("status", None)
            if status is not None:
                request.object["status"] = status

    async def validate(self, request: AdmissionRequest) -> None:
        """Judge the object: by what is said of all kinds, then by what is said of its own."""
        operation = _OPERATIONS[request.operation._value_]
        for name in (("*", "*"), (request.type.group, request.type.plural)):
            handler = self._handlers.get(name)
            if handler is None or handler.validate is None or operation not in handler.validate_on:
                continue
            review = self._review(request, handler)
            try:
                await handler.validate(review)
            except Denied as denial:
                raise _failure(handler, denial) from denial

    def _review(self, request: AdmissionRequest, handler: Handler) -> Review:
        """The request as the handler knows the kind: in its version."""
        known = request.type.api_version if handler.version == "*" else f"{handler.group}/{handler.version}"
        return Review(
            _OPERATIONS[request.operation._value_],
            request.namespace,
            request.name,
            in_version(request.object, known) if request.object else {},
            in_version(request.old, known) if request.old else None,
            lambda: str(uuid.uuid4()),
            self._now,
            self._gates,
            self._lookup,
            request.dry_run,
            self._allow_no_execute,
            request.warnings,
            self._inventory,
        )


def in_version(tree: JSONObject, api_version: str) -> JSONObject:
    """An object in a version; only bindings have several."""
    return tree if tree.get("apiVersion", api_version) == api_version else convert(tree, api_version)


def _failure(handler: Handler, denial: Denied) -> Failure:
    message = f'admission webhook "{handler.name}" denied the request: {denial.message}'
    return Failure(denial.code, denial.reason, message)
