"""Admission in a member that somebody else runs: quotas that are full, webhooks that change or refuse things."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from karmada.api import merge_patch
from karmada.apiserver.admission.lifecycle import refusal
from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.machinery.httpserver.failure import Failure


class WebhookRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What a member's webhook does to writes of certain objects."""

    name: str
    resources: str = "*"
    """Pattern of `plural.group` (`deployments.apps`, `services`)."""
    namespaces: str = "*"
    reject: str = ""
    """Refuse with this text."""
    merge: dict[str, Any] = {}
    """Change objects by this merge patch."""

    def concerns(self, request: AdmissionRequest) -> bool:
        """Whether a write is the webhook's business; its own control plane's objects are nobody's."""
        group = request.type.group
        plural = f"{request.type.plural}.{group}" if group else request.type.plural
        return fnmatchcase(plural, self.resources) and fnmatchcase(request.namespace, self.namespaces)


class Interference:
    """The admission plugin; it asks for the present rules with every write."""

    def __init__(self, webhooks: Callable[[], tuple[WebhookRule, ...]], full: Callable[[], tuple[str, ...]]) -> None:
        self._webhooks = webhooks
        self._full = full

    def applies(self, request: AdmissionRequest) -> bool:
        """New and changed objects, when there are rules at all."""
        if request.subresource or request.operation not in (Operation.CREATE, Operation.UPDATE):
            return False
        return bool(self._webhooks() or self._full())

    async def mutate(self, request: AdmissionRequest) -> None:
        """Change the object as the webhooks say."""
        for rule in self._webhooks():
            if rule.merge and request.object is not None and rule.concerns(request):
                request.object = merge_patch.apply(request.object, rule.merge)

    async def validate(self, request: AdmissionRequest) -> None:
        """Refuse what the webhooks refuse, and pods in namespaces whose quota is full."""
        for rule in self._webhooks():
            if rule.reject and rule.concerns(request):
                text = f'admission webhook "{rule.name}" denied the request: {rule.reject}'
                raise Failure(403, "Forbidden", text)
        is_new_pod = request.operation is Operation.CREATE and request.type.stored_as == ("", "pods")
        if is_new_pod and any(fnmatchcase(request.namespace, pattern) for pattern in self._full()):
            raise refusal(request, "exceeded quota: simulated, requested: pods=1, used: pods=0, limited: pods=0")
