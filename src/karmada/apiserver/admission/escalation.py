"""Nobody grants more than they have: the check on roles and bindings."""

from karmada.apiserver.admission.model import AdmissionRequest, Operation
from karmada.apiserver.auth.escalation import check_write
from karmada.apiserver.auth.rbac import GROUP, RbacAuthorizer


class EscalationCheck:
    """Refuses roles and bindings that grant what the writer does not have."""

    def __init__(self, rbac: RbacAuthorizer) -> None:
        self._rbac = rbac

    def applies(self, request: AdmissionRequest) -> bool:
        """Writes of RBAC objects."""
        return request.type.group == GROUP and request.operation in (Operation.CREATE, Operation.UPDATE)

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing to change."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Compare the grant with the writer's own rights."""
        if request.object is not None:
            check_write(self._rbac, request.user, request.type.plural, request.object, request.old)
