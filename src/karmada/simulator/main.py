"""The members' process: `python -m karmada.simulator.main --fleet FILE --data DIR`.

Every member serves HTTPS on a port of its own. `DIR/<member>/kubeconfig` (0600) leads to it. When all are up, a line of
JSON with what there is goes to the descriptor of `--ready-descriptor`, a short line to stdout, and `DIR/fleet.json`
(0600) says the same with the address and token of the control API.
"""

import argparse
import asyncio
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import orjson

from karmada.api.counting import counted
from karmada.machinery import logging as logs
from karmada.machinery.os_errors import spelled
from karmada.machinery.process import run
from karmada.simulator.spec import FleetError, FleetSpec, load, numbered, shipped


def parser() -> argparse.ArgumentParser:
    """The flags of the process."""
    flags = argparse.ArgumentParser(prog="karmada members", description="Run simulated member clusters.")
    flags.add_argument("--data", type=Path, required=True, help="where members keep keys, objects and kubeconfigs")
    which = flags.add_mutually_exclusive_group()
    which.add_argument("--fleet", help="a fleet file, or the name of one that is shipped (default: three)")
    which.add_argument("--members", type=int, help="that many members like those of the fleet `three`")
    flags.add_argument("--bind-address", default="127.0.0.1")
    flags.add_argument("--control-port", type=int, default=0, help="port of the control API for faults")
    flags.add_argument("--memory", action="store_true", help="keep objects in memory only")
    flags.add_argument("--logging-format", type=logs.Format, choices=list(logs.Format), default=logs.Format.TEXT)
    flags.add_argument("--ready-descriptor", type=int, default=-1)
    return flags


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGINT or SIGTERM; the exit status."""
    flags = parser().parse_args(argv)
    logs.setup(form=flags.logging_format)
    try:
        if flags.members is not None:
            spec = numbered(flags.members)
        else:
            spec = load(flags.fleet) if flags.fleet else shipped("three")
        flags.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (FleetError, OSError) as error:
        sys.stderr.write(f"error: {spelled(error)}\n")
        return 1
    return run(lambda: _serve(flags, spec))


async def _serve(flags: argparse.Namespace, spec: FleetSpec) -> None:
    from karmada.apiserver.auth.pki import write_file
    from karmada.simulator.control import ControlApi
    from karmada.simulator.fleet import Fleet

    async with Fleet(spec, folder=flags.data, memory=flags.memory) as fleet:
        await fleet.listen(flags.bind_address)
        control = ControlApi(fleet)
        port = await control.listen("127.0.0.1", flags.control_port)
        facts = orjson.dumps({"members": fleet.facts()}) + b"\n"
        access = {"url": f"http://127.0.0.1:{port}", "token": control.token}
        write_file(flags.data / "fleet.json", orjson.dumps({"members": fleet.facts(), "control": access}), 0o600)
        gc.collect()
        gc.freeze()
        if flags.ready_descriptor >= 0:
            os.write(flags.ready_descriptor, facts)
            os.close(flags.ready_descriptor)
        if flags.logging_format is logs.Format.TEXT:
            sys.stdout.write(f"ready: {counted(len(fleet), 'member')}\n")
            sys.stdout.flush()
        try:
            await asyncio.Event().wait()
        finally:
            await control.stop()
            (flags.data / "fleet.json").unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
