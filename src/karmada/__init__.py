"""Karmada in Python: a multi-cluster Kubernetes control plane that can say why."""

from typing import TYPE_CHECKING

from karmada.api.version import VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from karmada.connecting import AsyncKarmada, Karmada

__version__ = VERSION


def connect(kubeconfig: "str | Path" = "", context: str = "") -> "Karmada":
    """A client of a control plane: the one of the kubeconfig given, of KUBECONFIG, or of the home directory."""
    from karmada.connecting import Karmada

    return Karmada.to(kubeconfig, context)


def connect_async(kubeconfig: "str | Path" = "", context: str = "") -> "AsyncKarmada":
    """The same for programs with an event loop."""
    from karmada.connecting import AsyncKarmada

    return AsyncKarmada.to(kubeconfig, context)
