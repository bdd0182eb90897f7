"""Runs scenarios against a federation of the reference fleet, one federation per profile of flags."""

import asyncio
import contextlib
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from karmada.standalone.federation import Federation, FederationOptions
from karmada.standalone.layout import Layout
from karmada.testing.traces.scenarios import Scenario

FLEET = "reference"
MEMBERS = ("member1", "member2", "member3")
World = Callable[[Path, str, Sequence[str]], contextlib.AbstractAsyncContextManager[Layout]]
"""Makes a federation in a folder with the flags of a profile and agents for some members."""
PROFILES: dict[str, Sequence[str]] = {
    "default": (),
    "gates": (
        "--feature-gates=AllAlpha=true,AllBeta=true",
        "--allow-no-execute-taint-policy=true",
        "--enable-no-execute-taint-eviction=true",
    ),
}


HOOKS = {"stop-member": "--down", "start-member": "--up"}
"""What steps do to a member's API server, as faults of the simulator."""


def _fault(layout: Layout, fault: str) -> list[str]:
    return [sys.executable, "-m", "karmada.standalone.main", "sim", "--data", str(layout.members), "fault", fault]


class Tool(NamedTuple):
    """The shared program that drives scenarios through kubeconfigs and compares traces."""

    path: Path

    async def run(self, layout: Layout, scenarios: Sequence[Scenario], out: Path, parallel: int) -> None:
        """Run scenarios and leave their traces in a folder; what goes wrong shows in the comparison."""
        arguments = ["run", "--karmada", str(layout.control_plane / "admin.kubeconfig"), "--out", str(out)]
        for member in MEMBERS:
            arguments += ["--member", f"{member}={layout.members / member / 'kubeconfig'}"]
        for name, fault in HOOKS.items():
            arguments += ["--hook", f"{name}={shlex.join(_fault(layout, fault))} {{member}}"]
        arguments += ["--parallel", str(parallel), *(str(scenario.folder) for scenario in scenarios)]
        process = await asyncio.create_subprocess_exec(sys.executable, str(self.path), *arguments)
        try:
            await process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def compare(self, recorded: Path, found: Path) -> str:
        """What the tool says of two folders of traces; nothing if it failed."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(self.path),
            "diff",
            str(recorded),
            str(found),
            "--max=100000",
            "--width=600",
            stdout=asyncio.subprocess.PIPE,
        )
        output, _ = await process.communicate()
        # 1 says that there are differences; a tool that failed may have said a part of them only.
        return output.decode() if process.returncode in (0, 1) else ""


@contextlib.asynccontextmanager
async def engine(folder: Path, profile: str, pull: Sequence[str] = ()) -> AsyncIterator[Layout]:
    """The same on a stock kube-apiserver and etcd, every component a process, members stock API servers as well."""
    if pull:
        raise ValueError(f"members with an agent ({', '.join(pull)}) are run on the federation, without --engine")
    # Only this world needs Go's programs.
    from karmada.testing.stage.federation import Stage, StageOptions

    # The recorded members had no accounts for pods.
    members = ["--disable-admission-plugins=ServiceAccount"]
    async with Stage(StageOptions(folder, FLEET, member_flags=members, flags=flags_of(profile))) as stage:
        await stage.join_all()
        await stage.start_components()
        yield stage.layout


def flags_of(profile: str) -> dict[str, list[str]]:
    """The flags of a profile, by program: each knows only its own."""
    gates = [flag for flag in PROFILES[profile] if flag.startswith("--feature-gates")]
    admission = [flag for flag in PROFILES[profile] if flag.startswith("--allow-no-execute")]
    working = [flag for flag in PROFILES[profile] if flag not in (*gates, *admission)]
    return {
        "karmada-controller-manager": [*gates, *working],
        "karmada-scheduler": gates,
        "karmada-webhook": [*gates, *admission],
    }


@contextlib.asynccontextmanager
async def federation(folder: Path, profile: str, pull: Sequence[str] = ()) -> AsyncIterator[Layout]:
    """A federation with the flags of a profile, for as long as the context is open."""
    layout = Layout(folder)
    layout.prepare()
    options = FederationOptions(layout, Path(FLEET), pull=pull, memory=True, control_flags=PROFILES[profile])
    running = Federation(options, lambda step: None)
    try:
        await running.start()
        yield layout
    finally:
        await running.stop()
