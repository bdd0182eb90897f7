"""Logs and terminals of pods in members, through the control plane's proxy, as whoever asks.

What goes to a member holds nothing of the browser's: no cookie, no credential, no header but what a WebSocket needs.
What comes back is text or frames, whatever the member says that it is: a member must not serve pages of this origin.
"""

from urllib.parse import urlencode

from karmada.dashboard.answers import PRIVATE, Refusal, bad_request
from karmada.dashboard.in_process import HERE
from karmada.dashboard.names import checked_name
from karmada.dashboard.routes import Visit
from karmada.dashboard.upstream import PROXY
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse, StreamResponse, Upgrade

TAIL = 10_000
"""Lines of a log at most."""
SHELL = ("sh",)
PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_SOCKET = ("upgrade", "connection", "sec-websocket-key", "sec-websocket-version")
_TEXT = "text/plain; charset=utf-8"


async def log(visit: Visit) -> HttpAnswer:
    """The log of a container; with `follow` as it grows."""
    params = visit.params
    tail = params.get("tail") or "1000"
    if not tail.isdecimal() or len(tail) > 9 or int(tail) > TAIL:
        raise bad_request(f"tail: {tail[:20]!r} is not a number up to {TAIL}")
    query = {"tailLines": tail, **({"follow": "true"} if params.get("follow") == "true" else {})}
    query |= {name: "true" for name in ("previous", "timestamps") if params.get(name) == "true"}
    answer = await _forwarded(visit, "log", [*_container(params), *query.items()], {"accept": "*/*"})
    if isinstance(answer, Upgrade):
        raise Refusal(502, "BadGateway", "the member answered with something that is no log")
    headers = {**PRIVATE, "Content-Disposition": "inline"}
    if isinstance(answer, StreamResponse) and answer.status == 200:
        return StreamResponse(200, answer.chunks, _TEXT, headers, answer.ended)
    kind = "application/json" if answer.content_type.startswith("application/json") else _TEXT
    if isinstance(answer, StreamResponse):
        return StreamResponse(answer.status, answer.chunks, kind, headers, answer.ended)
    return HttpResponse(answer.status, answer.body, _TEXT if answer.status == 200 else kind, headers)


async def exec_(visit: Visit) -> HttpAnswer:
    """A terminal in a container."""
    headers = visit.request.headers
    offered = [one.strip() for one in headers.get("sec-websocket-protocol", "").split(",")]
    chosen = [protocol for protocol in PROTOCOLS if protocol in offered]
    if headers.get("upgrade", "").lower() != "websocket" or not chosen:
        raise bad_request(f"a terminal is a WebSocket that speaks {' or '.join(PROTOCOLS)}")
    passed = {name: headers[name] for name in _SOCKET if name in headers}
    passed["sec-websocket-protocol"] = ", ".join(chosen)
    command = [value for name, value in visit.parameters if name == "command"] or list(SHELL)
    query = [("stdin", "true"), ("stdout", "true"), ("tty", "true"), *(("command", word) for word in command)]
    answer = await _forwarded(visit, "exec", [*query, *_container(visit.params)], passed)
    if isinstance(answer, Upgrade):
        kept = ("upgrade", "connection", "sec-websocket-accept", "sec-websocket-protocol")
        return Upgrade({key: value for key, value in answer.headers.items() if key.lower() in kept}, answer.serve)
    kind = "application/json" if answer.content_type.startswith("application/json") else _TEXT
    if isinstance(answer, StreamResponse):
        return StreamResponse(answer.status, answer.chunks, kind, dict(PRIVATE), answer.ended)
    return HttpResponse(answer.status, answer.body, kind, dict(PRIVATE))


def _container(params: dict[str, str]) -> list[tuple[str, str]]:
    name = params.get("container", "")
    return [("container", checked_name(name, "a container"))] if name else []


async def _forwarded(visit: Visit, what: str, query: list[tuple[str, str]], headers: dict[str, str]) -> HttpAnswer:
    cluster = checked_name(visit.arguments["cluster"], "a cluster")
    namespace = checked_name(visit.arguments["namespace"], "a namespace")
    pod = checked_name(visit.arguments["pod"], "a pod")
    path = f"{PROXY}/{cluster}/proxy/api/v1/namespaces/{namespace}/pods/{pod}/{what}"
    sent = {"user-agent": "karmada-dashboard", **headers}
    request = HttpRequest("GET", path, urlencode(query), sent, b"", HERE, None)
    return await visit.dashboard.upstream.forward(visit.credential, request)
