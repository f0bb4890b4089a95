"""What nobody but the job knows: brings the classes of `Foreign.java` into the driver."""

from pathlib import Path

from pyspark.sql import DataFrame

CONNECTOR = "foreign.Elsewhere"


class Foreign:
    """The classes of `Foreign.java` in one session."""

    def __init__(self, spark):
        """Compile them, and have the planner forget the operators."""
        self._spark = spark
        jvm = spark._jvm
        seq, indexed = "scala.collection.Seq", "scala.collection.IndexedSeq"
        if jvm.scala.util.Properties.versionNumberString().startswith("2.13"):
            seq, indexed = "scala.collection.immutable.Seq", "scala.collection.immutable.IndexedSeq"
        source = Path(__file__).with_name("Foreign.java").read_text("utf-8")
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
        compiler.cook(source.replace("SCALA_SEQ", seq).replace("SCALA_INDEXED_SEQ", indexed))
        self._loader = compiler.getClassLoader()
        # The connector is found by this thread's loader.
        jvm.java.lang.Thread.currentThread().setContextClassLoader(self._loader)
        rules = jvm.PythonUtils.toSeq([self._new("Forget")])
        getattr(spark._jsparkSession.experimental(), "extraOptimizations_$eq")(rules)

    def mystery(self, rows):
        """Put an operator without a rule over rows."""
        return self._frame(self._new("Mystery", _plan(rows)))

    def trap(self, rows, way):
        """Put an operator over rows that fails its reader: `exception`, `stack`, `linkage`, `sleep MS` (once)."""
        return self._frame(self._new("Trap", _plan(rows), way))

    def smuggle(self, rows, path):
        """Write rows by a command without a rule."""
        self._frame(self._new("Smuggle", rows._jdf, path))

    def many(self, rows, operators):
        """Give a range's rows through a plan of that many operators."""
        none = self._spark.range(0, 0, 1, 1)
        return self._frame(self._new("Many").plan(_plan(rows), _plan(none), operators))

    def _new(self, name, *arguments):
        gateway = self._spark.sparkContext._gateway
        array = gateway.new_array(gateway.jvm.java.lang.Object, len(arguments))
        for at, argument in enumerate(arguments):
            array[at] = argument
        return self._loader.loadClass(f"foreign.{name}").getConstructors()[0].newInstance(array)

    def _frame(self, plan):
        sql = self._spark._jvm.org.apache.spark.sql
        home = sql if self._spark.version.startswith("3.") else sql.classic
        return DataFrame(home.Dataset.ofRows(self._spark._jsparkSession, plan), self._spark)


def _plan(rows):
    return rows._jdf.queryExecution().analyzed()
