"""The command line tool starts with this transport: what it imports is part of its contract."""

import subprocess
import sys

HEAVY = {"msgspec", "yaml", "aiohttp", "cryptography", "prometheus_client", "numpy", "grpc", "uvloop"}
HEAVY |= {"urllib.request", "orjson", "uuid", "dataclasses", "datetime", "json"}


def test_importing_the_transport_brings_nothing_heavy_along():
    modules = "karmada.machinery.http.transport, karmada.machinery.http.kubeconfig"
    program = f"import sys, {modules}; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert HEAVY & set(output.split()) == set()


def test_a_plain_request_needs_no_module_for_urls():
    program = """
import sys
from karmada.machinery.http.paths import to_wire
from karmada.machinery.http.pool import Pool
from karmada.machinery.http.target import Target
from karmada.machinery.transport import GroupVersionResource, Request, Verb
pool = Pool(Target("https://[::1]:6443"))
wire = to_wire(Request(Verb.LIST, GroupVersionResource("", "v1", "pods"), "kube-system", params={"limit": "500"}))
print(pool.address.host, pool.address.port, wire.path, "urllib.parse" in sys.modules)
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert output.split() == ["::1", "6443", "/api/v1/namespaces/kube-system/pods?limit=500", "False"]


def test_plain_reads_need_neither_an_event_loop_nor_a_fast_parser():
    program = "import sys, karmada.machinery.http.blocking, karmada.cli.getting; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert (HEAVY | {"asyncio", "pathlib", "importlib.util", "inspect"}) & set(output.split()) == set()
