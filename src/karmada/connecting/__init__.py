"""The Python client of a control plane: `karmada.connect()` and `karmada.connect_async()`. See docs/python.md."""

from karmada.connecting.asynchronous import AsyncKarmada, Source, WaitTimeout
from karmada.connecting.synchronous import Karmada

__all__ = ["AsyncKarmada", "Karmada", "Source", "WaitTimeout"]
