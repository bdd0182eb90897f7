"""The one place that knows how objects are named in a storage.

A key is `/<group>/<plural>/<namespace>/<name>`: the core group is spelled `core` (every other group has a dot in
it), the namespace of cluster-scoped objects is empty. None of the parts can hold a slash, so a key always splits
into the same four parts. Keys sort by their bytes; within a resource that is the order in which Kubernetes lists
objects, with `a-b/x` before `a/x` because `-` sorts before `/`.
"""

Kind = tuple[str, str]
"""(group, plural): what the objects of one resource are stored under, in every version."""


def prefix_of(kind: Kind) -> str:
    """What all keys of a resource begin with."""
    return f"/{kind[0] or 'core'}/{kind[1]}/"


def key_of(kind: Kind, namespace: str, name: str) -> str:
    """The key of one object."""
    return f"/{kind[0] or 'core'}/{kind[1]}/{namespace}/{name}"


def place_of(key: str) -> tuple[Kind, str, str]:
    """The kind, the namespace and the name in a key."""
    _, group, plural, namespace, name = key.split("/")
    return ("" if group == "core" else group, plural), namespace, name
