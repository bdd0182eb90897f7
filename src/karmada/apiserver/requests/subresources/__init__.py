"""Subresources with rules of their own."""
