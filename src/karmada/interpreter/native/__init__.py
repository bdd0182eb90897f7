"""Kinds of Kubernetes itself, one module each; `NATIVE` lists them."""
