"""The parts every process has: supervised tasks, logs, the diagnostics server."""

import asyncio
import io
import itertools
import json
import logging
import subprocess
import sys

import pytest

from karmada.machinery import profiling
from karmada.machinery.controller import DONE, Controller
from karmada.machinery.logging import Format, JSONFormatter, TextFormatter, fields, verbosity, without_secrets
from karmada.machinery.metrics import MachineryCollector
from karmada.machinery.serving import DiagnosticsRequest, DiagnosticsServer
from karmada.machinery.supervisor import Supervisor
from karmada.testing.loop import VirtualClock, run_virtual


def test_a_failing_task_is_restarted_with_growing_pauses(failures):
    async def main():
        starts = []

        async def fragile():
            starts.append(asyncio.get_running_loop().time())
            raise ValueError("bug")

        async with Supervisor(VirtualClock()) as supervisor:
            supervisor.start("fragile", fragile)
            await asyncio.sleep(100)
            pauses = [b - a for a, b in itertools.pairwise(starts)]
            assert 5 <= len(starts) < 20
            assert pauses == sorted(pauses)
            assert supervisor.restarts == {"fragile": len(starts)}
        assert supervisor.running == ()

    run_virtual(main)


def test_the_death_of_a_task_that_must_live_is_noticed(failures):
    async def main():
        async def vital():
            await asyncio.sleep(3)
            raise ValueError("dead")

        async with Supervisor(VirtualClock()) as supervisor:
            supervisor.start("vital", vital, restart=False)
            with pytest.raises(ValueError, match="dead"):
                await supervisor.wait()

    run_virtual(main)


def test_stopping_waits_for_tasks_to_clean_up():
    async def main():
        cleaned = []

        async def careful():
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(1)
                cleaned.append(True)

        async with Supervisor(VirtualClock()) as supervisor:
            supervisor.start("careful", careful)
            await asyncio.sleep(1)
        assert cleaned == [True]

    run_virtual(main)


def record(level, message, error=None, **extra):
    made = logging.LogRecord("karmada.scheduler", level, "service.py", 88, message, (), error)
    made.__dict__.update(extra)
    made.created = 1_700_000_000.5
    return made


def test_text_lines():
    line = TextFormatter().format(record(verbosity(4), "bound", **fields(cluster="member1", reason="fits well")))
    assert line == 'I1114 22:13:20.500000 scheduler:88] bound cluster=member1 reason="fits well"'


def test_json_lines():
    line = JSONFormatter().format(record(verbosity(4), "bound", **fields(cluster="member1", replicas=3)))
    assert json.loads(line) == {
        "ts": 1_700_000_000_500.0,
        "level": "info",
        "v": 4,
        "logger": "karmada.scheduler",
        "caller": "service.py:88",
        "msg": "bound",
        "cluster": "member1",
        "replicas": 3,
    }


def test_json_lines_of_failures():
    error = ValueError("no")
    line = json.loads(JSONFormatter().format(record(logging.ERROR, "lost", (type(error), error, None))))
    assert (line["level"], line["err"]) == ("error", "ValueError: no")
    assert "v" not in line


@pytest.mark.parametrize("form", list(Format))
def test_secrets_are_blanked_out(form):
    formatter = JSONFormatter() if form is Format.JSON else TextFormatter()
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
    message = f"Authorization: Bearer abc.def-ghi and {pem} at /x?token=s3cret&y=1"
    line = formatter.format(record(logging.ERROR, message, **fields(header="Bearer xyz")))
    for secret in ("abc.def", "MIIE", "s3cret", "xyz"):
        assert secret not in line
    assert without_secrets("nothing to hide") == "nothing to hide"


def test_verbosity_decides_what_is_shown():
    stream = io.StringIO()
    logger = logging.Logger("karmada.test", verbosity(2))
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    for level in (0, 2, 4):
        logger.log(verbosity(level), "at %d", level)
    assert stream.getvalue() == "at 0\nat 2\n"


async def fetch(port, path, method="GET"):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split(" ")[1]), body


async def test_the_port_for_health_and_metrics():
    ready = False
    collector = MachineryCollector()

    async def reconcile(key):
        return DONE

    controller = Controller("toy", reconcile)
    controller.enqueue("a")
    collector.controllers.append(controller)
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry()
    registry.register(collector)
    diagnostics = DiagnosticsServer(
        registry, {"ping": lambda: True}, {"caches": lambda: ready or "works are not loaded"}
    )
    port = await diagnostics.listen()
    try:
        assert await fetch(port, "/healthz") == (200, "ok")
        assert await fetch(port, "/readyz") == (
            503,
            "[+]ping ok\n[-]caches failed: works are not loaded\ncheck failed\n",
        )
        ready = True
        assert await fetch(port, "/readyz") == (200, "ok")
        assert await fetch(port, "/readyz?verbose") == (200, "[+]ping ok\n[+]caches ok\ncheck passed\n")
        status, metrics = await fetch(port, "/metrics")
        assert status == 200
        assert 'workqueue_depth{name="toy"} 1.0' in metrics
        assert 'controller_runtime_reconcile_total{controller="toy",result="success"} 0.0' in metrics
        assert (await fetch(port, "/nothing"))[0] == 404
        assert (await fetch(port, "/healthz", "DELETE"))[0] == 405
    finally:
        await diagnostics.close()


@pytest.mark.parametrize("path", ["/debug/profile?seconds=0.02", "/debug/tasks"])
async def test_debug_pages_need_permission(path):
    diagnostics = DiagnosticsServer()
    url, _, _query = path.partition("?")
    request = DiagnosticsRequest(url, {"seconds": ["0.02"]}, {"authorization": "Bearer good"})
    assert (await diagnostics.answer(request)).status == 403

    async def authorize(attributes):
        return attributes.headers.get("authorization") == "Bearer good"

    diagnostics.authorize = authorize
    answer = await diagnostics.answer(request)
    assert answer.status == 200
    assert answer.body
    assert (await diagnostics.answer(DiagnosticsRequest(url, {}, {}))).status == 403


async def test_one_profile_at_a_time():
    first = asyncio.ensure_future(profiling.page("/debug/profile", "30"))
    await asyncio.sleep(0)
    assert (await profiling.page("/debug/profile", "0.01")).status == 429
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    answer = await profiling.page("/debug/profile", "0.01")
    assert answer.status == 200
    assert answer.body.rstrip().rpartition(b" ")[2].isdigit()


@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "soon"])
async def test_a_length_that_is_none_is_refused(seconds):
    assert (await profiling.page("/debug/profile", seconds)).status == 400


def test_a_check_that_fails_by_exception_fails():
    async def main():
        def broken():
            raise RuntimeError("secret detail")

        answer = await DiagnosticsServer(health={"x": broken}).answer(DiagnosticsRequest("/healthz", {}, {}))
        assert (answer.status, answer.body) == (503, b"[-]x failed: RuntimeError\ncheck failed\n")

    run_virtual(main)


LEAVES_HOLES = """
import psutil
from karmada.machinery.process import release_memory, tune_memory
tune_memory()
rss = psutil.Process().memory_info
b"x" * (16 << 20)  # From here on glibc thinks of blocks up to this size as ordinary ones.
before, pins = rss().rss, []
blocks = [(b"x" * (1 << 20), pins.append(b"x" * 50_000)) for _ in range(64)]
del blocks
{release}
print(rss().rss - before >> 20)
"""


@pytest.mark.parametrize(("release", "is_held"), [("", True), ("release_memory()", False)], ids=["before", "after"])
def test_freed_blocks_go_back_to_the_system_whatever_small_ones_stay(release, is_held):
    program = [sys.executable, "-c", LEAVES_HOLES.format(release=release)]
    left = int(subprocess.run(program, check=True, capture_output=True, text=True).stdout)
    assert (left > 32) is is_held, f"{left} of 64 MB are held"
