"""Protobuf request bodies of the built-in kinds, as Go clients send them, to the trees that JSON bodies give."""

from karmada.apiserver.protobuf.decoding import MEDIA_TYPE, decode
from karmada.apiserver.protobuf.wire import ProtobufError

__all__ = ["MEDIA_TYPE", "ProtobufError", "decode"]
