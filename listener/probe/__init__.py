"""The edge to the JVM: nothing else holds a Java object. PROTOCOL.md says every record and key."""
