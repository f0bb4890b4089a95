"""Names of datasets: rebuilt from what is allowed in them, and as the Java integration spells them."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.facets.urls import jdbc_address

LOCATIONS = [
    ("/data/orders", "file", "/data/orders"),
    ("file:/data/orders", "file", "/data/orders"),
    ("file:///data/orders", "file", "/data/orders"),
    ("file:/data/orders/", "file", "/data/orders"),
    ("/", "file", "/"),
    ("hdfs://nn:8020/data/orders", "hdfs://nn:8020", "/data/orders"),
    ("hdfs://cluster/data", "hdfs://cluster", "/data"),
    ("s3://shop/a/b", "s3://shop", "a/b"),
    ("s3a://shop/a/b", "s3://shop", "a/b"),
    ("s3n://shop/a/b/", "s3://shop", "a/b"),
    ("s3a://shop", "s3://shop", "/"),
    ("s3a://shop/", "s3://shop", "/"),
    ("gs://shop/a/b", "gs://shop", "a/b"),
    ("abfs://box@acc.dfs.core.windows.net/a/b", "abfss://box@acc.dfs.core.windows.net", "a/b"),
    ("abfss://box@acc.dfs.core.windows.net/a/b", "abfss://box@acc.dfs.core.windows.net", "a/b"),
    ("wasb://box@acc.blob.core.windows.net/a", "wasbs://box@acc.blob.core.windows.net", "a"),
    ("wasbs://box@acc.blob.core.windows.net/a", "wasbs://box@acc.blob.core.windows.net", "a"),
    ("dbfs:/mnt/orders", "dbfs", "/mnt/orders"),
    ("dbfs://space/mnt/orders", "dbfs://space", "/mnt/orders"),
    ("viewfs://cluster/data", "viewfs://cluster", "/data"),
    ("S3A://shop/A/b", "s3://shop", "A/b"),
    ("/data/größe/données", "file", "/data/größe/données"),
    ("/data/two words", "file", "/data/two words"),
    ("/data/a:b", "file", "/data/a:b"),
    ("s3://shop/a=b/c d", "s3://shop", "a=b/c d"),
]


@pytest.mark.parametrize(("path", "namespace", "name"), LOCATIONS)
def test_a_location_is_named_by_its_store_and_its_path(path, namespace, name):
    assert naming.location(path) == Identifier(namespace, name)


@pytest.mark.parametrize(
    ("path", "namespace"),
    [
        ("s3a://AKIA:s3cr3t@shop/a", "s3://shop"),
        ("hdfs://alice:s3cr3t@nn:8020/a", "hdfs://nn:8020"),
        ("ftp://alice:s3cr3t@host/a", "ftp://host"),
        ("gs://alice:s3cr3t@shop/a", "gs://shop"),
    ],
)
def test_credentials_in_a_locations_authority_do_not_survive(path, namespace):
    named = naming.location(path)
    assert named.namespace == namespace
    assert "s3cr3t" not in named.namespace + named.name
    assert "alice" not in named.namespace + named.name


@pytest.mark.parametrize(
    ("path", "parent"),
    [("/a/b", "/a"), ("/a/b/", "/a"), ("s3://shop/a/b.csv", "s3://shop/a"), ("/a", "/")],
)
def test_the_parent_of_a_path_is_the_directory_that_it_lies_in(path, parent):
    assert naming.parent(path) == parent


JDBC = [
    ("jdbc:postgresql://db:5433/shop", "postgres://db:5433"),
    ("jdbc:postgresql://db/shop", "postgres://db:5432"),
    ("jdbc:postgresql://DB:5432/other?x=1", "postgres://db:5432"),
    ("jdbc:aws-wrapper:postgresql://db/shop", "postgres://db:5432"),
    ("jdbc:p6spy:mysql://db/shop", "mysql://db:3306"),
    ("jdbc:jtds:sqlserver://db/shop", "sqlserver://db:1433"),
    ("jdbc:mysql://db:3307/shop", "mysql://db:3307"),
    ("jdbc:mysql://db/shop", "mysql://db:3306"),
    ("jdbc:mariadb://db/shop", "mysql://db:3306"),
    ("jdbc:sqlserver://db:1434;databaseName=shop", "sqlserver://db:1434"),
    ("jdbc:sqlserver://db;databaseName=shop", "sqlserver://db:1433"),
    ("jdbc:oracle:thin:@//db:1522/service", "oracle://db:1522"),
    ("jdbc:oracle:thin:@db:1522:sid", "oracle://db:1522"),
    ("jdbc:oracle:thin:@db/service", "oracle://db:1521"),
    ("jdbc:db2://db:50001/shop", "db2://db:50001"),
    ("jdbc:redshift://db:5440/shop", "redshift://db:5440"),
    ("jdbc:redshift://db/shop", "redshift://db:5439"),
    ("jdbc:clickhouse://db/shop", "clickhouse://db:8123"),
    ("jdbc:ch:http://DB/shop", "clickhouse://db:8123"),
    ("jdbc:trino://db/hive/shop", "trino://db:443"),
    ("jdbc:teradata://db/DATABASE=shop", "teradata://db:1025"),
    ("jdbc:postgresql:shop", "postgres://localhost:5432"),
    ("jdbc:postgresql:shop?ssl=true", "postgres://localhost:5432"),
    ("jdbc:postgresql:///shop", "postgres://localhost:5432"),
    ("jdbc:mysql:///shop", "mysql://localhost:3306"),
    ("jdbc:sqlserver://db\\One;databaseName=shop", "sqlserver://db/one"),
    ("jdbc:sqlserver://db;instanceName=TWO;databaseName=shop", "sqlserver://db/two"),
    ("jdbc:sqlserver://db\\one:1434;databaseName=shop", "sqlserver://db:1434"),
    ("jdbc:teradata://db/DBS_PORT=1026,DATABASE=shop", "teradata://db:1026"),
    ("jdbc:duckdb:/data/shop.db", "duckdb:/data/shop.db"),
    ("jdbc:bigquery://https://www.googleapis.com/bigquery/v2:443;ProjectId=acme;OAuthType=3", "bigquery"),
    ("jdbc:awsathena://AwsRegion=eu-west-1;S3OutputLocation=s3://x", "awsathena://athena.eu-west-1.amazonaws.com"),
    ("jdbc:awsathena://athena.eu-west-1.amazonaws.com:443;User=x", "awsathena://athena.eu-west-1.amazonaws.com"),
    ("jdbc:athena://Region=eu-west-1;Database=shop", "awsathena://athena.eu-west-1.amazonaws.com"),
    ("jdbc:cloudspanner:/projects/acme/instances/one/databases/shop?x=1", "spanner://acme:one"),
    ("jdbc:cloudspanner://localhost:9010/projects/acme/instances/one/databases/shop", "spanner://acme:one"),
    ("jdbc:unheard://db:99/shop", "unheard://db:99"),
    ("jdbc:unheard://db/shop", "unheard://db"),
    ("jdbc:derby:memory:shop;create=true", "derby:memory:shop"),
    ("jdbc:derby:/data/shop;create=true", "derby:/data/shop"),
    ("jdbc:sqlite:/data/shop.db", "sqlite:/data/shop.db"),
    ("jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1", "h2:mem:shop"),
]


@pytest.mark.parametrize(("url", "namespace"), JDBC)
def test_a_jdbc_database_is_named_by_kind_host_and_port(url, namespace):
    assert naming.jdbc_namespace(url) == namespace


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://alice:s3cr3t@db:5432/shop?user=alice&password=s3cr3t&ssl=true",
        "jdbc:mysql://alice:s3cr3t@db/shop?password=s3cr3t",
        "jdbc:mariadb://db/shop?user=alice&password=s3cr3t",
        "jdbc:sqlserver://db:1433;databaseName=shop;user=alice;password=s3cr3t;encrypt=true",
        "jdbc:oracle:thin:alice/s3cr3t@//db:1521/service",
        "jdbc:oracle:thin:alice/s3cr3t@db:1521:sid",
        "jdbc:db2://db:6789/shop:user=alice;password=s3cr3t;",
        "jdbc:derby:/data/shop;create=true;user=alice;password=s3cr3t",
        "jdbc:sqlite:/data/shop.db?password=s3cr3t",
        "jdbc:h2:tcp://db/shop;USER=alice;PASSWORD=s3cr3t",
        "jdbc:clickhouse://alice:s3cr3t@db:8123/shop?password=s3cr3t",
        "jdbc:redshift://db:5439/shop;UID=alice;PWD=s3cr3t",
        "jdbc:snowflake://acc.snowflakecomputing.com/?user=alice&password=s3cr3t&db=shop",
        "jdbc:teradata://db/DATABASE=shop,USER=alice,PASSWORD=s3cr3t",
        "jdbc:unheard://alice:s3cr3t@db:99/shop?password=s3cr3t",
        "jdbc:oracle:thin:alice/s3cr3t",
        "jdbc:mysql://alice:s3cr3t;x@db/shop",
        "jdbc:mysql://alice:a?s3cr3t@db/shop",
        "jdbc:mysql://alice:a/s3cr3t@db/shop",
        "jdbc:mysql://address=(host=db)(user=alice)(password=s3cr3t)/shop",
        "jdbc:postgresql://db/password=s3cr3t",
        "jdbc:hsqldb:hsql://alice:s3cr3t@db/shop",
        "jdbc:snowflake://alice:s3cr3t@acc.snowflakecomputing.com/?db=shop",
    ],
)
def test_credentials_in_a_jdbc_url_do_not_survive(url):
    named = f"{naming.jdbc_namespace(url)} {naming.jdbc_table(url, 'orders')} {jdbc_address(url)}"
    assert "s3cr3t" not in named
    assert "alice" not in named


@pytest.mark.parametrize(
    ("url", "table", "name"),
    [
        ("jdbc:postgresql://db/shop", "public.orders", "shop.public.orders"),
        ("jdbc:postgresql://db/shop?ssl=true", "orders", "shop.public.orders"),
        ("jdbc:postgresql://db/shop", "ORDERS", "shop.public.orders"),
        ("jdbc:postgresql://db/shop", 'PUBLIC."a.b ""c"', 'shop.public.a.b "c'),
        ("jdbc:postgresql://db/shop?currentSchema=sales,public", "orders", "shop.sales.orders"),
        ("jdbc:postgresql://db/shop?options=-c%20search_path=sales", "orders", "shop.sales.orders"),
        ("jdbc:postgresql://db/shop?options=-c search_path%3Dsales", "orders", "shop.sales.orders"),
        ("jdbc:postgresql://db/shop?currentSchema=Sales", "orders", "shop.sales.orders"),
        ('jdbc:postgresql://db/shop?currentSchema="Sales",public', "orders", "shop.Sales.orders"),
        ("jdbc:postgresql://db/shop?x=1&currentSchema=%22Sales%22", "orders", "shop.Sales.orders"),
        ("jdbc:postgresql://db/shop?options=-c%20search_path%3D%22Sales%22", "orders", "shop.Sales.orders"),
        ("jdbc:postgresql://db/Shop?currentSchema=sales", "public.orders", "Shop.public.orders"),
        ("jdbc:snowflake://acc/?db=shop&schema=mart", "orders", "SHOP.MART.ORDERS"),
        ("jdbc:trino://db/Hive/Mart", "Orders", "hive.mart.orders"),
        ("jdbc:h2:mem:shop;SCHEMA=sales", "orders", "SALES.ORDERS"),
        ("jdbc:h2:mem:shop;SCHEMA=sales", "public.orders", "PUBLIC.ORDERS"),
        ("jdbc:vertica://db/shop?SearchPath=sales,public", "orders", "shop.sales.orders"),
        ("jdbc:unheard://db/?currentschema=sales", "orders", "sales.orders"),
        ("jdbc:unheard://db/shop;schema=sales", "orders", "shop.sales.orders"),
        ("jdbc:unheard://db/shop;schema=sales", "other.orders", "shop.other.orders"),
        ("jdbc:postgresql://db", "orders", "orders"),
        ("jdbc:postgresql://db/shop", 'public."Orders"', "shop.public.Orders"),
        ("jdbc:postgresql://db/shop", "other.public.orders", "other.public.orders"),
        ("jdbc:mysql://db/shop", "orders", "shop.orders"),
        ("jdbc:mysql://db/shop", "other.orders", "other.orders"),
        ("jdbc:mysql://db", "shop.`orders`", "shop.orders"),
        ("jdbc:mariadb://db/shop?x=1", "orders", "shop.orders"),
        ("jdbc:sqlserver://db;databaseName=shop", "dbo.orders", "shop.dbo.orders"),
        ("jdbc:sqlserver://db;database=shop;x=1", "[dbo].[orders]", "shop.dbo.orders"),
        ("jdbc:sqlserver://db;DatabaseName={shop}", "other.dbo.orders", "other.dbo.orders"),
        ("jdbc:db2://db:50000/shop:user=alice;", "s.orders", "shop.S.ORDERS"),
        ("jdbc:db2://db:50000/shop:currentSchema=S;", "orders", "shop.S.ORDERS"),
        ("jdbc:redshift://db/shop", "public.orders", "shop.public.orders"),
        ("jdbc:derby:memory:shop", "APP.ORDERS", "APP.ORDERS"),
        ("jdbc:derby:memory:shop", "orders", "APP.ORDERS"),
        ("jdbc:derby:memory:shop", '"orders"', "APP.orders"),
        ("jdbc:h2:mem:shop", "orders", "PUBLIC.ORDERS"),
        ("jdbc:sqlserver://db;databaseName=shop", "orders", "shop.dbo.orders"),
        ("jdbc:sqlserver://db;databaseName=shop", "other..orders", "other.dbo.orders"),
        ("jdbc:snowflake://acc.snowflakecomputing.com/?db=SHOP&schema=S", "orders", "SHOP.S.ORDERS"),
        ("jdbc:clickhouse://db/shop", "orders", "shop.orders"),
        ("jdbc:clickhouse://db", "orders", "default.orders"),
        ("jdbc:ch:https://db:8443/shop?ssl=true", "orders", "shop.orders"),
        ("jdbc:clickhouse:http://alice:s3cr3t@db/shop", "orders", "shop.orders"),
        ("jdbc:ch:http://db", "orders", "default.orders"),
        ("jdbc:aws-wrapper:postgresql://db/shop", "orders", "shop.public.orders"),
        ("jdbc:sqlite:/data/shop.db", "orders", "orders"),
        ("jdbc:sqlite:/data/shop.db", "Orders", "orders"),
        ("jdbc:sqlite:/data/shop.db", 'Main."Orders"', "orders"),
        ("jdbc:sqlite:/data/shop.db", "other.orders", "other.orders"),
        ("jdbc:duckdb:/data/shop.db", 'main."Orders"', "orders"),
        ("jdbc:postgresql:shop", "orders", "shop.public.orders"),
        ("jdbc:postgresql:///shop?ssl=true", "orders", "shop.public.orders"),
        ("jdbc:mysql:///shop", "orders", "shop.orders"),
        ("jdbc:sqlserver://db\\one;database=shop", "orders", "shop.dbo.orders"),
        ("jdbc:teradata://db/DATABASE=shop,CHARSET=UTF8", "orders", "shop.orders"),
        ("jdbc:teradata://db/TMODE=ANSI,DATABASE=shop", "other.orders", "other.orders"),
        ("jdbc:hive2://db:10000/shop;ssl=true", "orders", "shop.orders"),
        ("jdbc:hive2://db:10000", "orders", "default.orders"),
        ("jdbc:vertica://db/shop", "orders", "shop.public.orders"),
        ("jdbc:databricks://db:443;httpPath=/x;ConnCatalog=shop;ConnSchema=s", "orders", "shop.s.orders"),
        ("jdbc:sap://db:30015/?databaseName=SHOP", "s.orders", "SHOP.s.orders"),
        ("jdbc:bigquery://https://x/bigquery/v2:443;ProjectId=my-acme;DefaultDataset=d", "Orders", "my-acme.d.Orders"),
        ("jdbc:bigquery://https://x/bigquery/v2:443;ProjectId=my-acme;DefaultDataset=d", "e.o", "my-acme.e.o"),
        ("jdbc:bigquery://https://x/bigquery/v2:443;ProjectId=my-acme;DefaultDataset=d", "`p-2.e.o`", "p-2.e.o"),
        ("jdbc:awsathena://AwsRegion=eu-west-1;Schema=Sales", "Orders", "AwsDataCatalog.sales.orders"),
        ("jdbc:athena://Region=eu-west-1;Catalog=lake;Database=sales", '"other"."Orders"', "lake.other.orders"),
        ("jdbc:trino://db/Hive/Mart", '"Orders"', "hive.mart.orders"),
        ("jdbc:athena://Region=eu-west-1", "orders", "AwsDataCatalog.default.orders"),
        ("jdbc:cloudspanner:/projects/acme/instances/one/databases/shop", "Orders", "shop.Orders"),
        ("jdbc:cloudspanner:/projects/acme/instances/one/databases/shop", "s.Orders", "shop.s.Orders"),
        ("jdbc:unheard://db/shop", "orders", "shop.orders"),
        ("jdbc:unheard://db/shop", "a.s.orders", "a.s.orders"),
        ("jdbc:unheard://db", "orders", "orders"),
    ],
)
def test_a_jdbc_table_is_named_by_database_schema_and_table(url, table, name):
    assert naming.jdbc_table(url, table) == name


def test_a_query_in_place_of_a_table_is_no_name():
    assert naming.jdbc_table("jdbc:postgresql://db/shop", " (SELECT 's3cr3t') q") == "(query)"


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("jdbc:postgresql://alice:s3cr3t@db:5433/shop?ssl=true", "jdbc:postgresql://db:5433/shop"),
        ("jdbc:sqlserver://db;databaseName=shop", "jdbc:sqlserver://db/shop"),
        ("jdbc:oracle:thin:@db:1521:shop", "jdbc:oracle://db:1521/shop"),
        ("jdbc:derby:memory:shop;create=true", "jdbc:derby:memory:shop"),
    ],
)
def test_a_jdbc_url_is_shown_by_kind_host_port_and_database(url, address):
    assert jdbc_address(url) == address


@pytest.mark.parametrize(
    "path",
    [
        "abfss://box@account.dfs.core.windows.net/data/orders?sv=2024&sig=s3cr3t",
        "wasbs://box@account.blob.core.windows.net/data/orders?sig=s3cr3t",
        "https://alice:s3cr3t@host/data/orders?token=s3cr3t",
        "s3a://AKIAALICE:s3/cr3t@bucket/data/orders",
    ],
)
def test_credentials_in_a_location_do_not_survive(path):
    named = naming.location(path)

    assert named.name.lstrip("/") == "data/orders"
    assert "s3cr3t" not in named.namespace.replace("/", "")
    assert "alice" not in named.namespace.lower()


def test_a_question_mark_in_a_file_name_is_no_parameter():
    assert naming.location("hdfs://nn:8020/data/what?.csv").name == "/data/what?.csv"
    assert naming.location("/data/a?b=c").name == "/data/a?b=c"


def test_a_kafka_cluster_is_named_by_one_of_its_servers_in_whatever_order_they_are_given():
    assert naming.kafka_namespace("one:9092,two:9092") == "kafka://one:9092"
    assert naming.kafka_namespace(" two:9092, SASL_SSL://ONE:9092,,") == "kafka://one:9092"
    assert naming.kafka_namespace(" PLAINTEXT://one:9092 ") == "kafka://one:9092"
    assert naming.kafka_namespace("SASL_SSL://alice:s3cr3t@one:9092") == "kafka://one:9092"


def test_a_metastore_is_named_by_its_first_server():
    assert naming.metastore_namespace("thrift://one:9084,thrift://two:9083") == "hive://one:9084"
    assert naming.metastore_namespace("thrift://one") == "hive://one:9083"
    assert naming.metastore_namespace("thrift://alice:s3cr3t@one:9084") == "hive://one:9084"
    assert naming.metastore_namespace("thrift://alice:s3/cr3t@one") == "hive://one:9083"


@pytest.mark.parametrize(
    ("warehouse", "namespace"),
    [
        ("file:/data/warehouse", "file:///data/warehouse"),
        ("file:///data/warehouse/", "file:///data/warehouse"),
        ("/data/warehouse", "file:///data/warehouse"),
        ("file:/", "file:///"),
        ("s3a://shop/warehouse", "s3://shop/warehouse"),
        ("hdfs://nn:8020/user/hive/warehouse", "hdfs://nn:8020/user/hive/warehouse"),
        ("s3a://AKIA:s3cr3t@shop/warehouse", "s3://shop/warehouse"),
    ],
)
def test_tables_without_a_metastore_are_in_the_namespace_of_their_warehouse(warehouse, namespace):
    assert naming.warehouse_namespace(warehouse) == namespace


@pytest.mark.parametrize(
    ("text", "snake"),
    [
        ("nightly", "nightly"),
        ("NightlyOrders", "nightly_orders"),
        ("my HTTPServer job", "my_http_server_job"),
        ("a--b  c", "a_b_c"),
        ("_x_", "x"),
        ("v2Load", "v2_load"),
    ],
)
def test_names_of_jobs_are_in_lower_case_with_underscores(text, snake):
    assert naming.snake_case(text) == snake


def test_a_file_that_spark_does_not_read_is_no_dataset_of_a_pattern() -> None:
    paths = ["/lake/sales/_SUCCESS", "/lake/sales/_part=1", "/lake/sales/day=1"]
    assert naming.roots(paths, "/lake/sales/*", set()) == ["/lake/sales", "/lake/sales/_part=1", "/lake/sales/day=1"]
    assert naming.roots(["/lake/_archive"], "/lake/_archive", set()) == ["/lake/_archive"]
