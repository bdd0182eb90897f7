"""Connections to the estimators of members: one per member, made when first needed, kept and reused.

An estimator that does not answer in time, or cannot be reached, has no opinion, and is not asked again for `PENALTY`
seconds: one that hangs must not slow every decision down. One that answers with an error has no opinion on that
question; what is wrong with one binding (a Deployment that is not there yet, no amount) is no reason to leave it out
of the decisions about others. An estimator runs beside a member and is trusted as little: its answers are small, and
its words go to the log once a minute.
"""

import asyncio
import logging
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from karmada.machinery.clock import REAL, Clock
from karmada.machinery.limits import printable
from karmada.machinery.os_errors import spelled
from karmada.machinery.throttle import ThrottledLog

if TYPE_CHECKING:
    import grpc
    import grpc.aio

log = logging.getLogger(__name__)

PENALTY = 10.0
NO_ANSWER = None
LIMITS: list[tuple[str, int]] = [("grpc.max_receive_message_length", 64 * 1024), ("grpc.max_metadata_size", 16 * 1024)]
"""An answer is one number."""


@dataclass(frozen=True, slots=True)
class EstimatorAddress:
    """Where estimators are and how they are trusted."""

    prefix: str = "karmada-scheduler-estimator"
    namespace: str = "karmada-system"
    port: int = 10352
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    skip_verify: bool = False

    def of(self, cluster: str) -> str:
        """The address of a member's estimator."""
        return f"{self.prefix}-{cluster}.{self.namespace}.svc.cluster.local:{self.port}"

    @property
    def is_secure(self) -> bool:
        """Whether connections are encrypted."""
        return bool(self.ca_file or self.cert_file or self.skip_verify)


class Connections:
    """gRPC connections to estimators: one per member, made when first needed, kept and reused."""

    def __init__(
        self,
        address: EstimatorAddress,
        timeout: float = 3.0,
        resolve: Callable[[str], str] | None = None,
        clock: Clock = REAL,
    ) -> None:
        self._address = address
        self._timeout = timeout
        self._resolve = resolve or address.of
        self._clock = clock
        self._log = ThrottledLog(log, clock.monotonic)
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._blamed: dict[str, float] = {}
        self._closing: set[asyncio.Future[None]] = set()
        self._under_way: dict[tuple[str, str, bytes], asyncio.Task[bytes | None]] = {}

    async def ask(self, cluster: str, method: str, request: bytes) -> bytes | None:
        """The answer of a member's estimator, or None. The same question under way twice is asked once."""
        until = self._blamed.get(cluster)
        if until is not None:
            if self._clock.monotonic() < until:
                return NO_ANSWER
            del self._blamed[cluster]
        key = (cluster, method, request)
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.ensure_future(self._call(cluster, method, request))
            self._under_way[key] = task
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return await asyncio.shield(task)

    def forget(self, cluster: str) -> None:
        """The member is gone."""
        self._blamed.pop(cluster, None)
        channel = self._channels.pop(cluster, None)
        if channel is not None:
            closing = asyncio.ensure_future(channel.close(None))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all connections."""
        for cluster in list(self._channels):
            self.forget(cluster)
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _call(self, cluster: str, method: str, request: bytes) -> bytes | None:
        import grpc

        try:
            channel = self._channels.get(cluster) or await self._open(cluster)
            answer: bytes = await channel.unary_unary(method, bytes, bytes)(request, timeout=self._timeout)
        except grpc.aio.AioRpcError as error:
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                self._blame(cluster, error.details())
            else:
                details = printable(error.details() or "")
                self._log.warning((cluster, error.code()), "the estimator of %s cannot answer: %s", cluster, details)
            return NO_ANSWER
        except (OSError, ssl.SSLError) as error:
            self._blame(cluster, spelled(error))
            return NO_ANSWER
        except asyncio.CancelledError:
            # So ends a call whose connection is closed because the member left: whoever asked goes on without it.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return NO_ANSWER
        return answer

    def _blame(self, cluster: str, reason: str | None) -> None:
        text = "the estimator of %s has no answer, not asked again for %g s: %s"
        self._log.warning((cluster, ""), text, cluster, PENALTY, printable(reason or ""))
        self._blamed[cluster] = self._clock.monotonic() + PENALTY

    async def _open(self, cluster: str) -> "grpc.aio.Channel":
        import grpc.aio

        target = self._resolve(cluster)
        if self._address.is_secure:
            credentials, options = await asyncio.to_thread(self._credentials, target)
            if cluster in self._channels:
                return self._channels[cluster]  # somebody else was faster
            channel = grpc.aio.secure_channel(target, credentials, [*LIMITS, *options])
        else:
            channel = grpc.aio.insecure_channel(target, LIMITS)
        self._channels[cluster] = channel
        return channel

    def _credentials(self, target: str) -> "tuple[grpc.ChannelCredentials, list[tuple[str, str]]]":
        import grpc

        address = self._address
        options: list[tuple[str, str]] = []
        authority = _read(address.ca_file)
        if address.skip_verify:
            # The library always verifies: what the server shows is taken as its own authority.
            authority, name = _shown(target)
            options.append(("grpc.ssl_target_name_override", name))
        made = grpc.ssl_channel_credentials(authority, _read(address.key_file), _read(address.cert_file))
        return made, options


def _read(path: str) -> bytes | None:
    return Path(path).read_bytes() if path else None


def _shown(target: str) -> tuple[bytes, str]:
    """The certificate a server shows, and a name it is for."""
    from cryptography import x509

    host, _, port = target.rpartition(":")
    pem = ssl.get_server_certificate((host, int(port)), timeout=3.0).encode()
    certificate = x509.load_pem_x509_certificate(pem)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        dns = names.get_values_for_type(x509.DNSName)
        if dns:
            return pem, dns[0]
    except x509.ExtensionNotFound:
        pass
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    return pem, str(common[0].value) if common else host
