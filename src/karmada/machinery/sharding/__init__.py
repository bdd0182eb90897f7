"""Divides the keys of a component between its replicas: shards with a lease each, fair shares, fenced hand-over."""
