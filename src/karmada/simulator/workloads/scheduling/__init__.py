"""Pods to nodes: what nodes have left, which fit, which is best, and the words for "none"."""
