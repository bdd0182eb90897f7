"""Karmada's admission functions inside the embedded API server, in place of a webhook server."""

import time
import uuid
from collections.abc import Callable

from karmada.api.feature_gates import FeatureGates
from karmada.apiserver.admission.model import AdmissionRequest
from karmada.apiserver.admission.model import Operation as ServerOperation
from karmada.apiserver.failures import Failure
from karmada.webhook.handlers import HANDLERS
from karmada.webhook.model import Denied, Handler, Lookup, Operation, Review


class KarmadaAdmission:
    """An `AdmissionPlugin` made of the webhook's handlers."""

    def __init__(
        self,
        lookup: Lookup,
        gates: FeatureGates,
        *,
        allow_no_execute: bool = False,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        now: Callable[[], float] = time.time,
    ) -> None:
        self._lookup = lookup
        self._gates = gates
        self._allow_no_execute = allow_no_execute
        self._new_id = new_id
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
        review = self._review(request)
        if handler.mutate is None or review.operation not in handler.mutate_on or request.object is None:
            return
        try:
            handler.mutate(review)
        except Denied as denial:
            raise _failure(handler, denial) from denial
        request.object = review.object

    async def validate(self, request: AdmissionRequest) -> None:
        """Judge the object: by what is said of all kinds, then by what is said of its own."""
        review = self._review(request)
        for name in (("*", "*"), (request.type.group, request.type.plural)):
            handler = self._handlers.get(name)
            if handler is None or handler.validate is None or review.operation not in handler.validate_on:
                continue
            try:
                await handler.validate(review)
            except Denied as denial:
                raise _failure(handler, denial) from denial

    def _review(self, request: AdmissionRequest) -> Review:
        return Review(
            Operation(request.operation.value),
            request.namespace,
            request.name,
            request.object or {},
            request.old,
            self._new_id,
            self._now,
            self._gates,
            self._lookup,
            request.dry_run,
            self._allow_no_execute,
            request.warnings,
        )


def _failure(handler: Handler, denial: Denied) -> Failure:
    message = f'admission webhook "{handler.name}" denied the request: {denial.message}'
    return Failure(denial.code, denial.reason, message)
