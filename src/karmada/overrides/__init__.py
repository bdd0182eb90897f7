"""How a member's copy of a resource differs from the template: override policies as pure functions on trees."""
