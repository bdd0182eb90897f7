"""The headers and certificates that say who we are; read again when they age or the server refuses them.

Precedence follows other clients: certificates always go along; of the rest, an exec plugin, a token or a token file,
then a user name with password.
"""

import asyncio
import base64
import os
import time
from typing import Any

from karmada.machinery.errors import Unauthorized
from karmada.machinery.http.identity import Credentials, bearer, fixed, impersonation
from karmada.machinery.http.target import ExecPlugin, Material, Target

TOKEN_FILE_AGE = 60.0
"""Token files are rotated by others; they are read again after this many seconds."""
EARLY = 10.0
"""Credentials are renewed this many seconds before they expire."""
PLUGIN_PATIENCE = 60.0


class CredentialSource:
    """Gives the present credentials of a target's identity."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._fixed_headers = impersonation(target)
        self._current: Credentials | None = None
        self._good_until = 0.0
        self._renewing = asyncio.Lock()

    async def current(self) -> Credentials:
        """The credentials to use now."""
        if self._current is not None and time.monotonic() < self._good_until:
            return self._current
        async with self._renewing:
            if self._current is None or time.monotonic() >= self._good_until:
                self._current, lifetime = await self._make()
                self._good_until = time.monotonic() + lifetime
            return self._current

    def refused(self, credentials: Credentials) -> bool:
        """The server did not accept these; whether others may be had by asking again."""
        identity = self._target.identity
        renewable = identity.plugin is not None or bool(identity.token.path)
        if renewable and self._current is credentials:
            self._current = None
        return renewable

    async def _make(self) -> tuple[Credentials, float]:
        identity = self._target.identity
        if identity.plugin is not None:
            return await self._from_plugin(identity.plugin)
        known = fixed(self._target)
        if known is not None:
            return known, float("inf")
        token = await asyncio.to_thread(identity.token.read)
        headers = self._fixed_headers + bearer(token)
        return Credentials(headers, identity.certificate, identity.key), TOKEN_FILE_AGE

    async def _from_plugin(self, plugin: ExecPlugin) -> tuple[Credentials, float]:
        status = await _run(plugin, self._target)
        identity = self._target.identity
        certificate, key = identity.certificate, identity.key
        if status.get("clientCertificateData"):
            certificate = Material(str(status["clientCertificateData"]).encode())
            key = Material(str(status.get("clientKeyData") or "").encode())
        headers = self._fixed_headers + (bearer(str(status["token"]).encode()) if status.get("token") else b"")
        lifetime = float("inf")
        if expires := status.get("expirationTimestamp"):
            from datetime import datetime

            lifetime = datetime.fromisoformat(str(expires)).timestamp() - time.time() - EARLY
        return Credentials(headers, certificate, key), lifetime


async def _run(plugin: ExecPlugin, target: Target) -> dict[str, Any]:
    """Run an exec plugin and return the status it prints; its output never appears in errors."""
    import orjson

    info: dict[str, Any] = {
        "apiVersion": plugin.api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    if plugin.provide_cluster_info:
        info["spec"]["cluster"] = _cluster_info(target)
    environment = os.environ | dict(plugin.environment) | {"KUBERNETES_EXEC_INFO": orjson.dumps(info).decode()}
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.arguments,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        hint = f" ({plugin.install_hint.strip()})" if plugin.install_hint else ""
        raise Unauthorized(f"the credential plugin {plugin.command} cannot be run: {error.strerror}{hint}") from error
    try:
        async with asyncio.timeout(PLUGIN_PATIENCE):
            output, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise Unauthorized(f"the credential plugin {plugin.command} gave no answer") from None
    if process.returncode:
        raise Unauthorized(f"the credential plugin {plugin.command} failed with exit code {process.returncode}")
    try:
        answer = orjson.loads(output)
    except orjson.JSONDecodeError:
        raise Unauthorized(f"the credential plugin {plugin.command} did not print an ExecCredential") from None
    status = answer.get("status") if isinstance(answer, dict) else None
    if not isinstance(status, dict) or answer.get("apiVersion") != plugin.api_version:
        raise Unauthorized(f"the credential plugin {plugin.command} printed no {plugin.api_version} status")
    return status


def _cluster_info(target: Target) -> dict[str, Any]:
    info: dict[str, Any] = {"server": target.server}
    if target.authority:
        info["certificate-authority-data"] = base64.b64encode(target.authority.read()).decode()
    if target.server_name:
        info["tls-server-name"] = target.server_name
    if target.insecure:
        info["insecure-skip-tls-verify"] = True
    return info
