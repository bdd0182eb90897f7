"""Kinds, names, quantities, selectors, patches: plain data and pure functions. Import the submodule you need."""
