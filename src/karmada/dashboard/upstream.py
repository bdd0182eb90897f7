"""The API server behind the dashboard, as the one who is signed in and nobody else."""

from collections.abc import Callable
from typing import Protocol

from karmada.dashboard.credential import Credential
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest
from karmada.machinery.transport import Transport

Warn = Callable[[str], None]
PROXY = "/apis/cluster.karmada.io/v1alpha1/clusters"
"""Members are reached below `<name>/proxy`."""


class Upstream(Protocol):
    """Carries requests to the control plane and, through it, to members."""

    def knows(self, request: HttpRequest) -> bool:
        """Whether a request carries a credential that is known to be good without asking anybody."""
        ...

    async def recognise(self, request: HttpRequest) -> Credential | None:
        """Whose bearer token or client certificate a request carries; None without either. Raises `Unauthorized`."""
        ...

    async def verify(self, token: str) -> Credential:
        """Whose token it is; raises `Unauthorized`."""
        ...

    async def current(self, credential: Credential) -> Credential:
        """The same credential as the server judges it now; raises `Unauthorized` when it counts no more."""
        ...

    def transport(self, credential: Credential, cluster: str = "", warn: Warn | None = None) -> Transport:
        """To the control plane or to a member; `warn` is called with the warnings of answers."""
        ...

    async def forward(self, credential: Credential, request: HttpRequest) -> HttpAnswer:
        """Pass a request on as it is; its headers hold nothing of the browser's but what a WebSocket needs."""
        ...
