"""The views of native objects read what the control plane needs and survive what it does not know."""

from karmada.api import codec
from karmada.api.native import Node, Pod


def test_a_node_is_read_without_what_nobody_needs() -> None:
    node = codec.from_tree(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"zone": "a"}},
            "spec": {"unschedulable": True, "podCIDR": "10.0.0.0/24", "taints": [{"key": "k", "effect": "NoSchedule"}]},
            "status": {
                "allocatable": {"cpu": "4", "pods": 110},
                "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-03-02T10:00:00Z"}],
                "images": [{"names": ["nginx"], "sizeBytes": 1}],
            },
        },
        Node,
    )
    assert (node.metadata.name, node.spec.unschedulable, node.spec.taints[0].effect) == ("n1", True, "NoSchedule")
    assert node.status.allocatable == {"cpu": "4", "pods": 110}
    assert [condition.status for condition in node.status.conditions if condition.type == "Ready"] == ["True"]


def test_a_pod_with_nulls_from_the_reference_is_read() -> None:
    pod = codec.decode(
        '{"metadata":{"name":"p","creationTimestamp":null},"spec":{"containers":null,"nodeName":"n1"},"status":{}}', Pod
    )
    assert (pod.spec.node_name, pod.spec.containers, pod.metadata.creation_timestamp) == ("n1", (), None)
