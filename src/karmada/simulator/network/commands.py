"""`curl`, `wget`, `nslookup` and `nc` in a simulated container: their arguments, and what they say of a reply. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from math import inf
from typing import Protocol
from urllib.parse import urlsplit

from karmada.simulator.network import netcat
from karmada.simulator.network.plane import UnknownHost, Unreachable
from karmada.simulator.network.program import WebReply, WebRequest

SERVER = "10.96.0.10"
"""The address of cluster DNS."""
PATIENCE = 30.0
"""Seconds after which a client gives up by itself."""


class Web(netcat.Connections, Protocol):
    """The network as a container sees it."""

    def fetch(self, url: str, request: WebRequest) -> WebReply:
        """What a URL answers; raises `Unreachable`."""
        ...

    def lookup(self, host: str) -> list[str]:
        """The addresses of a name; raises `UnknownHost`."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    output: str = ""
    errors: str = ""
    code: int = 0
    seconds: float = 0.0


_VALUED = {
    "-X": "method", "--request": "method", "-d": "data", "--data": "data", "-H": "header", "--header": "header",
    "-o": "output", "--output": "output", "-w": "write", "--write-out": "write", "-m": "seconds",
    "--max-time": "seconds", "--connect-timeout": "connect", "-A": "agent", "--retry": "retry",
}  # fmt: skip
_PLAIN = {
    "-s": "silent", "--silent": "silent", "-S": "show", "--show-error": "show", "-f": "fail", "--fail": "fail",
    "-i": "include", "--include": "include", "-I": "head", "--head": "head", "-v": "verbose", "-k": "insecure",
    "-L": "follow", "--location": "follow", "-g": "glob",
}  # fmt: skip


def curl(words: Sequence[str], web: Web, stdin: str = "") -> Outcome:
    """Ask a URL as curl does."""
    options, urls, unknown = _parsed(words, _VALUED, _PLAIN)
    if unknown:
        return Outcome(errors=f"curl: option {unknown}: is unknown\n", code=2)
    if not urls:
        return Outcome(errors="curl: (2) no URL specified\n", code=2)
    quiet = "silent" in options and "show" not in options
    url, data = urls[0], "&".join(options.get("data", ()))
    method = _last(options, "method") or ("HEAD" if "head" in options else "POST" if data else "GET")
    headers = dict(_header(text) for text in options.get("header", ()))
    limit = _seconds(_last(options, "seconds"))
    try:
        reply = web.fetch(url, WebRequest(method, headers=headers, body=data.encode()))
    except UnknownHost:
        return Outcome(errors="" if quiet else f"curl: (6) Could not resolve host: {_host(url)}\n", code=6)
    except Unreachable as error:
        return Outcome(errors="" if quiet else f"curl: (7) Failed to connect to {_host(url)}: {error}\n", code=7)
    if reply.seconds > limit:
        return Outcome(
            errors="" if quiet else f"curl: (28) Operation timed out after {limit:g} s\n", code=28, seconds=limit
        )
    if "fail" in options and reply.status >= 400:
        text = f"curl: (22) The requested URL returned error: {reply.status}\n"
        return Outcome(errors="" if quiet else text, code=22, seconds=reply.seconds)
    shown = _head(reply) if "include" in options or "head" in options else ""
    if "head" not in options and _last(options, "output") in ("", "-"):
        shown += reply.body.decode(errors="replace")
    written = _last(options, "write").replace("%{http_code}", str(reply.status)).replace("\\n", "\n")
    return Outcome(shown + written, seconds=reply.seconds)


def wget(words: Sequence[str], web: Web, stdin: str = "") -> Outcome:
    """Ask a URL as busybox's wget does; `-O -` or `-qO-` shows the answer."""
    valued = {"-O": "output", "-T": "seconds", "--timeout": "seconds", "--header": "header", "--post-data": "data"}
    plain = {"-q": "quiet", "-S": "server", "--spider": "spider", "--no-check-certificate": "insecure"}
    options, urls, unknown = _parsed(words, valued, plain)
    if unknown or not urls:
        return Outcome(errors=f"wget: unrecognized option: {unknown}\n" if unknown else "wget: missing URL\n", code=1)
    data, limit = _last(options, "data"), _seconds(_last(options, "seconds"))
    headers = dict(_header(text) for text in options.get("header", ()))
    try:
        reply = web.fetch(urls[0], WebRequest("POST" if data else "GET", headers=headers, body=data.encode()))
    except UnknownHost:
        return Outcome(errors=f"wget: bad address '{_host(urls[0])}'\n", code=1)
    except Unreachable as error:
        return Outcome(errors=f"wget: can't connect to remote host ({_host(urls[0])}): {error}\n", code=1)
    if reply.seconds > limit:
        return Outcome(errors="wget: download timed out\n", code=1, seconds=limit)
    if reply.status >= 400:
        text = f"wget: server returned error: HTTP/1.1 {reply.status} {_phrase(reply.status)}\n"
        return Outcome(errors=text, code=1, seconds=reply.seconds)
    shown = reply.body.decode(errors="replace") if _last(options, "output") == "-" else ""
    return Outcome(shown, seconds=reply.seconds)


def nslookup(words: Sequence[str], web: Web, stdin: str = "") -> Outcome:
    """Look a name up in cluster DNS."""
    names = [word for word in words if not word.startswith("-")]
    if not names:
        return Outcome(errors="nslookup: a name is needed\n", code=1)
    head = f"Server:\t\t{SERVER}\nAddress:\t{SERVER}:53\n\n"
    try:
        found = web.lookup(names[0])
    except UnknownHost:
        return Outcome(f"{head}** server can't find {names[0]}: NXDOMAIN\n\n", code=1)
    return Outcome(head + "".join(f"Name:\t{names[0]}\nAddress: {address}\n" for address in found) + "\n")


def nc(words: Sequence[str], web: Web, stdin: str = "") -> Outcome:
    """Connect to an `nc` that listens, or listen for ever."""
    options = netcat.parse(words)
    if options is None:
        return Outcome(errors="usage: nc [-u] HOST PORT, or nc -l -p PORT [-e PROG ARGS]\n", code=1)
    return Outcome(seconds=inf) if options.listens else Outcome(*netcat.answer(options, web, stdin))


COMMANDS: Mapping[str, Callable[[Sequence[str], Web, str], Outcome]] = {
    "curl": curl,
    "wget": wget,
    "nslookup": nslookup,
    "nc": nc,
}


def _parsed(
    words: Sequence[str], valued: Mapping[str, str], plain: Mapping[str, str]
) -> tuple[dict[str, list[str]], list[str], str]:
    """Options with their values, the other words, and the first option that is not known."""
    options: dict[str, list[str]] = {}
    others: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            others.append(word)
        elif word in plain:
            options.setdefault(plain[word], []).append("")
        elif word in valued:
            options.setdefault(valued[word], []).append(waiting.pop(0) if waiting else "")
        elif equals and name in valued:
            options.setdefault(valued[name], []).append(value)
        elif not word.startswith("--") and len(word) > 2 and (word[:2] in plain or word[:2] in valued):
            # Short options may be written together, and a value right behind its option.
            waiting[:0] = [word[:2], f"-{word[2:]}" if word[:2] in plain else word[2:]]
        else:
            return options, others, word
    return options, others, ""


def _last(options: Mapping[str, list[str]], name: str) -> str:
    return options.get(name, [""])[-1]


def _seconds(text: str) -> float:
    return float(text) if text.replace(".", "", 1).isdecimal() else PATIENCE


def _header(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name.strip().lower(), value.strip()


def _host(url: str) -> str:
    return urlsplit(url if "://" in url else f"http://{url}").hostname or ""


def _head(reply: WebReply) -> str:
    fields = (("Content-Type", reply.content_type), ("Content-Length", str(len(reply.body))), *reply.headers)
    return f"HTTP/1.1 {reply.status} {_phrase(reply.status)}\n" + "".join(f"{n}: {v}\n" for n, v in fields) + "\n"


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"
