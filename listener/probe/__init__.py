"""The boundary to the JVM: nothing else holds a Java object. PROTOCOL.md describes every record and key."""
