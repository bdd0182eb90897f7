"""`karmada sim …`: break and mend the members of a running fleet.

karmada sim list
karmada sim fault member1 --down            (--up, --hang, --slow 200, --reject 503, --expired, --skew 30, --clear)
karmada sim node member1 member1-node-1 down
karmada sim image member1 '*web:v2*' Crash --seconds 5
karmada sim usage member1 'default/web-*' --cpu 500m --memory 1Gi
karmada sim quota member1 default full
karmada sim open member1 web.default:80
karmada sim webhook member1 policy --resources deployments.apps --reject "not on a Friday"
"""

import argparse
import http.client
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from karmada.machinery.flags import directory
from karmada.machinery.os_errors import spelled

Patch = dict[str, Any]


class ControlError(Exception):
    """The fleet cannot be reached or refused; the message is for people."""


class ControlClient:
    """Talks to the control API of the fleet in a federation's directory, or in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        inside = folder / "members"
        folder = inside if (inside / "fleet.json").exists() else folder
        try:
            control = json.loads((folder / "fleet.json").read_text())["control"]
        except (OSError, KeyError, ValueError):
            remedy = "start one with `karmada up`, or name its folder with --data"
            raise ControlError(f"no fleet runs in {folder}: {remedy}") from None
        self._address = urlsplit(control["url"])
        self._token = control["token"]

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """One request; raises `ControlError` with the fleet's words."""
        connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port, timeout=10)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Authorization": f"Bearer {self._token}"})
            answer = connection.getresponse()
            content = json.loads(answer.read())
        except (OSError, http.client.HTTPException) as error:
            raise ControlError(f"the fleet does not answer: {spelled(error)}") from None
        finally:
            connection.close()
        if answer.status != 200:
            raise ControlError(content["error"])
        return content


def parser() -> argparse.ArgumentParser:
    """The grammar of the command."""
    flags = argparse.ArgumentParser(prog="karmada sim", description="Break and mend simulated members.")
    home = Path(os.environ.get("KARMADA_HOME") or Path.home() / ".karmada")
    flags.add_argument(
        "--data",
        type=directory,
        default=home,
        metavar="DIR",
        help="where the federation is kept (default: %(default)s)",
    )
    commands = flags.add_subparsers(dest="command", required=True)
    _command(commands, "list", "show members and what is wrong with them", "list")
    fault = _command(
        commands,
        "fault",
        "change what is wrong with a member's API server",
        "fault member1 --down",
        "fault member1 --slow 300 --skew 3600",
        "fault member1 --clear",
    )
    fault.add_argument("member")
    fault.add_argument("--down", action=argparse.BooleanOptionalAction, help="take no connections")
    fault.add_argument("--up", dest="down", action="store_false", default=None, help="the same as --no-down")
    fault.add_argument("--hang", action=argparse.BooleanOptionalAction, help="let requests wait until it ends")
    fault.add_argument("--slow", type=int, metavar="MILLISECONDS", help="delay every answer; 0 ends it")
    fault.add_argument("--reject", type=int, metavar="CODE", help="answer everything with this code; 0 ends it")
    fault.add_argument("--network-down", action=argparse.BooleanOptionalAction, help="cut its pods off")
    fault.add_argument("--expired", action=argparse.BooleanOptionalAction, help="show an expired certificate")
    fault.add_argument("--skew", type=float, metavar="SECONDS", help="have its clock go wrong; 0 ends it")
    fault.add_argument("--clear", action="store_true", help="end all of these faults")
    node = _command(commands, "node", "stop or start the kubelet of a node", "node member1 member1-node-1 down")
    node.add_argument("member")
    node.add_argument("node")
    node.add_argument("state", choices=("down", "up"))
    image = _command(
        commands,
        "image",
        "decide what containers of an image do",
        "image member1 '*web:v2*' Crash --seconds 5",
        "image member1 '*web:v2*' usual",
    )
    image.add_argument("member")
    image.add_argument("pattern", help="of names of images, with * and ?")
    image.add_argument("fate", choices=("Ready", "NeverReady", "Crash", "Missing", "usual"))
    image.add_argument("--seconds", type=float, default=0.0, help="until it comes true (default: %(default)s)")
    usage = _command(
        commands,
        "usage",
        "decide what pods use",
        "usage member1 'default/web-*' --cpu 500m --memory 1Gi",
        "usage member1 'default/web-*' --usual",
    )
    usage.add_argument("member")
    usage.add_argument("pattern", help="of NAMESPACE/POD")
    usage.add_argument("--cpu", default="10m", help="of each pod (default: %(default)s)")
    usage.add_argument("--memory", default="32Mi", help="of each pod (default: %(default)s)")
    usage.add_argument("--usual", action="store_true", help="forget the pattern")
    opened = _command(
        commands,
        "open",
        "give a Service or pod an address on this machine, and print it",
        "open member2 web.shop:80",
    )
    opened.add_argument("member")
    opened.add_argument("name", metavar="HOST[:PORT]", help="a name of cluster DNS, or a pod's address")
    opened.add_argument("--namespace", "-n", default="default", help="in which short names are looked up")
    quota = _command(commands, "quota", "fill up a namespace: no new pods", "quota member1 default full")
    quota.add_argument("member")
    quota.add_argument("namespace")
    quota.add_argument("state", choices=("full", "free"))
    webhook = _command(
        commands,
        "webhook",
        "have a webhook change or refuse objects in a member",
        'webhook member1 policy --resources deployments.apps --reject "not on a Friday"',
        'webhook member1 mesh --resources pods --merge \'{"metadata":{"labels":{"mesh":"on"}}}\'',
        "webhook member1 policy --remove",
    )
    webhook.add_argument("member")
    webhook.add_argument("name", help="of the webhook, for the next change of it")
    webhook.add_argument("--resources", default="*", help="what it sees, as deployments.apps (default: everything)")
    webhook.add_argument("--namespaces", default="*", help="where it sees it (default: everywhere)")
    webhook.add_argument("--reject", default="", metavar="MESSAGE", help="refuse objects with these words")
    webhook.add_argument("--merge", type=_tree, default={}, metavar="JSON", help="merge this into objects")
    webhook.add_argument("--remove", action="store_true", help="have it no more")
    return flags


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, text: str, *examples: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog="\n".join(("examples:", *(f"  karmada sim {example}" for example in examples))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _tree(text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f'{text!r} is no object in JSON: write it as {{"metadata": {{...}}}}')
    return found


def sim(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status."""
    flags = parser().parse_args(argv)
    try:
        client = ControlClient(flags.data)
        if flags.command == "open":
            sys.stdout.write(_opened(client, flags) + "\n")
            return 0
        if flags.command == "list":
            answer = client.request("GET", "/v1/members")["members"].values()
        else:
            answer = [_run(client, flags)]
    except ControlError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    for member in answer:
        sys.stdout.write(line(member) + "\n")
    return 0


def _opened(client: ControlClient, flags: argparse.Namespace) -> str:
    host, _, port = flags.name.partition(":")
    if port and not port.isdecimal():
        raise ControlError(f"{flags.name}: the port must be a number")
    wanted = {"namespace": flags.namespace, "host": host, "port": int(port or 80)}
    return str(client.request("PUT", f"/v1/members/{quote(flags.member)}/ports", wanted)["address"])


def line(member: dict[str, Any]) -> str:
    """One line about a member."""
    wrong = [f"{name}={_short(value)}" for name, value in member["faults"].items() if value]
    wrong += [f"node {name} down" for name in member["deadNodes"]]
    return f"{member['name']:<20} {member['region']:<12} {', '.join(wrong) or 'healthy'}"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(entry["name"] if isinstance(entry, dict) else str(entry) for entry in value)
    return str(value).lower()


def _run(client: ControlClient, flags: argparse.Namespace) -> Any:
    base = f"/v1/members/{quote(flags.member)}"
    match flags.command:
        case "fault":
            return client.request("PATCH", f"{base}/faults", _fault(flags))
        case "node":
            return client.request("PUT", f"{base}/nodes/{quote(flags.node)}", {"down": flags.state == "down"})
        case "image" if flags.fate == "usual":
            return client.request("DELETE", f"{base}/images/{quote(flags.pattern, safe='')}")
        case "image":
            rule = {"pattern": flags.pattern, "fate": flags.fate, "seconds": flags.seconds}
            return client.request("PUT", f"{base}/images", rule)
        case "usage" if flags.usual:
            return client.request("DELETE", f"{base}/usage/{quote(flags.pattern, safe='')}")
        case "usage":
            amounts = {"pattern": flags.pattern, "cpu": flags.cpu, "memory": flags.memory}
            return client.request("PUT", f"{base}/usage", amounts)
    present = client.request("GET", base)["faults"]
    if flags.command == "quota":
        others = [name for name in present["fullNamespaces"] if name != flags.namespace]
        full = [*others, flags.namespace] if flags.state == "full" else others
        return client.request("PATCH", f"{base}/faults", {"fullNamespaces": full})
    hooks = [hook for hook in present["webhooks"] if hook["name"] != flags.name]
    if not flags.remove:
        fields = ("name", "resources", "namespaces", "reject", "merge")
        hooks.append({field: getattr(flags, field) for field in fields})
    return client.request("PATCH", f"{base}/faults", {"webhooks": hooks})


def _fault(flags: argparse.Namespace) -> Patch:
    names = {
        "down": "down",
        "hang": "hanging",
        "slow": "slowMilliseconds",
        "reject": "rejecting",
        "network_down": "networkDown",
        "expired": "certificateExpired",
        "skew": "clockSkewSeconds",
    }
    patch: Patch = dict.fromkeys((*names.values(), "webhooks", "fullNamespaces")) if flags.clear else {}
    given = {field: getattr(flags, flag) for flag, field in names.items()}
    return patch | {field: value for field, value in given.items() if value is not None}
