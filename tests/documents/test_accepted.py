"""What the documents show whose effect is pending, by name, and what is data only. All of it is accepted as written."""

import pytest

pytestmark = pytest.mark.tools

PENDING = {
    "001-20": "ServiceExport",
    "001-21": "ServiceImport",
    "001-22": "propagation of a ServiceExport",
    "001-23": "MultiClusterService",
    "001-24": "MultiClusterIngress",
}


@pytest.mark.parametrize("block", PENDING, ids=PENDING.get)
def test_what_is_pending_is_accepted_again_and_again(documents, block):
    text = documents.manifest(block)
    documents.apply(text)
    try:
        documents.apply(text)
    finally:
        documents.kubectl("delete", "-f", "-", stdin=text)


def test_a_config_map_is_data(documents):
    documents.apply(documents.manifest("001-28"))
    assert "Leader Election" in documents.get("configmap", "karmada-ha-config")["data"]["deployment"]
