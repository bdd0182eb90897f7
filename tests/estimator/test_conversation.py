"""The scheduler's connections and an estimator's server, over real sockets."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import grpc.aio
import pytest
from tests.scheduler.facts import binding, cluster

from karmada.api.codec import from_tree
from karmada.api.feature_gates import DEFAULTS
from karmada.api.native import Node
from karmada.api.work.v1alpha2 import ReplicaRequirements
from karmada.estimator.estimate import Answers, EstimateError, Member
from karmada.estimator.main import listening
from karmada.estimator.server import EstimatorServer, Tls
from karmada.scheduler.core.snapshot import Snapshot
from karmada.scheduler.estimators.accurate import GrpcEstimator
from karmada.scheduler.estimators.connections import Connections, EstimatorAddress
from karmada.scheduler.estimators.messages import (
    MAX_REPLICAS,
    SERVICE,
    Answer,
    ReplicasRequest,
    SetsRequest,
    UnschedulableRequest,
)

Replicas = Callable[[ReplicasRequest], int]


def unanswered(request: SetsRequest | UnschedulableRequest) -> int:
    raise EstimateError("not asked in this test")


async def serve(replicas: Replicas, tls: Tls | None = None) -> tuple[EstimatorServer, int]:
    server = EstimatorServer(replicas, unanswered, unanswered)
    return server, await server.listen("127.0.0.1:0", tls)


async def with_estimators(
    ports: dict[str, int], test: Callable[[GrpcEstimator], Awaitable[None]], timeout: float = 5.0
) -> None:
    connections = Connections(EstimatorAddress(), timeout, lambda name: f"127.0.0.1:{ports[name]}")
    try:
        await test(GrpcEstimator(connections))
    finally:
        await connections.close()


MUTUAL = Tls("tls.crt", "tls.key", "ca.crt")


@pytest.mark.parametrize(
    ("chosen", "tls", "host"),
    [
        ("", Tls(), "127.0.0.1"),
        ("", Tls("tls.crt", "tls.key"), "127.0.0.1"),
        ("", Tls("tls.crt", "tls.key", "ca.crt", skip_client_verify=True), "127.0.0.1"),
        ("", Tls(client_ca_file="ca.crt"), "127.0.0.1"),
        ("", MUTUAL, "0.0.0.0"),
        ("10.0.0.1", Tls(), "10.0.0.1"),
        ("::", MUTUAL, "[::]"),
    ],
    ids=["plain", "no client CA", "not verified", "no certificate", "mutual", "by flags", "IPv6"],
)
def test_only_an_estimator_that_knows_its_askers_is_reached_from_elsewhere(chosen: str, tls: Tls, host: str) -> None:
    assert listening(chosen, tls) == host


async def test_an_estimator_that_answers_a_flood_has_no_opinion(caplog: pytest.LogCaptureFixture) -> None:
    async def flood(data: bytes, context: object) -> bytes:
        return b"\x08\x05" + b"\x12\xff\xff\x07" + b"a" * (128 * 1024 - 1)

    server = grpc.aio.server()
    handlers = {"MaxAvailableReplicas": grpc.unary_unary_rpc_method_handler(flood)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    caplog.set_level(logging.WARNING)

    async def test(estimator: GrpcEstimator) -> None:
        for replicas in range(3, 23):
            needs = {"resourceRequest": {"cpu": str(replicas)}}
            subject = binding(replicas, replicaRequirements=needs)
            assert await estimator.estimate(Snapshot([cluster("m1")]), subject, ["m1"], False) == {}

    await with_estimators({"m1": port}, test)
    assert len(caplog.records) == 1
    await server.stop(None)


async def test_members_are_asked_and_answer_from_their_nodes() -> None:
    member = Member()
    node = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
    member.nodes.put_node(from_tree(node, Node))
    server, port = await serve(Answers("m1", member, DEFAULTS).replicas)

    async def test(estimator: GrpcEstimator) -> None:
        needs = {"resourceRequest": {"cpu": "500m", "memory": "1Gi"}}
        subject = binding(3, replicaRequirements=needs)
        found = await estimator.estimate(Snapshot([cluster("m1")]), subject, ["m1"], False)
        assert found == {"m1": 8}

    await with_estimators({"m1": port}, test)
    await server.close()


async def test_a_member_that_cannot_answer_a_question_is_asked_the_next_one() -> None:
    def choosy(request: ReplicasRequest) -> int:
        if request.requirements is None:
            raise EstimateError("out of order")
        return 5

    bad, bad_port = await serve(choosy)
    good, good_port = await serve(lambda request: 7)

    async def test(estimator: GrpcEstimator) -> None:
        snapshot = Snapshot([cluster("bad"), cluster("good")])
        assert await estimator.estimate(snapshot, binding(3), ["bad", "good"], False) == {"good": 7}
        request = binding(3, replicaRequirements={"resourceRequest": {"cpu": "1"}})
        assert await estimator.estimate(snapshot, request, ["bad", "good"], False) == {"bad": 5, "good": 7}

    try:
        await with_estimators({"bad": bad_port, "good": good_port}, test)
    finally:
        await bad.close()
        await good.close()


async def test_a_member_that_is_not_there_is_left_alone_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    async def test(estimator: GrpcEstimator) -> None:
        for _ in range(3):
            assert await estimator.estimate(Snapshot([cluster("gone")]), binding(3), ["gone"], False) == {}

    with caplog.at_level(logging.WARNING):
        await with_estimators({"gone": 1}, test, timeout=0.5)
    assert caplog.text.count("the estimator of gone has no answer, not asked again for 10 s") == 1


async def test_a_member_that_leaves_while_its_estimator_is_silent_has_no_opinion() -> None:
    asked = asyncio.Event()

    async def silent(data: bytes, context: object) -> bytes:
        asked.set()
        await asyncio.sleep(60)
        return b""

    server = grpc.aio.server()
    handlers = {"MaxAvailableReplicas": grpc.unary_unary_rpc_method_handler(silent)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    good, good_port = await serve(lambda request: 7)

    async def test(estimator: GrpcEstimator) -> None:
        snapshot = Snapshot([cluster("gone"), cluster("good")])
        asking = asyncio.ensure_future(estimator.estimate(snapshot, binding(3), ["gone", "good"], False))
        await asked.wait()
        estimator.forget("gone")
        assert await asyncio.gather(asking, return_exceptions=True) == [{"good": 7}]

    await with_estimators({"gone": port, "good": good_port}, test)
    await server.stop(None)
    await good.close()


async def test_the_same_question_under_way_is_asked_once() -> None:
    requests = []

    def count(request: ReplicasRequest) -> int:
        requests.append(request)
        return 5

    server, port = await serve(count)

    async def test(estimator: GrpcEstimator) -> None:
        snapshot = Snapshot([cluster("m1")])
        found = await asyncio.gather(*(estimator.estimate(snapshot, binding(3), ["m1"], False) for _ in range(20)))
        assert found == [{"m1": 5}] * 20
        assert len(requests) == 1

    await with_estimators({"m1": port}, test)
    await server.close()


async def test_an_exceeded_quota_is_zero_on_the_wire() -> None:
    server, port = await serve(lambda request: -3)

    async def test(estimator: GrpcEstimator) -> None:
        assert await estimator.estimate(Snapshot([cluster("m1")]), binding(3), ["m1"], False) == {"m1": 0}

    await with_estimators({"m1": port}, test)
    await server.close()


async def test_malformed_questions_are_refused() -> None:
    server, port = await serve(lambda request: 1)
    connections = Connections(EstimatorAddress(), 5.0, lambda name: f"127.0.0.1:{port}")
    assert await connections.ask("m1", MAX_REPLICAS, b"\x0a\xff") is None
    await connections.close()
    await server.close()


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (tmp_path / "tls.crt").write_bytes(certificate.public_bytes(pem))
    (tmp_path / "tls.key").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return tmp_path


@pytest.mark.parametrize("skip_verify", [False, True], ids=["verified", "not verified"])
async def test_the_conversation_can_be_encrypted_and_mutual(certificates: Path, skip_verify: bool) -> None:
    cert, key = str(certificates / "tls.crt"), str(certificates / "tls.key")
    server, port = await serve(lambda request: 9, Tls(cert, key, cert, skip_client_verify=skip_verify))
    address = EstimatorAddress(ca_file=cert, cert_file=cert, key_file=key, skip_verify=skip_verify)
    connections = Connections(address, 5.0, lambda name: f"localhost:{port}")
    request = ReplicasRequest("m1", ReplicaRequirements()).encode()
    data = await connections.ask("m1", MAX_REPLICAS, request)
    assert data is not None
    assert Answer.decode(data).number == 9
    await connections.close()
    await server.close()


async def test_strangers_are_not_answered(certificates: Path) -> None:
    cert, key = str(certificates / "tls.crt"), str(certificates / "tls.key")
    server, port = await serve(lambda request: 9, Tls(cert, key, cert))
    connections = Connections(EstimatorAddress(ca_file=cert), 2.0, lambda name: f"localhost:{port}")
    assert await connections.ask("m1", MAX_REPLICAS, b"") is None
    await connections.close()
    await server.close()
