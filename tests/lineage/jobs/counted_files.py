"""Tables of Iceberg and Delta Lake on a file system that counts what is asked of it, by whom."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

COUNTING = """
public class CountingFileSystem extends org.apache.hadoop.fs.RawLocalFileSystem {
  public static final java.util.TreeMap CALLS = new java.util.TreeMap();
  private static void count(String call) {
    String thread = Thread.currentThread().getName();
    String who = thread.indexOf("openlineage") >= 0 ? "listener" : "job";
    synchronized (CALLS) {
      Object known = CALLS.get(who + " " + call);
      CALLS.put(who + " " + call, Integer.valueOf(known == null ? 1 : ((Integer) known).intValue() + 1));
    }
  }
  public String getScheme() { return "counted"; }
  public java.net.URI getUri() { return java.net.URI.create("counted:///"); }
  public org.apache.hadoop.fs.FSDataInputStream open(org.apache.hadoop.fs.Path path, int size)
      throws java.io.IOException {
    count("open");
    return super.open(path, size);
  }
  public org.apache.hadoop.fs.FileStatus getFileStatus(org.apache.hadoop.fs.Path path) throws java.io.IOException {
    count("status");
    return super.getFileStatus(path);
  }
  public org.apache.hadoop.fs.FileStatus[] listStatus(org.apache.hadoop.fs.Path path) throws java.io.IOException {
    count("list");
    return super.listStatus(path);
  }
  public boolean rename(org.apache.hadoop.fs.Path from, org.apache.hadoop.fs.Path to) throws java.io.IOException {
    count("rename");
    return super.rename(from, to);
  }
}
"""
LAKE = f"counted://{sys.argv[1]}"
builder = SparkSession.builder.appName("counted").config("spark.sql.catalog.ice.warehouse", f"{LAKE}/ice")
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
jvm, conf = spark._jvm, spark._jsc.hadoopConfiguration()
compiler = jvm.org.codehaus.janino.SimpleCompiler()
compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
compiler.cook(COUNTING)
counting = compiler.getClassLoader().loadClass("CountingFileSystem")
conf.setClassLoader(compiler.getClassLoader())
conf.set("fs.counted.impl", "CountingFileSystem")
jvm.org.apache.hadoop.fs.Path(LAKE).getFileSystem(conf)

for table, using in (("ice.db.t", "iceberg"), ("t", f"delta LOCATION '{LAKE}/t'")):
    spark.sql(f"CREATE TABLE {table} (k INT, v INT) USING {using}")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)")
    spark.sql(f"INSERT INTO {table} SELECT k + 10, v FROM {table}")
    spark.sql(f"UPDATE {table} SET v = 9 WHERE k = 2")
    spark.sql(f"DELETE FROM {table} WHERE k = 3")
    spark.sql(
        f"INSERT INTO {table} SELECT * FROM {table} VERSION AS OF {{}}".format(
            1 if using != "iceberg" else spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").first()[0]
        )
    )
spark.stop()
calls = counting.getField("CALLS").get(None)
Path("calls.json").write_text(json.dumps({str(key): calls.get(key) for key in calls.keySet()}), "utf-8")
