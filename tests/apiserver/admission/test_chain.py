"""What the admission chain remembers about kinds."""

from karmada.apiserver.admission.model import SCOPES, AdmissionChain, AdmissionRequest, Operation
from karmada.apiserver.auth.model import ANONYMOUS
from karmada.apiserver.resources import ResourceType
from karmada.apiserver.schema.model import Schema


class Everyone:
    """A plugin that is asked about every write."""

    def __init__(self) -> None:
        self.asked = 0

    def applies(self, request: AdmissionRequest) -> bool:
        """Never, but it is asked."""
        self.asked += 1
        return False

    async def mutate(self, request: AdmissionRequest) -> None:
        """Not reached."""

    async def validate(self, request: AdmissionRequest) -> None:
        """Not reached."""


async def test_plugins_are_asked_about_more_kinds_than_the_chain_remembers() -> None:
    plugin = Everyone()
    chain = AdmissionChain([plugin])
    for number in range(SCOPES + 2):
        type_ = ResourceType("example.com", "v1", f"k{number}s", f"K{number}", True, Schema("object"))
        await chain.mutate(request_about(type_))
    assert plugin.asked == SCOPES + 2
    assert len(chain._concerned) <= SCOPES


def request_about(type_: ResourceType) -> AdmissionRequest:
    """The creation of an object of a type."""
    return AdmissionRequest(Operation.CREATE, type_, "default", "a", "", {}, None, ANONYMOUS, {})
