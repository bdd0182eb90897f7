"""One server a command talks to: the control plane, or a member by way of it."""

import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from karmada.cli.kinds import Kinds
from karmada.machinery.http.target import Target

if TYPE_CHECKING:
    from karmada.machinery.client import Client
    from karmada.machinery.http.blocking import BlockingTransport
    from karmada.machinery.http.transport import HttpTransport
    from karmada.machinery.resource import Resource

PROXY = "/apis/cluster.karmada.io/v1alpha1/clusters/{}/proxy"
AGENT = FIELD_MANAGER = "karmadactl"
_QUOTED = re.compile(r'\d{3} \S+ "((?:[^"\\]|\\.)*)"')
"""The texts of a Warning header, which may hold several."""
_ESCAPED = re.compile(r"\\(.)")


class Access:
    """A server and who we are there. `name` is what tables show as its cluster."""

    def __init__(
        self, name: str, target: Target, warn: Callable[[str], None], patience: float, *, quick: bool = False
    ) -> None:
        """`quick` reads without an event loop; what that cannot do raises `NeedsLoop`."""
        self.name = name
        self.target = target
        self.patience = patience
        """Seconds that it may take to answer, if it is a member."""
        self._warn = warn
        self.quick = quick
        self.transport = self._transport()
        self.kinds = Kinds(self.transport, quick=quick)

    def _transport(self) -> "HttpTransport | BlockingTransport":
        if self.quick:
            from karmada.machinery.http.blocking import BlockingTransport

            return BlockingTransport(self.target, agent=AGENT)
        from karmada.machinery.http.transport import HttpTransport

        return HttpTransport(self.target, agent=AGENT, warn=self._print_warning)

    def through_proxy(self, cluster: str) -> "Access":
        """A member of this control plane."""
        self._need_loop()
        target = self.target._replace(server=self.target.server + PROXY.format(cluster))
        return Access(cluster, target, self._warn, self.patience)

    @cached_property
    def client(self) -> "Client":
        """A client for commands that do more than show things; its import takes a while."""
        self._need_loop()
        from karmada.machinery.client import Client

        return Client(self.transport, field_manager=FIELD_MANAGER)

    def resource(self, group: str, version: str, plural: str) -> "Resource[dict[str, Any]]":
        """A collection as trees."""
        from karmada.machinery.transport import GroupVersionResource

        return self.client.resource(GroupVersionResource(group, version, plural))

    def _need_loop(self) -> None:
        if self.quick:
            from karmada.machinery.http.blocking import NeedsLoop

            raise NeedsLoop

    def _print_warning(self, warning: str) -> None:
        for text in _QUOTED.findall(warning) or [warning]:
            self._warn("Warning: " + _ESCAPED.sub(r"\1", text))
