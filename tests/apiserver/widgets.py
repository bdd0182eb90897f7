"""The custom kind of these tests: Widgets, of as many versions and shapes as a test wants."""

from typing import Any

from karmada.machinery.transport import GroupVersionResource

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
WIDGETS = GroupVersionResource("example.dev", "v1", "widgets")
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
ANY_SPEC = {"type": "object", "properties": {"spec": ANYTHING}}


def version(name: str = "v1", schema: Any = None, **more: Any) -> dict[str, Any]:
    """A served version whose spec may be anything unless a schema says otherwise."""
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or ANY_SPEC}, **more}


def definition(*versions: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The CRD, of one version by default, with more in its spec."""
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": list(versions or [version()])}
    return {"metadata": {"name": "widgets.example.dev"}, "spec": {**spec, **more}}
