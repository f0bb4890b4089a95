"""Write events to a non-local file system through the driver's own Hadoop client."""

from __future__ import annotations

from typing import Any

from openlineage_pyspark.listener.probe.client import as_os_error


class HadoopFiles:
    """
    A location in a non-local file system, accessed through the driver's own Hadoop client.

    The client is not the one that Spark reads and writes with, but has the same configuration and credentials. Neither
    the end of the SparkContext nor the shutdown of the JVM closes it.
    """

    def __init__(self, gateway: Any, location: str) -> None:
        """
        Remember the location; the client is created when it is first used, because there is no SparkContext yet.

        Args:
            gateway: py4j's gateway of the driver.
            location: the URI, such as `s3a://bucket/lineage`.
        """
        self._jvm = gateway.jvm
        self._location = location
        self._client: Any = None
        self._label = ""

    def label(self) -> str:
        """
        Return the id of the application.

        Raises:
            OSError: the JVM can't be reached.
        """
        self._opened()
        return self._label

    def create(self, path: str, /) -> HadoopObject:
        """
        Create an object and open it for writing.

        Raises:
            OSError: it can't be created, or already exists.
        """
        client, overwrite = self._opened(), False
        with as_os_error():
            return HadoopObject(client.create(self._jvm.org.apache.hadoop.fs.Path(path), overwrite))

    def close(self) -> None:
        """
        Close the client.

        Raises:
            OSError: it can't be closed.
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
                # A signal may end the JVM before Python has written the last object.
                configuration.set("fs.automatic.close", "false")
                self._label = str(active.get().applicationId())
                self._client = hadoop.fs.FileSystem.newInstance(hadoop.fs.Path(self._location).toUri(), configuration)
        return self._client


class HadoopObject:
    """
    One object that is being written (FSDataOutputStream).

    Attributes:
        keeps: whether written data survives the end of this process even before the object is closed.
    """

    def __init__(self, stream: Any) -> None:
        """Take over an open stream."""
        self._stream = stream
        with as_os_error():
            self.keeps = bool(stream.hasCapability("hflush"))

    def write(self, data: bytes, /) -> None:
        """
        Append to the object, and wait until the file system has stored the data, if it can confirm that.

        Raises:
            OSError: the file system did not accept it.
        """
        with as_os_error():
            self._stream.write(data)
            if self.keeps:
                self._stream.hflush()

    def close(self) -> None:
        """
        Finish the object.

        Raises:
            OSError: the file system did not accept it.
        """
        with as_os_error():
            self._stream.close()
