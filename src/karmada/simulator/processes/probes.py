"""Probes of a container: ask over HTTP, open a connection, or run a known program; thresholds as kubelets count."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from karmada.machinery.clock import Clock
from karmada.machinery.os_errors import spelled
from karmada.machinery.transport import JSONObject

FIRST = 0.5
"""Seconds between tries until a probe succeeds once, where its period is longer: nobody waits for a simulation."""
Exec = Callable[[list[str], float], Awaitable[str]]
"""Runs a command of a container for so many seconds at most; why it failed, if it did."""


@dataclass(slots=True)
class Probe:
    """One probe of one container's run."""

    tree: JSONObject
    address: str
    ports: Mapping[str, int]
    run: Exec
    clock: Clock

    async def watch(self, changed: Callable[[bool, str], None], patient: bool = True) -> None:
        """Probe for ever; say each time the outcome changes, with the reason of a failure.

        `patient`: failures before the first success are only failures to start; otherwise they count.
        """
        await self.clock.sleep(float(self.tree.get("initialDelaySeconds") or 0))
        period = float(self.tree.get("periodSeconds") or 10)
        enough = int(self.tree.get("successThreshold") or 1), int(self.tree.get("failureThreshold") or 3)
        healthy: bool | None = None
        count, last, began = 0, False, False
        while True:
            why = await self.ask()
            good = not why
            count, last = (count + 1 if good == last else 1), good
            if good != healthy and count >= (enough[0] if good else enough[1]):
                healthy = good
                changed(good, why)
            began = began or good
            await self.clock.sleep(min(FIRST, period) if patient and not began else period)

    async def ask(self) -> str:
        """Why the container is not healthy; empty when it is."""
        seconds = float(self.tree.get("timeoutSeconds") or 1)
        try:
            async with asyncio.timeout(seconds + 1):
                if http := self.tree.get("httpGet"):
                    return await self._http(http)
                if tcp := self.tree.get("tcpSocket"):
                    _, writer = await asyncio.open_connection(self.address, self._port(tcp))
                    writer.close()
                    return ""
                if command := (self.tree.get("exec") or {}).get("command"):
                    return await self.run(command, seconds)
        except TimeoutError:
            return "timed out"
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            return spelled(error) or type(error).__name__
        return "the process runtime has no probes of this kind"

    async def _http(self, http: JSONObject) -> str:
        tls = None
        if (http.get("scheme") or "HTTP").upper() == "HTTPS":
            tls = ssl.create_default_context()
            tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        reader, writer = await asyncio.open_connection(self.address, self._port(http), ssl=tls)
        try:
            headers = "".join(f"{h['name']}: {h['value']}\r\n" for h in http.get("httpHeaders") or ())
            path = http.get("path") or "/"
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {self.address}\r\nConnection: close\r\n{headers}\r\n".encode())
            status = int((await reader.readuntil(b"\r\n")).split()[1])
        finally:
            writer.transport.abort()  # alone: until Python 3.11.4 it fails on a TLS transport that was closed before
        return "" if 200 <= status < 400 else f"HTTP probe failed with statuscode: {status}"

    def _port(self, where: JSONObject) -> int:
        port = where.get("port")
        return self.ports[port] if isinstance(port, str) and port in self.ports else int(port or 0)
