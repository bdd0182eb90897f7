"""A real OpenSearch, from its Maven artefacts: it takes the index and the documents as they are sent."""

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from tests.programs import CACHE

from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.client import Client
from karmada.search.opensearch.connection import Connection, Refused
from karmada.search.opensearch.documents import INDEX, Action, Verdict, bulk, document, outcomes
from karmada.search.opensearch.model import BackendRef

pytestmark = pytest.mark.tools
HERE = Path(__file__).parent / "opensearch"
JAVA = ("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def _libraries() -> Path:
    folder = CACHE / "opensearch-2.19.3"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".opensearch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = CACHE / ".opensearch"
            goal = ["dependency:copy-dependencies", f"-DoutputDirectory={unfinished}"]
            subprocess.run(["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), *goal], check=True, timeout=600)
            unfinished.rename(folder)
    return folder


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    if shutil.which("java") is None or shutil.which("mvn") is None:
        pytest.skip("needs Java and Maven to run OpenSearch")
    (tmp_path / "config").mkdir()
    command = [*JAVA, "-cp", f"{_libraries()}/*", str(HERE / "Launcher.java"), str(tmp_path)]
    node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert node.stdin is not None
    assert node.stdout is not None
    try:
        port = next(line.split()[1] for line in node.stdout if line.startswith(b"port "))
        yield f"http://127.0.0.1:{port.decode()}"
    finally:
        node.stdin.close()
        node.wait(60)
        node.stdout.close()


async def test_it_takes_the_index_and_the_documents(address: str) -> None:
    async with ApiServer() as server:
        connection = Connection(BackendRef((address,)), Client(server.direct(ADMIN)))
        await connection.request("PUT", "/kubernetes-pod", INDEX)
        with pytest.raises(Refused, match="resource_already_exists_exception"):
            await connection.request("PUT", "/kubernetes-pod", INDEX)
        body = {"metadata": {"name": "a", "labels": {"example.com/x": "1"}}, "spec": {"nodeName": "n"}}
        made = document(orjson.dumps(body), "v1", "Pod")
        actions = [Action("kubernetes-pod", "u", made), Action("kubernetes-pod", "gone", None)]
        answer = await connection.request("POST", "/_bulk", bulk(actions))
        assert [outcome.verdict for outcome in outcomes(answer, 2)] == [Verdict.DONE, Verdict.DONE]
        found = orjson.loads(await connection.request("GET", "/kubernetes-pod/_doc/u"))
        assert found["_source"] == orjson.loads(made)
        await connection.close()
