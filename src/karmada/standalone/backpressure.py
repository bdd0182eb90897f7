"""Refuses more templates from a namespace of which too many still wait for the detector.

Whoever writes faster than the control plane propagates learns it from a 429 with Retry-After, as from a busy
kube-apiserver, instead of from a queue that grows for as long as they go on. kubectl, Helm and client-go wait and try
again by themselves.
"""

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.failures import too_many_requests
from karmada.controllers.detector.backlog import TemplateBacklog
from karmada.controllers.detector.scope import may_be_propagated
from karmada.membership.component_roles import USER_PREFIX

MOST_WAITING = 500
"""Templates of one namespace; about ten seconds of work for the control plane on one core."""
RETRY_AFTER = 5
"""Seconds. client-go tries ten times."""


class Backpressure:
    """An `AdmissionPlugin` for creations. Updates are not refused (an object waits once, however often it changes), nor
    deletions, dry runs, and what the components write."""

    operations = (Operation.CREATE,)

    def __init__(self, backlog: TemplateBacklog, most: int = MOST_WAITING) -> None:
        self._backlog = backlog
        self._most = most

    def applies(self, request: AdmissionRequest) -> bool:
        """Only where too many wait."""
        if request.subresource or request.dry_run or self._backlog.size(_namespace(request)) < self._most:
            return False
        type_ = request.type
        return may_be_propagated(type_.group, type_.kind) and not request.user.name.startswith(USER_PREFIX)

    async def mutate(self, request: AdmissionRequest) -> None:
        """Refuse."""
        namespace = _namespace(request)
        whose = f"of namespace {namespace}" if namespace else "without a namespace"
        raise too_many_requests(
            f"{self._backlog.size(namespace)} objects {whose} wait to be propagated: "
            f"try again in {RETRY_AFTER} s, or create fewer at a time",
            RETRY_AFTER,
        )

    async def validate(self, request: AdmissionRequest) -> None:
        """Nothing: `mutate` has refused already."""


def _namespace(request: AdmissionRequest) -> str:
    return request.namespace if request.type.namespaced else ""
