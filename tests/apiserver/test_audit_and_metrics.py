import json
import stat
import tracemalloc

import pytest
from prometheus_client.parser import text_string_to_metric_families

from karmada.apiserver.audit import AuditLog, AuditRecord, to_event
from karmada.apiserver.auth.model import Attributes, UserInfo
from karmada.apiserver.metrics import RequestKey, RequestMetrics

USER = UserInfo("alice", ("dev",))
SECRET = Attributes("get", "", "v1", "secrets", "", "ns", "s")


def record(attributes=SECRET, code=200, impersonated=None):
    uri = "/api/v1/namespaces/ns/secrets/s"
    return AuditRecord("id", uri, attributes, USER, impersonated, "10.0.0.1", "kubectl", code, 0.0, 1.5, "why")


def test_an_event_says_who_did_what_and_how_it_ended():
    event = to_event(record(code=403, impersonated=UserInfo("bob")))
    assert event["level"] == "Metadata"
    assert event["user"] == {"username": "alice", "groups": ["dev"]}
    assert event["impersonatedUser"] == {"username": "bob"}
    assert event["objectRef"] == {"resource": "secrets", "namespace": "ns", "name": "s", "apiVersion": "v1"}
    assert event["responseStatus"]["code"] == 403
    assert event["stageTimestamp"] == "1970-01-01T00:00:01.500000Z"
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"


async def test_lines_reach_a_private_file_and_probes_do_not(tmp_path):
    log = AuditLog(tmp_path / "audit.log")
    log.record(record())
    log.record(record(Attributes("get", path="/healthz")))
    log.close()
    (line,) = (tmp_path / "audit.log").read_text().splitlines()
    assert json.loads(line)["verb"] == "get"
    assert stat.S_IMODE((tmp_path / "audit.log").stat().st_mode) == 0o600


async def test_a_large_log_is_rotated(tmp_path):
    log = AuditLog(tmp_path / "audit.log", rotate_bytes=1000, keep=2)
    for _ in range(10):
        log.record(record())
        log.flush()
    log.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.log", "audit.log.1", "audit.log.2"]


async def test_a_log_that_cannot_be_written_is_counted_not_raised(tmp_path):
    log = AuditLog(tmp_path)
    log.record(record())
    log.close()
    assert log.dropped == 1


@pytest.fixture
def metrics():
    found = RequestMetrics()
    get = RequestKey("GET", "apps", "v1", "deployments", "", "resource")
    found.answered(get, 200, 0.01)
    found.answered(get, 404, 7.0)
    watch = RequestKey("WATCH", "", "v1", "pods", "", "namespace")
    found.opened(watch)
    found.answered(watch, 200, 1000.0)
    found.gauge("apiserver_storage_objects", "Stored objects.", "resource", lambda: {"pods": 3})
    return found


def test_metrics_have_the_names_that_dashboards_know(metrics):
    text = metrics.render().decode()
    labels = 'component="apiserver",group="apps",resource="deployments",scope="resource",subresource="",verb="GET"'
    assert "apiserver_request_total{" in text
    assert 'code="404"' in text
    count = [line for line in text.splitlines() if line.startswith("apiserver_request_duration_seconds_count")]
    (only,) = count
    assert only.endswith(" 2.0")
    assert all(label in only for label in labels.split(","))
    assert 'apiserver_storage_objects{resource="pods"} 3.0' in text
    assert "apiserver_longrunning_requests{" in text
    assert "process_resident_memory_bytes" in text
    metrics.render()


def sample(text, name, **labels):
    (value,) = [
        found.value
        for family in text_string_to_metric_families(text)
        for found in family.samples
        if found.name == name and labels.items() <= found.labels.items()
    ]
    return value


def test_what_is_written_of_requests_can_be_read_as_it_was_counted(metrics):
    text = metrics.render().decode()
    deployments, pods = {"resource": "deployments", "group": "apps"}, {"resource": "pods", "verb": "WATCH"}
    assert sample(text, "apiserver_request_total", code="200", **deployments) == 1
    assert sample(text, "apiserver_request_total", code="404", **deployments) == 1
    assert sample(text, "apiserver_request_total", code="200", **pods) == 1
    name = "apiserver_request_duration_seconds"
    bounds = ("0.005", "0.025", "6.0", "8.0", "+Inf")
    assert [sample(text, f"{name}_bucket", le=le, **deployments) for le in bounds] == [0, 1, 1, 2, 2]
    assert sample(text, f"{name}_count", **deployments) == 2
    assert sample(text, f"{name}_sum", **deployments) == pytest.approx(7.01)
    assert f'{name}_count{{verb="WATCH"' not in text, "a watch has no duration"


def test_labels_are_escaped():
    metrics = RequestMetrics()
    odd = 'a"b\\c\nd'
    metrics.answered(RequestKey("GET", odd, "v1", "things", "", "resource"), 200, 0.01)
    assert sample(metrics.render().decode(), "apiserver_request_total", resource="things", group=odd) == 1


def test_a_scrape_takes_little_more_memory_than_its_text():
    metrics = RequestMetrics()
    for number in range(300):
        metrics.answered(RequestKey("GET", "apps", "v1", f"things{number}", "", "resource"), 200, 0.01)
    long = len(metrics.render())
    tracemalloc.start()
    try:
        metrics.render()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * long, f"{peak} bytes for a text of {long}"
