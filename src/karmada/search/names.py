"""The words of the search API: group, resources and paths. It imports nothing, so that whoever only writes an address
need not load an API server."""

GROUP, VERSION = "search.karmada.io", "v1alpha1"
SEARCH, PROXYING = "search", "proxying"
PROXY = "proxy"
PROXY_PATH = f"/apis/{GROUP}/{VERSION}/{PROXYING}/karmada/{PROXY}"
"""Where the global API server is: the address of a kubeconfig's cluster ends in it."""
TEMPLATES = "templates"
"""The name under `proxying` of the view in which templates own what members made of them."""
