"""The control API of a fleet: break and mend members over HTTP, with a token, on a local port.

GET    /v1/members                        what there is
GET    /v1/members/NAME
PATCH  /v1/members/NAME/faults            {"down": true}: a merge patch of the member's faults
PUT    /v1/members/NAME/nodes/NODE        {"down": true}
PUT    /v1/members/NAME/images            {"pattern": "*web*", "fate": "Crash", "seconds": 5}
DELETE /v1/members/NAME/images/PATTERN
PUT    /v1/members/NAME/usage             {"pattern": "default/web-*", "cpu": "500m", "memory": "1Gi"}
DELETE /v1/members/NAME/usage/PATTERN
PUT    /v1/members/NAME/ports             {"namespace": "default", "host": "web", "port": 80}: its loopback address
"""

import secrets
from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from karmada.api import merge_patch
from karmada.api.quantity import Quantity, QuantityError
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.simulator.behaviour import ImageRule
from karmada.simulator.faults import Faults
from karmada.simulator.member import Member
from karmada.simulator.network.plane import Unreachable
from karmada.simulator.workloads.kinds import NODES


class Refused(Exception):
    """A request that makes no sense."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """A name inside a member, with a port."""

    host: str
    port: int = 80
    namespace: str = "default"


class ControlApi:
    """Serves the control API of some members."""

    def __init__(self, members: Mapping[str, Member]) -> None:
        self._members = members
        self.token = secrets.token_urlsafe(24)
        self._http = HttpServer(self._handle)

    async def listen(self, host: str = "127.0.0.1", port: int = 0) -> int:
        """Serve; the port."""
        return await self._http.listen(host, port)

    async def stop(self) -> None:
        """Stop serving."""
        await self._http.stop(grace=0.5)

    async def _handle(self, request: HttpRequest) -> HttpAnswer:
        try:
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            if not secrets.compare_digest(given.encode(), self.token.encode()):
                raise Refused(401, "the control API needs the fleet's token")
            answer = await self._answer(request)
        except Refused as refused:
            return HttpResponse(refused.status, orjson.dumps({"error": str(refused)}))
        except (msgspec.ValidationError, orjson.JSONDecodeError, QuantityError, ValueError) as error:
            return HttpResponse(400, orjson.dumps({"error": str(error)}))
        return HttpResponse(200, orjson.dumps(answer))

    async def _answer(self, request: HttpRequest) -> Any:
        parts = request.path.strip("/").split("/", 4)
        if parts[:2] != ["v1", "members"]:
            raise Refused(404, f"there is nothing at {request.path}")
        if len(parts) == 2:
            return {"members": {name: described(member) for name, member in self._members.items()}}
        member = self._members.get(parts[2])
        if member is None:
            raise Refused(404, f"there is no member {parts[2]!r}; there are {', '.join(self._members)}")
        body = orjson.loads(request.body) if request.body else {}
        match request.method, parts[3:]:
            case "GET", []:
                pass
            case "PATCH", ["faults"]:
                await member.set_faults(changed(member.faults, body))
            case "PUT", ["nodes", node]:
                down = bool(body.get("down", True))
                there = [one["metadata"]["name"] for one in (await member.inside.resource(NODES).list()).items]
                if down and node not in there:
                    raise Refused(404, f"there is no node {node!r} in {parts[2]}; there are {', '.join(there)}")
                member.set_node_down(node, down)
            case "PUT", ["images"]:
                member.behaviour.set_rule(msgspec.convert(body, ImageRule))
            case "DELETE", ["images", pattern]:
                member.behaviour.drop_rule(pattern)
            case "PUT", ["usage"]:
                cpu, memory = Quantity.parse(body["cpu"]).milli_value(), Quantity.parse(body["memory"]).value()
                member.usage.set(body["pattern"], cpu, memory)
            case "DELETE", ["usage", pattern]:
                member.usage.reset(pattern)
            case "PUT", ["ports"]:
                return await opened(member, body)
            case _:
                raise Refused(405, f"{request.method} is not possible on {request.path}")
        return described(member)


def changed(faults: Faults, patch: Any) -> Faults:
    """Faults with a merge patch applied; null puts a field back to its usual value."""
    return msgspec.convert(merge_patch.apply(msgspec.to_builtins(faults), patch), Faults)


async def opened(member: Member, body: Any) -> dict[str, str]:
    """The loopback address of a name and port inside a member."""
    wanted = msgspec.convert(body, _Wanted)
    try:
        host, port = await member.ports.entrance(wanted.namespace, wanted.host, wanted.port)
    except Unreachable as error:
        raise Refused(404, str(error)) from None
    return {"address": f"http://{host}:{port}"}


def described(member: Member) -> dict[str, Any]:
    """A member as the control API shows it."""
    return {
        "name": member.name,
        "region": member.spec.region,
        "faults": msgspec.to_builtins(member.faults),
        "deadNodes": sorted(member.behaviour.dead_nodes),
        "images": msgspec.to_builtins(member.behaviour.rules),
    }
