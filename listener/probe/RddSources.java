package openlineage.pyspark;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.StringUtils;
import org.apache.spark.rdd.HadoopRDD;
import org.apache.spark.rdd.NewHadoopRDD;

/** Finds the sources of an RDD's rows in the RDDs from which it was created; no partition is computed. */
final class RddSources {
  private static final int MOST_RDDS = 5000;
  private static final int MOST_FILES = 10000;
  private static final int MOST_SPLITS = 10000;
  /** The source that replaces those that are left out. */
  private static final String REST = "?...";
  /** States that the rows are those of a query. */
  private static final String OF_QUERY = "?SQLExecutionRDD";
  /** States that the RDD itself is a checkpoint, of which Spark cuts off what it was created from. */
  private static final String CHECKPOINT = "?checkpoint";
  /** The RDDs whose rows come from the driver itself. */
  private static final String LOCAL = "ParallelCollectionRDD EmptyRDD";
  private final ArrayList found = new ArrayList();
  private final HashSet known = new HashSet();
  private final ArrayDeque work = new ArrayDeque();

  /**
   * Returns the sources: paths, also of Iceberg tables, pairs of JDBC URL and table, pairs of Kafka cluster and topic,
   * and `?` followed by the class of an unknown RDD. `submitted`: whether it is the RDD of a stage.
   */
  static Object of(Object start, boolean submitted) {
    RddSources sources = new RddSources();
    sources.add(start);
    // A stage is not a checkpoint: it may compute one.
    Object kept = submitted ? null : Reflection.call(start, "checkpointData");
    boolean isCheckpoint = kept instanceof scala.Option && ((scala.Option) kept).isDefined();
    if (isCheckpoint) sources.find(CHECKPOINT);
    sources.walk(isCheckpoint ? start : null);
    return sources.found.toArray();
  }

  private void walk(Object checkpoint) {
    IdentityHashMap seen = new IdentityHashMap();
    boolean isOfQuery = false;
    boolean isEmpty = false;
    while (!work.isEmpty() && seen.size() < MOST_RDDS) {
      Object rdd = work.removeFirst();
      if (seen.put(rdd, Boolean.TRUE) != null) continue;
      String simple = rdd.getClass().getSimpleName();
      boolean leaf = !addParents(rdd);
      isOfQuery |= simple.equals("SQLExecutionRDD");
      isEmpty |= simple.equals("EmptyRDD");
      if (simple.equals("FileScanRDD")) files(list(Reflection.call(rdd, "filePartitions")), simple);
      else if (rdd instanceof HadoopRDD || rdd instanceof NewHadoopRDD) hadoop(rdd);
      else if (simple.equals("JDBCRDD")) jdbc(rdd);
      else if (simple.equals("KafkaSourceRDD")) kafka(rdd, list(Reflection.field(rdd, "offsetRanges")), simple);
      else if (simple.equals("DataSourceRDD")) scan(rdd, simple);
      else if (simple.startsWith("HoodieMergeOnReadRDD")) hudi(rdd, simple);
      else if (leaf && rdd != checkpoint && LOCAL.indexOf(simple) < 0) find("?" + simple);
    }
    if (!work.isEmpty()) find(REST);
    // Spark has found that a query has no rows: what it read to find this is not reported.
    if (isOfQuery && isEmpty && found.isEmpty()) find("?EmptyRDD");
    // The RDD does not have the query's plan: what a broadcast join or a subquery has read is a value in its code.
    if (isOfQuery) find(OF_QUERY);
  }

  private void add(Object rdd) {
    if (rdd != null) work.add(rdd);
  }

  private void find(String source) {
    if (known.add(source)) found.add(source);
  }

  /** Returns whether there are any. */
  private boolean addParents(Object rdd) {
    int before = work.size();
    if (Reflection.has(rdd, "rdds")) {
      Object rdds = Reflection.call(rdd, "rdds");
      if (rdds instanceof scala.collection.Iterable) {
        scala.collection.Iterator it = ((scala.collection.Iterable) rdds).iterator();
        while (it.hasNext()) add(it.next());
      }
    } else if (Reflection.has(rdd, "prev")) {
      add(Reflection.call(rdd, "prev"));
    } else {
      Object dependencies = Reflection.call(rdd, "dependencies");
      if (dependencies instanceof scala.collection.Iterable) {
        scala.collection.Iterator it = ((scala.collection.Iterable) dependencies).iterator();
        while (it.hasNext()) add(Reflection.call(it.next(), "rdd"));
      }
    }
    return work.size() > before;
  }

  /** Replaces several files by their directories; a single file is unchanged. */
  private void files(ArrayList partitions, String name) {
    LinkedHashSet files = new LinkedHashSet();
    Iterator it = partitions.iterator();
    while (it.hasNext() && files.size() < MOST_FILES) {
      Object each = Reflection.call(it.next(), "files");
      for (int i = 0; each instanceof Object[] && i < ((Object[]) each).length; i++) {
        Object path = Reflection.call(((Object[]) each)[i], "filePath");
        // Its own text is a URL, with percent-encoded special characters.
        boolean isSparkPath = path != null && Reflection.has(path, "toPath");
        files.add(String.valueOf(isSparkPath ? Reflection.call(path, "toPath") : path));
      }
    }
    if (it.hasNext()) find(REST);
    // Without files, nothing shows which table it is.
    if (files.isEmpty()) find("?" + name);
    Iterator paths = files.iterator();
    while (paths.hasNext()) {
      String path = (String) paths.next();
      find(files.size() > 1 ? directory(path) : path);
    }
  }

  private static ArrayList list(Object iterable) {
    ArrayList found = new ArrayList();
    if (!(iterable instanceof scala.collection.Iterable)) return found;
    scala.collection.Iterator it = ((scala.collection.Iterable) iterable).iterator();
    while (it.hasNext()) found.add(it.next());
    return found;
  }

  private static String directory(String path) {
    return path.substring(0, path.lastIndexOf('/'));
  }

  private void jdbc(Object rdd) {
    Object options = Reflection.field(rdd, "options");
    Object url = Reflection.call(options, "url");
    Object table = Reflection.call(options, "tableOrQuery");
    if (url != null && table != null) found.add(new Object[] {url, table});
    else found.add("?JDBCRDD");
  }

  /** Finds the table of Hudi whose base files and logs an RDD merges. */
  private void hudi(Object rdd, String name) {
    Object path = Reflection.call(Reflection.field(rdd, "tableState"), "tablePath");
    find(path instanceof String ? (String) path : "?" + name);
  }

  /** Finds what a scan of DataSource V2 reads: files, or the topics or the Iceberg table that its partitions name. */
  private void scan(Object rdd, String name) {
    ArrayList partitions = new ArrayList();
    Iterator groups = list(Reflection.field(rdd, "inputPartitions")).iterator();
    while (groups.hasNext() && partitions.size() < MOST_SPLITS) {
      Object group = groups.next();
      // Spark 3.5 groups the partitions; newer versions have an option of each.
      if (group instanceof scala.Option) partitions.addAll(list(((scala.Option) group).toList()));
      else partitions.addAll(list(group));
    }
    if (groups.hasNext()) find(REST);
    Object first = partitions.isEmpty() ? null : partitions.get(0);
    String kind = first == null ? "" : first.getClass().getName();
    if (kind.equals("org.apache.spark.sql.execution.datasources.FilePartition")) {
      files(partitions, name);
    } else if (kind.equals("org.apache.spark.sql.kafka010.KafkaBatchInputPartition")) {
      ArrayList ranges = new ArrayList();
      for (int i = 0; i < partitions.size(); i++) ranges.add(Reflection.call(partitions.get(i), "offsetRange"));
      kafka(first, ranges, name);
    } else {
      // Each partition has the table, as the executors get it.
      boolean isIceberg = kind.startsWith("org.apache.iceberg.spark.source.");
      Object table = isIceberg ? Reflection.call(Reflection.field(first, "tableBroadcast"), "value") : null;
      Object location = Reflection.field(table, "location");
      find(location == null ? "?" + name : String.valueOf(location));
    }
  }

  /** Finds the topics, each as a pair of `kafka:` with the servers, and the topic. */
  private void kafka(Object reader, ArrayList ranges, String name) {
    Object params = Reflection.field(reader, "executorKafkaParams");
    Object servers = params instanceof Map ? ((Map) params).get("bootstrap.servers") : null;
    if (servers == null || ranges.isEmpty()) find("?" + name);
    for (int i = 0; servers != null && i < ranges.size(); i++) {
      Object topic = Reflection.call(ranges.get(i), "topic");
      if (topic != null && known.add("kafka " + topic)) found.add(new Object[] {"kafka:" + servers, topic});
    }
  }

  /** Finds the input paths, as the user gave them. */
  private void hadoop(Object rdd) {
    Object conf = Reflection.call(rdd, "getConf");
    boolean known = conf instanceof Configuration;
    String all = known ? ((Configuration) conf).get("mapreduce.input.fileinputformat.inputdir") : null;
    if (all == null) {
      find("?" + rdd.getClass().getSimpleName());
      return;
    }
    String[] paths = StringUtils.split(all);
    for (int i = 0; i < paths.length; i++) find(StringUtils.unEscapeString(paths[i]));
  }
}
