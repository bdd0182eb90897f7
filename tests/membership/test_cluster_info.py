"""Finding a control plane by a token: what register says while it does not answer."""

import socket

import pytest

from karmada.machinery.clock import LoopClock
from karmada.membership.cluster_info import discover
from karmada.membership.refusal import Refused
from karmada.membership.token import Token


class Hurried(LoopClock):
    """A clock of which nobody waits for the seconds."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        self._seconds += seconds


async def test_a_control_plane_that_refuses_connections_is_named_once_while_it_is_waited_for() -> None:
    said: list[str] = []
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{nobody.getsockname()[1]}"
        token = Token("abcdef", "0123456789abcdef")
        with pytest.raises(Refused, match="refused"):
            await discover(endpoint, token, (), patience=20.0, clock=Hurried(), say=said.append)
        with pytest.raises(Refused, match="refused"):
            await discover(endpoint, token, (), patience=4.0, clock=Hurried(), say=said.append)
    assert len(said) == 1
    assert said[0].startswith(f"[discovery] Waiting for https://{endpoint}, up to 20 s: ")
    assert "refused" in said[0]
