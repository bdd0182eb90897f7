"""Schemas: what fields an object has, how they merge, default and validate; built-in and custom alike."""
