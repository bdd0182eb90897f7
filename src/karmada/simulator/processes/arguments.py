"""The command line of a container as its process gets it. Pure.

All pods share the machine's network and file system, so three things are rewritten: paths below mounts become the
pod's own folders, "all addresses" becomes the pod's address, and servers that would listen everywhere by default are
given the flag not to.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

_VARIABLE = re.compile(r"\$(\$|\(([A-Za-z_][A-Za-z0-9_.\-]*)\))")
_EVERYWHERE = re.compile(r"(^|=|//|,)(?:0\.0\.0\.0|\[::\])(?=$|[:/,])")
_PORT_ONLY = re.compile(r"(^|=)(?=:\d+$)")
METRICS = "metrics-bind-address", 8080
HEALTH = "health-probe-bind-address"
BIND = "bind-address", 0
LISTENS: Mapping[str, Sequence[tuple[str, int]]] = {
    "karmada-agent": ((HEALTH, 10357), METRICS),
    "karmada-aggregated-apiserver": (BIND,),
    "karmada-controller-manager": ((HEALTH, 10357), METRICS),
    "karmada-dashboard": (BIND,),
    "karmada-descheduler": ((HEALTH, 10358), METRICS),
    "karmada-gateway": ((HEALTH, 10360), METRICS, ("http-bind-address", 8000), ("https-bind-address", 8443)),
    "karmada-metrics-adapter": (BIND,),
    "karmada-operator": ((HEALTH, 10359), METRICS),
    "karmada-scheduler": ((HEALTH, 10351), METRICS),
    "karmada-scheduler-estimator": ((HEALTH, 10351), METRICS),
    "karmada-search": (BIND,),
    "karmada-webhook": (BIND, (HEALTH, 8000), METRICS),
    "kube-apiserver": (BIND, ("advertise-address", 0)),
    "kube-controller-manager": (BIND,),
}
"""Flags with which programs listen on all addresses unless a flag says otherwise, and their ports; 0: a host alone."""

NEEDED = {"kube-apiserver": {"endpoint-reconciler-type": "none"}}
"""Flags without which a program would write its loopback address where that is refused."""


def expanded(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Words with `$(NAME)` replaced as kubelets do: unknown names stay, `$$` is a dollar sign."""

    def replace(found: re.Match[str]) -> str:
        if found[1] == "$":
            return "$"
        return environment.get(found[2], found[0])

    return [_VARIABLE.sub(replace, word) for word in words]


def rewritten(program: str, arguments: Sequence[str], mounts: Mapping[str, Path], address: str) -> list[str]:
    """Arguments for a process that stands for a container with these mounts and this address."""
    made = [_PORT_ONLY.sub(rf"\g<1>{address}", _EVERYWHERE.sub(rf"\g<1>{address}", word)) for word in arguments]
    made = [relocated(word, mounts) for word in made]
    for flag, port in LISTENS.get(program, ()):
        if not _gives(made, flag):
            made.append(f"--{flag}={address}:{port}" if port else f"--{flag}={address}")
    needed = NEEDED.get(program, {})
    return [*made, *(f"--{flag}={value}" for flag, value in needed.items() if not _gives(made, flag))]


def _gives(words: Sequence[str], flag: str) -> bool:
    return any(word == f"--{flag}" or word.startswith(f"--{flag}=") for word in words)


def relocated(text: str, mounts: Mapping[str, Path]) -> str:
    """A text in which paths below mounts lead into the pod's folders."""
    paths = sorted((path.rstrip("/") for path in mounts), key=len, reverse=True)
    if not paths:
        return text
    found = re.compile(rf"(?<![\w.\-])({'|'.join(map(re.escape, paths))})(?=$|[/,:;\s])")
    folders = {path.rstrip("/"): str(folder) for path, folder in mounts.items()}
    return found.sub(lambda match: folders[match[1]], text)
