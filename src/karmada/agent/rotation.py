"""Renews the agent's certificate in time: a new key, a request the control plane approves, the kubeconfig rewritten.

The new certificate is in use at once and kept in the Secret from which the agent starts. A renewal that is
interrupted at any point leaves the old certificate in place and is tried again.
"""

import logging

from karmada.agent.hub import HubTransport
from karmada.agent.options import RotationOptions
from karmada.machinery.client import Client
from karmada.machinery.clock import Clock
from karmada.machinery.committer import Committer
from karmada.machinery.errors import ApiError
from karmada.machinery.http.target import Identity, Material
from karmada.machinery.transport import JSONObject
from karmada.membership import objects
from karmada.membership.agent_roles import renewal_name
from karmada.membership.certificate import Issued, agent_kubeconfig, is_provisional, obtain_certificate, remaining
from karmada.membership.refusal import Refused
from karmada.membership.register import KUBECONFIG

log = logging.getLogger(__name__)


class CertificateRotation:
    """Renews the agent's certificate before it expires and rewrites its kubeconfig."""

    def __init__(self, hub: HubTransport, member: Client, cluster: str, options: RotationOptions, clock: Clock) -> None:
        self._hub = hub
        self._member = member
        self._cluster = cluster
        self._options = options
        self._clock = clock

    async def run(self) -> None:
        """Look from time to time, for ever."""
        while True:
            try:
                await self.look()
            except (ApiError, Refused) as error:
                log.warning("the certificate of cluster %s could not be renewed yet: %s", self._cluster, error)
            await self._clock.sleep(self._options.period)

    async def look(self) -> bool:
        """Renew the certificate if it is time; whether it was."""
        certificate = self._hub.target.identity.certificate.read()
        if not certificate or not self._is_due(certificate):
            return False
        name = renewal_name(self._cluster)
        issued = await obtain_certificate(
            Client(self._hub), self._cluster, name, keep_request=False, previous=certificate, clock=self._clock
        )
        await self._keep(issued)
        await self._hub.renew(
            self._hub.target._replace(identity=Identity(Material(issued.certificate), Material(issued.key)))
        )
        log.info("the certificate of cluster %s was renewed", self._cluster)
        return True

    def _is_due(self, certificate: bytes) -> bool:
        """The first certificate is good for a day only, which an agent that is stopped would miss: not kept long."""
        return is_provisional(certificate) or remaining(certificate, self._clock.now()) <= self._options.threshold

    async def _keep(self, issued: Issued) -> None:
        target = self._hub.target
        config = agent_kubeconfig(self._cluster, target.server, target.authority.read(), issued)
        wanted = objects.secret(KUBECONFIG, self._options.space, {KUBECONFIG: config})

        def decide(current: JSONObject | None) -> JSONObject:
            return wanted if current is None else {**current, "data": {**(current.get("data") or {}), **wanted["data"]}}

        await Committer(self._member.resource(objects.SECRETS)).ensure(KUBECONFIG, self._options.space, decide)
