"""The commands around registration that fail, as recorded: what they print, and how they end.

`STRICTER` lists those that end otherwise here on purpose; `docs/differences-from-karmada.md` says the same to users.
"""

import asyncio
import io
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from tests.membership.test_pull import Pull, _is_signed
from tests.membership.test_pull import pull as pull
from tests.membership.test_recorded import RECORDED
from tests.membership.world import Member

from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.cli.main import execute
from karmada.cli.session import Session
from karmada.membership import token
from karmada.membership.join import join

PREFLIGHT = "a failed preflight is a failure"
STRICTER = {
    "01": PREFLIGHT,
    "02": PREFLIGHT,
    "03": PREFLIGHT,
    "04": "a cluster that is a member under another name is not reported as joined",
}
OWN_WORDS = {
    "12": (
        "couldn't validate the identity of the API Server: ",
        "the reason a connection fails is said in Python's words",
    ),
    "26": (
        "no cluster object member1 found in karmada control Plane",
        "without --karmada-config the current kubeconfig is used, as by every other command; it leads to no hub here",
    ),
}


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def captures() -> list[Any]:
    found = sorted((RECORDED / "pull-errors" / "out").glob("*.yaml"))
    return [pytest.param(path.stem[:2], yaml.safe_load(path.read_text()), id=path.stem[:40]) for path in found]


def even(text: str) -> str:
    text = re.sub(r"sha256:[0-9a-f]{64}", "sha256:<hash>", text)
    return re.sub(r'token ID "[a-z0-9]{6}"', 'token ID "<id>"', text).strip()


class Stage:
    """A hub with a push cluster (member1) and a pull cluster (member3)."""

    def __init__(self, pull: Pull, folder: Path) -> None:
        self.pull = pull
        self.folder = folder
        self.members: dict[str, Member] = {}

    async def prepare(self) -> None:
        for name in ("member1", "member3"):
            member = self.members[name] = await self.pull.world.member(name)
            self._write(name, member.server, member.endpoint)
        self._write("hub", self.pull.world.plane.server, self.pull.endpoint)
        await join(self.members["member1"].client, self.pull.world.hub, self.members["member1"].describe())
        await self.pull.register(self.members["member3"])
        self.token = token.new_token()
        await token.create(self.pull.world.hub, self.token)
        for _ in range(500):
            if await _is_signed(self.pull, self.token.id):
                return
            await asyncio.sleep(0.01)

    def path(self, name: str) -> str:
        return str(self.folder / f"{name}.config")

    def _write(self, name: str, server: Any, endpoint: str) -> None:
        authority = server.identity.authority
        certificate, key = authority.issue_client("system:admin", ("system:masters",))
        config = kubeconfig(endpoint, authority.certificate_pem, cluster=name, certificate=certificate, key=key)
        write_kubeconfig(Path(self.path(name)), config)

    def words(self, number: str, command: str) -> list[str]:
        given = {"05": "abcdef.0123456789abcdef", "06": f"{self.token.id}.0123456789abcdef"}
        (pin,) = ["sha256:" + "0" * 64] if number == "09" else token.pins(self.pull.authority)
        endpoint = "127.0.0.1:1" if number == "12" else self.pull.endpoint.removeprefix("https://")
        places = {
            "{kc}": self.path("hub"),
            "{member1}": self.path("member1"),
            "{member3}": self.path("member3"),
            "<endpoint>": endpoint,
            "<bootstrap-token>": given.get(number, str(self.token)),
            "sha256:<hash>": pin,
            "--discovery-timeout=<age>": "--discovery-timeout=1s",
        }
        return [places.get(word, word) for word in shlex.split(command)[1:]]

    async def run(self, *words: str) -> Outcome:
        out, err = io.StringIO(), io.StringIO()
        environment = {"HOME": str(self.folder)}
        if "--karmada-config" not in words and words[0] == "unregister":
            environment["KUBECONFIG"] = self.path("member1")
        session = Session(out=out, err=err, stdin=io.StringIO(), environment=environment)
        code = await execute(words, session)
        return Outcome(code, out.getvalue(), err.getvalue())


@pytest.mark.parametrize(("number", "capture"), captures())
async def test_a_recorded_failure_is_reproduced(
    pull: Pull, tmp_path: Path, number: str, capture: dict[str, Any]
) -> None:
    stage = Stage(pull, tmp_path)
    await stage.prepare()
    words = stage.words(number, capture["command"])
    ours = await stage.run(*words, *(["--wait", "1s"] if number == "04" else []))
    if number in STRICTER:
        assert capture["exit"] == 0
        assert ours.code == 1
        output = [line for line in even(ours.out + ours.err).splitlines() if line]
        if STRICTER[number] == PREFLIGHT:
            assert [line for line in even(capture["stdout"]).splitlines() if line] == [
                line.removeprefix("error: ") for line in output
            ]
        else:
            assert "joined successfully" not in ours.out
        return
    assert ours.code == capture["exit"], ours
    assert even(ours.out) == even(capture["stdout"])
    if number in OWN_WORDS:
        assert OWN_WORDS[number][0] in ours.err
    else:
        assert even(ours.err) == re.sub(r'token ID "[a-z0-9]{6}"', 'token ID "<id>"', capture["stderr"]).strip()
