"""What a simulated container answers to an HTTP request. Pure: a pod and a request in, a reply out.

Every image echoes where the request arrived, as JSON. `karmada.sim/http` takes arguments:

    --status CODE     answer with this status
    --text TEXT       answer with this text in place of the echo
    --delay SECONDS   answer after this time
    --header NAME:VALUE
    --port PORT       listen on this port only; may be repeated
    --call URL        ask this URL first, as the pod, and put its answer into the echo
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from karmada.simulator.workloads.views import Pod

IMAGE = "karmada.sim/http"
LONGEST_DELAY = 3600.0


@dataclass(frozen=True, slots=True)
class Program:
    """The arguments of an HTTP container; the defaults are those of any other image."""

    status: int = 200
    text: str | None = None
    delay: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    ports: tuple[int, ...] = ()
    """All when empty."""
    call: str = ""


@dataclass(frozen=True, slots=True)
class WebRequest:
    """A request as a pod sees it."""

    method: str = "GET"
    path: str = "/"
    """With the query, as sent."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class WebReply:
    """What a pod answers, and after how many seconds."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0


class BadArguments(ValueError):
    """The arguments of a container make no sense; the message names the argument."""


def program_of(pod: Pod) -> Program:
    """The arguments of the pod's HTTP container; a pod without one echoes. Raises `BadArguments`."""
    for container in pod.spec.containers:
        if container.image.partition(":")[0] == IMAGE:
            return parse(container.args or ())
    return Program()


def parse(args: Sequence[str]) -> Program:
    """The arguments of `karmada.sim/http`; raises `BadArguments`."""
    words = [part for word in args for part in (word.split("=", 1) if word.startswith("--") else [word])]
    status, text, delay, call = 200, None, 0.0, ""
    headers: list[tuple[str, str]] = []
    ports: list[int] = []
    for name, value in zip(words[::2], [*words[1::2], ""], strict=False):
        match name:
            case "--status" if value.isdecimal() and 200 <= int(value) <= 599:
                status = int(value)
            case "--text":
                text = value
            case "--delay" if value.replace(".", "", 1).isdecimal():
                delay = min(float(value), LONGEST_DELAY)
            case "--header" if ":" in value and value.isprintable():
                headers.append((value.partition(":")[0].strip(), value.partition(":")[2].strip()))
            case "--port" if value.isdecimal() and 0 < int(value) < 1 << 16:
                ports.append(int(value))
            case "--call":
                call = value
            case _:
                raise BadArguments(f"{IMAGE}: {name} {value}: not an argument, or not a value it can have")
    return Program(status, text, delay, tuple(headers), tuple(ports), call)


def reply(
    cluster: str, pod: Pod, port: int, program: Program, request: WebRequest, called: WebReply | None
) -> WebReply:
    """The answer of a pod; `called` is what the URL of `--call` answered."""
    seconds = program.delay + (called.seconds if called is not None else 0.0)
    if program.text is not None:
        return WebReply(program.status, program.text.encode(), "text/plain; charset=utf-8", program.headers, seconds)
    echo: dict[str, object] = {
        "cluster": cluster,
        "namespace": pod.metadata.namespace,
        "pod": pod.metadata.name,
        "node": pod.spec.node_name or "",
        "port": port,
        "method": request.method,
        "path": request.path,
        "host": request.headers.get("host", ""),
    }
    if request.body:
        echo["bytes"] = len(request.body)
    if called is not None:
        echo["called"] = {"status": called.status, "answer": called.body.decode(errors="replace")}
    return WebReply(program.status, orjson.dumps(echo) + b"\n", headers=program.headers, seconds=seconds)
