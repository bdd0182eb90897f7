"""Connections to members for the proxy: through the cluster's tunnel where it has one, else to its address."""

import asyncio
import ssl
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol
from urllib.parse import urlsplit

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.machinery.channel import Channel
from karmada.machinery.errors import ApiError
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.os_errors import spelled
from karmada.membership.access import SecretAccess, proxy_headers, target_of
from karmada.membership.dialing import dial
from karmada.membership.members import MemberUnavailable
from karmada.membership.tunnel.tunnels import Tunnels

CONNECT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Upstream:
    """A connection to a member's API server, and what a request on it must carry."""

    channel: Channel
    host: str
    base: str
    token: bytes
    """Of the account that impersonates users; empty where the other end has its own."""


class Opener(Protocol):
    """Opens connections on which requests are passed on."""

    async def open(self, cluster: Cluster) -> Upstream:
        """A connection; raises `MemberUnavailable`."""
        ...


class Upstreams:
    """Opens connections to members."""

    def __init__(self, secrets: SecretAccess, tunnels: Tunnels) -> None:
        self._secrets = secrets
        self._tunnels = tunnels

    async def open(self, cluster: Cluster) -> Upstream:
        """A connection to a member; raises `MemberUnavailable`."""
        name = cluster.metadata.name
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if self._tunnels.has(name):
                    return Upstream(await self._tunnels.open(name), name, "", b"")
                return await self._dial(cluster)
        except TimeoutError:
            raise MemberUnavailable(f"cluster {name} does not answer at {cluster.spec.api_endpoint}") from None
        except ssl.SSLCertVerificationError as error:
            raise MemberUnavailable(f"cluster {name} cannot be trusted: {error.verify_message}") from error
        except (OSError, ApiError) as error:
            raise MemberUnavailable(f"cluster {name} cannot be reached: {spelled(error)}") from error

    async def _dial(self, cluster: Cluster) -> Upstream:
        name, spec = cluster.metadata.name, cluster.spec
        if spec.impersonator_secret_ref is None:
            text = f"the impersonatorSecretRef of cluster {name} is nil"
            if spec.sync_mode == "Pull":
                text += ": its agent reports no credentials (--report-secrets) and has no tunnel open (--enable-tunnel)"
            raise MemberUnavailable(text)
        secret = await self._secrets.content(name, spec.impersonator_secret_ref)
        if not secret.get("token"):
            raise MemberUnavailable(f"the impersonator secret of cluster {name} has no token")
        target = await self._target(cluster)
        url = urlsplit(target.server)
        if not url.hostname:
            raise MemberUnavailable(f"the api endpoint of cluster {name} is empty")
        context = _context(target.authority.data, target.insecure) if url.scheme != "http" else None
        channel = await dial(target, context)
        return Upstream(channel, url.netloc, url.path.rstrip("/"), secret["token"])

    async def _target(self, cluster: Cluster) -> Target:
        """Where the member is and how to trust it, without anybody's identity."""
        name, spec = cluster.metadata.name, cluster.spec
        data = {} if spec.secret_ref is None else await self._secrets.content(name, spec.secret_ref)
        if data.get("kubeconfig"):
            return target_of(cluster, data)._replace(identity=Identity())
        return Target(
            spec.api_endpoint,
            Material(data.get("caBundle", b"")),
            spec.insecure_skip_tls_verification,
            proxy=spec.proxy_url,
            proxy_headers=proxy_headers(cluster),
        )


@lru_cache(maxsize=4096)
def _context(authority: bytes, insecure: bool) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authority:
        context.load_verify_locations(cadata=authority.decode("ascii"))
    else:
        context.load_default_certs()
    return context
