"""The real kubectl on exec, attach, logs and port-forward."""

import asyncio

import pytest

pytestmark = pytest.mark.tools


@pytest.fixture(params=["websocket", "spdy"])
async def pod(kubectl, request):
    kubectl.websockets = request.param == "websocket"
    on_node = '{"apiVersion":"v1","spec":{"nodeName":"n"}}'
    created = await kubectl("run", "p", "--image=busybox", "--restart=Never", f"--overrides={on_node}")
    assert created.code == 0, created.err
    status = '{"status":{"phase":"Running"}}'
    await kubectl("patch", "pod", "p", "--subresource=status", "--type=merge", "-p", status)
    return kubectl


async def test_exec(pod):
    echoed = await pod("exec", "p", "--", "echo", "hello")
    assert (echoed.out, echoed.err) == ("echo hello\n", "")
    assert (await pod("exec", "-i", "p", "--", "cat", stdin="some\ninput\n")).out == "some\ninput\n"
    failed = await pod("exec", "p", "--", "exit", "3")
    assert (failed.code, failed.err) == (3, "leaving\ncommand terminated with exit code 3\n")


async def test_a_pod_that_does_not_exist(pod):
    missing = await pod("exec", "nosuch", "--", "echo")
    assert missing.code == 1
    assert 'pods "nosuch" not found' in missing.err


async def test_logs_and_attach(pod):
    logs = await pod("logs", "p")
    assert (logs.out, logs.err) == ("line 0\nline 1\nline 2\n", "")
    assert (await pod("attach", "p")).out == "attached\n"


async def test_port_forward(pod):
    process = await pod.start("port-forward", "pod/p", ":80", ":81", "--address=127.0.0.1")
    try:
        lines = [await asyncio.wait_for(process.stdout.readline(), 20) for _ in range(2)]
        ports = {line.split(b"-> ")[1].strip(): int(line.split(b":")[1].split()[0]) for line in lines}
        for path in ("/a", "/b"):
            assert await fetch(ports[b"80"], path) == f"GET {path} HTTP/1.1".encode()
        assert await fetch(ports[b"81"], "/") == b""
        error = await asyncio.wait_for(process.stderr.readline(), 20)
        assert b"error forwarding port 81 to pod p: connection refused" in error
    finally:
        if process.returncode is None:  # some versions of kubectl end after a port that failed
            process.kill()
        await process.communicate()


async def fetch(port, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
    try:
        answer = await asyncio.wait_for(reader.read(), 20)
    except ConnectionError:
        answer = b""
    writer.close()
    return answer.partition(b"\r\n\r\n")[2]
