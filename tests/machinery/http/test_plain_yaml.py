"""Plain documents are read without PyYAML as PyYAML reads them; all others are left to it."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from karmada.machinery.http.plain_yaml import read

KUBECTL = b"""apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTg==
    server: https://127.0.0.1:6443
  name: kind-one
contexts:
- context:
    cluster: kind-one
    namespace: shop
    user: kind-one
  name: kind-one
current-context: kind-one
kind: Config
preferences: {}
users:
  - name: "kind one"
    user:
      token: 'a: b # c'
      insecure: true
      nothing: null
"""
LEFT_TO_PYYAML = {
    "JSON": b'{"a": "b"}',
    "a comment": b"a: b # c\n",
    "a line of comment": b"# c\na: b\n",
    "a number": b"a: 1\n",
    "a word for true": b"a: Yes\n",
    "a date": b"a: 2026-01-01\n",
    "an escape": b'a: "\\n"\n',
    "a doubled quote": b"a: 'it''s'\n",
    "text over several lines": b"a: b\n  c\n",
    "a block of text": b"a: |\n  b\n",
    "flow style": b"a: [b]\n",
    "an anchor": b"a: &b c\n",
    "a tag": b"a: !!str b\n",
    "a merge": b"<<: b\n",
    "two documents": b"a: b\n---\nc: d\n",
    "a key twice": b"a: b\na: c\n",
    "nothing": b"",
    "a list": b"- a\n- b\n",
    "a value that is missing": b"a:\nb: c\n",
    "tabs": b"a:\tb\n",
    "other line ends": b"a: b\r\nc: d\r\n",
    "letters beyond ASCII": "a: ä\n".encode(),
    "an item that does not line up": b"a:\n  b: c\n d: e\n",
    "a list behind a mapping": b"a:\n  b: c\n  - d\n",
    "nesting without end": b"".join(b" " * depth + b"a:\n" for depth in range(5000)) + b" " * 5000 + b"a: b\n",
}


def test_what_kubectl_writes_is_read():
    assert read(KUBECTL) == yaml.safe_load(KUBECTL)
    assert read(KUBECTL)["users"][0]["user"] == {"token": "a: b # c", "insecure": True, "nothing": None}


@pytest.mark.parametrize("document", LEFT_TO_PYYAML.values(), ids=LEFT_TO_PYYAML)
def test_what_is_not_plain_is_left_to_pyyaml(document):
    assert read(document) is None


WORDS = some.text("ab1:-# '\"{}[]&!~.\n", max_size=6) | some.sampled_from(["a: b", "- a", "true", "off", "null", "a:"])
LINES = some.lists(some.tuples(some.integers(0, 4), WORDS), max_size=6)


@given(LINES)
def test_a_document_that_is_read_means_what_it_means_to_pyyaml(lines):
    document = "\n".join(" " * indent + word for indent, word in lines).encode()
    found = read(document)
    assert found is None or found == yaml.safe_load(document)
