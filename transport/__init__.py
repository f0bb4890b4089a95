"""
Delivery of OpenLineage events: the transports, and the worker that sends in the background.

`registry.open_transport` makes a transport from its name and options; `delivery.worker.Delivery` sends through it. The
events are finished JSON, so nothing here depends on Spark, except that the options have their names in the Spark
configuration.
"""
