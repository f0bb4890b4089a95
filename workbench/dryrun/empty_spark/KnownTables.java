package openlineage.pyspark;

import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;

/** The sources that a script loads: each has a place and a schema, and no rows. */
public final class KnownTables {
    public KnownTables() {}

    /** Returns the relation of a source: its name, place, schema, whether it has files, and how it is read. */
    public Object relation(String name, String place, StructType schema, Boolean isOfFiles, String reading) {
        Option none = Option.apply(null);
        KnownTable table = new KnownTable(name, place, schema, isOfFiles.booleanValue(), reading);
        return DataSourceV2Relation.create(table, none, none);
    }

    /** One such source. */
    public static final class KnownTable implements SupportsRead, SupportsMetadataColumns {
        private final String name;
        private final String place;
        private final StructType schema;
        private final boolean isOfFiles;
        private final String reading;

        KnownTable(String name, String place, StructType schema, boolean isOfFiles, String reading) {
            this.name = name;
            this.reading = reading;
            this.place = place;
            this.schema = schema;
            this.isOfFiles = isOfFiles;
        }

        public String name() {
            return name;
        }

        /** The place, as Python has written it. */
        public String place() {
            return place;
        }

        /** What is read, and how, as Python has written it for the comparison of plans. */
        public String reading() {
            return reading;
        }

        public StructType schema() {
            return schema;
        }

        public Set capabilities() {
            Set found = new HashSet();
            found.add(TableCapability.BATCH_READ);
            return found;
        }

        public MetadataColumn[] metadataColumns() {
            return isOfFiles ? new MetadataColumn[] {new OfFile()} : new MetadataColumn[0];
        }

        public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
            return new NoRows(schema);
        }
    }

    /** The hidden column with which Spark describes the file of each row. */
    public static final class OfFile implements MetadataColumn {
        public String name() {
            return "_metadata";
        }

        public DataType dataType() {
            return StructType.fromDDL("file_path STRING, file_name STRING, file_size BIGINT, file_block_start BIGINT, "
                    + "file_block_length BIGINT, file_modification_time TIMESTAMP");
        }
    }

    /** A scan of nothing. */
    public static final class NoRows implements ScanBuilder, Scan, Batch {
        private final StructType schema;

        NoRows(StructType schema) {
            this.schema = schema;
        }

        public Scan build() {
            return this;
        }

        public StructType readSchema() {
            return schema;
        }

        public Batch toBatch() {
            return this;
        }

        public InputPartition[] planInputPartitions() {
            return new InputPartition[0];
        }

        public PartitionReaderFactory createReaderFactory() {
            return null;
        }
    }
}
