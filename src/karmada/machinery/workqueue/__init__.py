"""Work queues: which key to work on next.

- Deduplicating: a key added many times before it is taken is taken once.
- Exclusive: a key is never worked on twice at a time; added meanwhile, it comes again after `done`.
- Patient: keys can be added for later, and retried with growing pauses of their own.
- Ordered: higher priorities first, without starving lower ones for ever.
- Fair: within a priority, lanes (one per cluster, say) take turns, and no lane holds more workers than its limit.

Modules: `lanes` (order, pure), `delays` (one timer for all that is due later), `turns` (sharing the loop in
the background), `queue` (all together).
"""
