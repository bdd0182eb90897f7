"""The controller toolkit: client, informers, work queues, controller loop, leader election, events."""
