"""What a restart need not look at: bindings for which nothing was left to do, and which are as they were then.

A running control plane looks at an object when something changes, and never else. Without more knowledge a restart has
to look at everything, as nobody knows what changed meanwhile. Here is that knowledge: of each binding that was in order
and for which nothing was under way or due, the states of all objects that decide about it (`states`): the binding, its
template, its policy, its Works, their objects in the members, clusters, override policies and customisations, and the
program itself with its flags. Where all of these are after a restart what they were, controllers go on as if there had
been none. Whatever differs in one of them, and whatever is not known, is looked at as after any start.

Modules: `group` (which objects belong together), `states` (their states), `order` (whether a binding is in order),
`resumption` (what happens at a start, and from then on), `program` (which program this is).
"""
