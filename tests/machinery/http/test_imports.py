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
