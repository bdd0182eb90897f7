"""What another server serves, as aggregated discovery shows it."""

from karmada.apiserver.aggregation.discovery import group_of, resources_of

DOCUMENT = {
    "kind": "APIResourceList",
    "groupVersion": "example.dev/v1",
    "resources": [
        {
            "name": "widgets",
            "singularName": "widget",
            "namespaced": True,
            "kind": "Widget",
            "verbs": ["get", "list"],
            "shortNames": ["wd"],
        },
        {"name": "widgets/proxy", "singularName": "", "namespaced": True, "kind": "Widget", "verbs": ["get"]},
        {
            "name": "widgets/scale",
            "group": "autoscaling",
            "version": "v1",
            "namespaced": True,
            "kind": "Scale",
            "verbs": ["get"],
        },
    ],
}


def test_subresources_are_inside_their_resource():
    (widgets,) = resources_of(DOCUMENT)
    assert widgets["responseKind"] == {"group": "example.dev", "version": "v1", "kind": "Widget"}
    assert (widgets["scope"], widgets["shortNames"]) == ("Namespaced", ["wd"])
    assert [(sub["subresource"], sub["responseKind"]["group"]) for sub in widgets["subresources"]] == [
        ("proxy", "example.dev"),
        ("scale", "autoscaling"),
    ]


def test_a_version_that_was_never_asked_is_stale():
    group = group_of("example.dev", {"v1": resources_of(DOCUMENT), "v2": None})
    assert [(version["version"], version["freshness"]) for version in group["versions"]] == [
        ("v1", "Current"),
        ("v2", "Stale"),
    ]
