"""Where events are written to a file system that is not local: by the driver's own Hadoop client."""

from __future__ import annotations

from typing import Any

from openlineage_pyspark.listener.probe.client import as_os_error


class HadoopFiles:
    """
    A location in a file system that is not local, through the driver's own Hadoop client.

    It is the client that Spark reads and writes with, with the same configuration and credentials, but an instance of
    its own, which neither the end of the SparkContext nor that of the JVM closes.
    """

    def __init__(self, gateway: Any, location: str) -> None:
        """
        Remember where; the first object asks for the rest, since there is no SparkContext yet.

        Args:
            gateway: py4j's gateway of the driver.
            location: with its scheme, such as `s3a://bucket/lineage`.
        """
        self._jvm = gateway.jvm
        self._location = location
        self._client: Any = None
        self._label = ""

    def label(self) -> str:
        """
        Give the id of the application.

        Raises:
            OSError: it can't be asked for.
        """
        self._opened()
        return self._label

    def create(self, path: str, /) -> HadoopObject:
        """
        Begin an object.

        Args:
            path: in full, with its scheme.

        Raises:
            OSError: it can't be made, or is there already.
        """
        client, overwrite = self._opened(), False
        with as_os_error():
            return HadoopObject(client.create(self._jvm.org.apache.hadoop.fs.Path(path), overwrite))

    def close(self) -> None:
        """
        Close the client.

        Raises:
            OSError: it did not answer.
        """
        if self._client is not None:
            with as_os_error():
                self._client.close()

    def _opened(self) -> Any:
        if self._client is None:
            with as_os_error():
                active = getattr(getattr(self._jvm.org.apache.spark, "SparkContext$"), "MODULE$").getActive()
                if not active.isDefined():
                    raise OSError("there is no SparkContext")
                hadoop = self._jvm.org.apache.hadoop
                configuration = hadoop.conf.Configuration(active.get().hadoopConfiguration())
                # The JVM may end, by a signal, before Python has written the last object.
                configuration.set("fs.automatic.close", "false")
                self._label = str(active.get().applicationId())
                self._client = hadoop.fs.FileSystem.newInstance(hadoop.fs.Path(self._location).toUri(), configuration)
        return self._client


class HadoopObject:
    """One object that is being written (FSDataOutputStream)."""

    def __init__(self, stream: Any) -> None:
        """Take over an open stream."""
        self._stream = stream
        with as_os_error():
            self.keeps = bool(stream.hasCapability("hflush"))

    def write(self, data: bytes, /) -> None:
        """
        Append to the object, and wait until the file system has it, if it is one that can say so.

        Raises:
            OSError: the file system did not take it.
        """
        with as_os_error():
            self._stream.write(data)
            if self.keeps:
                self._stream.hflush()

    def close(self) -> None:
        """
        Finish the object.

        Raises:
            OSError: the file system did not take it.
        """
        with as_os_error():
            self._stream.close()
