"""A control plane with its dashboard over HTTPS, and browsers that speak to it."""

import asyncio
import ssl
from contextlib import AsyncExitStack
from typing import Any, NamedTuple

import orjson
from tests.membership.world import World, eventually, user_transport

from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership.join import join
from karmada.membership.registration import Description
from karmada.simulator.member import Member
from karmada.simulator.spec import MemberSpec

NAMESPACES = GroupVersionResource("", "v1", "namespaces")
ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
WIDE = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterrolebindings")
BINDINGS = GroupVersionResource("rbac.authorization.k8s.io", "v1", "rolebindings")
ROOT = "/dashboard"
API = "/dashboard/api"


class Reply(NamedTuple):
    """An answer as a browser gets it."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def message(self) -> str:
        text: str = self.json["message"]
        return text


class Connection:
    """One HTTP/1.1 connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def head(self) -> tuple[int, dict[str, str]]:
        text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = text.split("\r\n")
        headers = dict(_field(line) for line in lines if line)
        return int(first.split(" ")[1]), headers

    async def chunk(self) -> bytes:
        size = int(await self.reader.readline(), 16)
        data = await self.reader.readexactly(size)
        await self.reader.readline()
        return data

    async def body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") == "chunked":
            parts = []
            while part := await self.chunk():
                parts.append(part)
            return b"".join(parts)
        return await self.reader.readexactly(int(headers.get("content-length", "0")))

    async def close(self) -> None:
        self.writer.close()


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.lower(), value.strip()


class Events:
    """A stream of server-sent events."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._text = b""

    async def next(self) -> JSONObject:
        """The next change; comments are passed over."""
        while True:
            block = await self.block()
            for line in block.split(b"\n"):
                if line.startswith(b"data: "):
                    found: JSONObject = orjson.loads(line[6:])
                    return found

    async def until(self, topic: str, seconds: float = 10.0) -> JSONObject:
        async with asyncio.timeout(seconds):
            while (found := await self.next())["topic"] != topic:
                pass
        return found

    async def block(self) -> bytes:
        """The next block; empty at the end."""
        while b"\n\n" not in self._text:
            part = await self._connection.chunk()
            if not part:
                raise EOFError
            self._text += part
        block, _, self._text = self._text.partition(b"\n\n")
        return block

    async def close(self) -> None:
        await self._connection.close()


class Browser:
    """Sends requests as a browser does, with its cookie and the CSRF value."""

    def __init__(
        self, endpoint: str, authority: bytes, certificate: tuple[str, str] | None = None, token: str = ""
    ) -> None:
        self.host = endpoint.removeprefix("https://")
        self._context = ssl.create_default_context(cadata=authority.decode())
        if certificate is not None:
            self._context.load_cert_chain(*certificate)
        self.cookie = ""
        self.csrf = ""
        self.token = token

    async def open(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Connection:
        address, _, port = self.host.rpartition(":")
        connection = Connection(*await asyncio.open_connection(address, int(port), ssl=self._context))
        fields = {"Host": self.host, "Content-Length": str(len(body))}
        if self.cookie:
            fields["Cookie"] = f"karmada-session={self.cookie}"
        if self.token:
            fields["Authorization"] = f"Bearer {self.token}"
        fields |= headers or {}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        connection.writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        await connection.writer.drain()
        return connection

    async def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        encoded = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        sent = {"Content-Type": "application/json"} if encoded else {}
        connection = await self.open(method, path, encoded, sent | (headers or {}))
        try:
            async with asyncio.timeout(60):
                status, fields = await connection.head()
                content = b"" if method == "HEAD" else await connection.body(fields)
        finally:
            await connection.close()
        return Reply(status, fields, content)

    async def get(self, path: str, **headers: str) -> Reply:
        return await self.ask("GET", path, headers=headers)

    async def api(self, path: str) -> Any:
        reply = await self.get(f"{API}/{path}")
        assert reply.status == 200, (reply.status, reply.body)
        return reply.json

    async def post(self, path: str, body: Any = None, **headers: str) -> Reply:
        marks = {"Origin": f"https://{self.host}", "Sec-Fetch-Site": "same-origin", "X-Karmada-CSRF": self.csrf}
        return await self.ask("POST", path, {} if body is None else body, marks | headers)

    async def login(self, token: str) -> Reply:
        reply = await self.post(f"{ROOT}/login", {"token": token})
        if reply.status == 200:
            self.cookie = reply.headers["set-cookie"].partition(";")[0].partition("=")[2]
            self.csrf = (await self.api("session"))["csrf"]
        return reply

    async def stream(self, topics: str) -> Events:
        connection = await self.open("GET", f"{API}/stream?topics={topics}")
        status, headers = await connection.head()
        assert status == 200, (status, headers)
        assert headers["content-type"] == "text/event-stream"
        return Events(connection)


class Dashboards:
    """The world and its browsers."""

    def __init__(self, world: World, stack: AsyncExitStack) -> None:
        self.world = world
        self.stack = stack
        self.members: dict[str, Member] = {}
        self.hub = world.hub
        assert world.plane.dashboard is not None
        self.dashboard = world.plane.dashboard

    @property
    def authority(self) -> bytes:
        return self.world.plane.server.identity.authority.certificate_pem

    def browser(self, token: str = "") -> Browser:
        return Browser(self.world.endpoint, self.authority, token=token)

    async def token(self, name: str = "", *rules: JSONObject, role: str = "", namespace: str = "") -> str:
        """A token of a new service account with rights of its own: in all namespaces, or in one."""
        name = name or "viewer"
        await self.hub.resource(ACCOUNTS).create({"metadata": {"name": name, "namespace": "default"}})
        if rules:
            role = name
            await self.hub.resource(ROLES).create({"metadata": {"name": name}, "rules": list(rules)})
        if role:
            binding: JSONObject = {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
            }
            if namespace:
                binding["metadata"]["namespace"] = namespace
            await self.hub.resource(BINDINGS if namespace else WIDE).create(binding)
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        made = await self.hub.resource(ACCOUNTS).submit(name, "token", request, "default")
        found: str = made["status"]["token"]
        return found

    async def member(self, name: str) -> Member:
        """A simulated member that has joined and is ready."""
        made = await self.stack.enter_async_context(Member(MemberSpec(name)))
        port = await made.listen()
        await join(made.inside, self.hub, Description(name, f"https://127.0.0.1:{port}"))
        await self.world.ready(name)
        roles = made.inside.resource(ROLES)
        await eventually(lambda: roles.get("karmada-impersonator"))
        self.members[name] = made
        return made

    async def link(self, user: str = "system:admin", *groups: str) -> JSONObject:
        """A one-time code, as a program with a certificate gets it."""
        chosen = groups or ("system:masters",)
        transport = user_transport(self.world.plane.server, self.world.endpoint, user, *chosen)
        try:
            made: JSONObject = orjson.loads(await transport.raw("POST", f"{API}/link", b"{}"))
        finally:
            await transport.close()
        return made

    async def admin(self) -> Browser:
        """The administrator's, by a one-time code."""
        browser = self.browser()
        reply = await browser.login((await self.link())["code"])
        assert reply.status == 200, reply.body
        return browser

    async def apply(self, *trees: JSONObject) -> None:
        """Create objects on the hub."""
        for tree in trees:
            served = await self.hub.mapper.of_kind(tree["apiVersion"], tree["kind"])
            await self.hub.resource(served.type).create(tree)

    async def kind(self, api_version: str, kind: str) -> GroupVersionResource:
        """The type under which the hub serves a kind."""
        return (await self.hub.mapper.of_kind(api_version, kind)).type

    async def signed_in(self, name: str = "admin", role: str = "cluster-admin") -> Browser:
        browser = self.browser()
        reply = await browser.login(await self.token(name, role=role))
        assert reply.status == 200, reply.body
        return browser


def deployment(name: str = "nginx", replicas: int = 2, **labels: str) -> JSONObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "nginx:1.25"}]},
            },
        },
    }


def policy(name: str, *clusters: str, kind: str = "Deployment", api_version: str = "apps/v1") -> JSONObject:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "resourceSelectors": [{"apiVersion": api_version, "kind": kind, "name": name}],
            "placement": {"clusterAffinity": {"clusterNames": list(clusters)}},
        },
    }


WORKLOAD = "apiVersion=apps/v1&kind=Deployment&namespace=default&name=nginx"
