"""A warning for whoever creates an object on which nothing acts: "created" alone would promise more."""

from collections.abc import Mapping

from karmada.apiserver.admission.model import AdmissionRequest, Operation


class IdleKinds:
    """An `AdmissionPlugin` that refuses nothing. `reasons` are by group and plural."""

    operations = (Operation.CREATE,)

    def __init__(self, reasons: Mapping[tuple[str, str], str]) -> None:
        self._reasons = reasons

    def applies(self, request: AdmissionRequest) -> bool:
        """Only objects of the kinds named, not their subresources."""
        return not request.subresource and (request.type.group, request.type.plural) in self._reasons

    async def mutate(self, request: AdmissionRequest) -> None:
        """Nothing."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Warn."""
        reason = self._reasons[request.type.group, request.type.plural]
        request.warnings.append(f"nothing acts on this {request.type.kind}: {reason}")
