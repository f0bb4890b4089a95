"""
Delivery of OpenLineage events: the transports, and the worker that sends in the background.

`registry.open_transport` makes a transport from its name and options; `delivery.worker.Delivery` sends through it. An
event comes in as finished JSON, so nothing here depends on Spark; only the names of the options are those of the Spark
configuration.
"""
