"""Storage in an etcd cluster; importing this imports gRPC."""

from karmada.apiserver.storage.etcd.client import Tls
from karmada.apiserver.storage.etcd.storage import EtcdStorage

__all__ = ["EtcdStorage", "Tls"]
