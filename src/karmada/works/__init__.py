"""Works as pure functions: the copy of a template a member gets, how it is merged there, and what its status says."""
