"""The two servers that answer: a client each, and how they are started."""

import http.client
import ssl
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from karmada.api import yaml
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.server import ApiServer, ApiServerOptions
from karmada.machinery.http.kubeconfig import load
from karmada.testing.stage.servers import Etcd, KubeApiServer

_SECONDS = 60.0
STOCK_FLAGS = ("--disable-admission-plugins=ServiceAccount", "--allow-privileged=true")
"""Ours adds no tokens to pods either unless somebody runs them, and leaves privileges to pod security."""


class Answer(NamedTuple):
    """What a server answered: the body is a tree where it can be read as JSON or YAML, else text."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()


class Peer:
    """A client of one server, with an administrator's certificate."""

    def __init__(self, config: Path) -> None:
        target = load([config]).target()
        self._url = urlsplit(target.server)
        self._tls = ssl.create_default_context(cadata=target.authority.read().decode())
        with tempfile.TemporaryDirectory() as folder:
            for name, material in (("crt", target.identity.certificate), ("key", target.identity.key)):
                (Path(folder) / name).write_bytes(material.read())
            self._tls.load_cert_chain(f"{folder}/crt", f"{folder}/key")
        self._connection = self._connect()

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """One request; a body that is text goes as it is."""
        sent = {"Content-Type": "application/json", "User-Agent": "differential/1.0", **(headers or {})}
        data = None if body is None else body.encode() if isinstance(body, str) else orjson.dumps(body)
        for attempt in (0, 1):
            try:
                self._connection.request(method, path, data, sent)
                response = self._connection.getresponse()
                content = response.read()
                break
            except (http.client.HTTPException, OSError):
                # Servers close idle connections.
                self._connection.close()
                self._connection = self._connect()
                if attempt:
                    return Answer(0, "the server broke the connection")
        try:
            if "yaml" in response.headers.get_content_type():
                read = yaml.load(content)
            else:
                read = _events(content) if "watch" in path and response.status == 200 else orjson.loads(content)
        except (orjson.JSONDecodeError, yaml.YAMLError):
            read = content.decode(errors="replace")
        return Answer(response.status, read, tuple(response.headers.get_all("Warning") or ()))

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def _connect(self) -> http.client.HTTPSConnection:
        assert self._url.hostname
        return http.client.HTTPSConnection(self._url.hostname, self._url.port, timeout=_SECONDS, context=self._tls)


def _events(content: bytes) -> list[Any]:
    """What a watch sent; how often a server marks its progress is its own affair."""
    events = [orjson.loads(line) for line in content.splitlines()]
    return [one for one in events if one.get("type") != "BOOKMARK" or _ends_initial(one)]


def _ends_initial(event: dict[str, Any]) -> bool:
    return "initial-events-end" in str(event.get("object"))


@asynccontextmanager
async def ours(folder: Path) -> AsyncIterator[Path]:
    """Our server in this process; the kubeconfig of an administrator."""
    options = ApiServerOptions(folder=folder, default_accounts=False)
    async with ApiServer(options) as server:
        port = await server.listen()
        authority = server.identity.authority
        certificate, key = authority.issue_client("admin", ["system:masters"])
        made = kubeconfig(f"https://127.0.0.1:{port}", authority.certificate_pem, certificate=certificate, key=key)
        write_kubeconfig(folder / "kubeconfig", made)
        yield folder / "kubeconfig"


@asynccontextmanager
async def stock(folder: Path) -> AsyncIterator[Path]:
    """A stock kube-apiserver with an etcd of its own; the kubeconfig of an administrator."""
    etcd = Etcd(folder / "etcd")
    server = KubeApiServer("stock", folder / "server", etcd, STOCK_FLAGS)
    async with etcd, server:
        yield server.kubeconfig
