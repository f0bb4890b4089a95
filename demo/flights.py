"""Nightly job of a (fictional) airport analytics team: one year of departures from New York.

An ordinary PySpark script: it knows nothing of lineage.

Usage: spark-submit flights.py LANDING EXPORTS
    LANDING  directory with flights.parquet, weather.parquet, planes.csv, airports.csv, airlines.csv, pilots.csv and
             the folder notices
    EXPORTS  directory for the files that other teams pick up
"""

import sys
import time

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

STARTED = time.monotonic()
NEW_YORK = ["EWR", "JFK", "LGA"]


def log(message: str) -> None:
    """Print one line of progress with the seconds since the start."""
    print(f"[{time.monotonic() - STARTED:5.1f} s] {message}", flush=True)


def delay_band(minutes):
    """Name the band that operations use in their reports; None for a flight that never left."""
    if minutes is None:
        return None
    for limit, band in ((0, "early"), (15, "on time"), (60, "late"), (180, "very late")):
        if minutes <= limit:
            return band
    return "stranded"


def read_landing(spark: SparkSession, landing: str) -> None:
    """Register what was delivered overnight as raw_* views."""
    for table in ("flights", "weather"):
        spark.read.parquet(f"{landing}/{table}.parquet").createOrReplaceTempView(f"raw_{table}")
    for table in ("planes", "airports", "airlines", "pilots"):
        reference = spark.read.csv(f"{landing}/{table}.csv", header=True, inferSchema=True)
        reference.createOrReplaceTempView(f"raw_{table}")


def clean_flights(spark: SparkSession) -> DataFrame:
    """Bring one row per flight into shape: a date, a status, a delay band."""
    band = F.udf(delay_band, T.StringType())
    return (
        spark.table("raw_flights")
        .withColumn("flight_date", F.make_date("year", "month", "day"))
        .withColumn(
            "status",
            F.when(F.col("dep_time").isNull(), "cancelled")
            .when(F.col("arr_delay").isNull(), "diverted")
            .otherwise("flown"),
        )
        .withColumn("delay_band", band(F.col("dep_delay")))
        .select(
            "flight_date", "month", "hour", "time_hour", "carrier", "flight", "tailnum", "origin", "dest",
            "status", "dep_delay", "arr_delay", "delay_band", "air_time", "distance",
        )
    )  # fmt: skip


def enrich(spark: SparkSession, flights: DataFrame) -> DataFrame:
    """Add who flew, with what, where to and in which weather."""
    airlines = spark.table("raw_airlines").withColumnRenamed("name", "airline")
    planes = spark.table("raw_planes").select(
        "tailnum", F.col("year").cast("int").alias("built"), "manufacturer", "model", "seats"
    )
    destinations = spark.table("raw_airports").select(
        F.col("faa").alias("dest"), F.col("name").alias("destination"), "lat", "lon"
    )
    # The weather table has a few doubled hours when the clocks go back.
    weather = (
        spark.table("raw_weather")
        .dropDuplicates(["origin", "time_hour"])
        .select("origin", "time_hour", "temp", "wind_speed", "precip", "visib")
    )
    return (
        flights.join(airlines, "carrier")
        .join(planes, "tailnum", "left")
        .join(destinations, "dest", "left")
        .join(weather, ["origin", "time_hour"], "left")
        .withColumn("plane_age", F.year("flight_date") - F.col("built"))
        .withColumn("bad_weather", F.expr("visib < 3 OR wind_speed > 25 OR precip > 0.1"))
    )


def rotations(flights: DataFrame) -> DataFrame:
    """Follow each aircraft through its day: how much of a delay was there before it left New York?"""
    day = Window.partitionBy("tailnum", "flight_date").orderBy("time_hour")
    return (
        flights.where("status = 'flown' AND tailnum IS NOT NULL")
        .withColumn("leg", F.row_number().over(day))
        .withColumn("previous_delay", F.lag("arr_delay").over(day))
        .withColumn("knock_on", F.expr("least(greatest(previous_delay, 0), greatest(dep_delay, 0))"))
        .select("tailnum", "flight_date", "leg", "carrier", "dep_delay", "previous_delay", "knock_on")
    )


def write_tables(spark: SparkSession, flights: DataFrame) -> None:
    """Write the tables of the warehouse."""
    log("flights_enriched: joins with airlines, planes, airports and weather")
    enrich(spark, flights).write.mode("overwrite").saveAsTable("flights_enriched")

    log("aircraft_rotations: windows over each aircraft's day")
    rotations(flights).write.mode("overwrite").partitionBy("carrier").saveAsTable("aircraft_rotations")

    log("carrier_scorecard: CTAS with two CTEs and a rank")
    spark.sql("DROP TABLE IF EXISTS carrier_scorecard")
    spark.sql("""
        CREATE TABLE carrier_scorecard USING parquet AS
        WITH flown AS (
            SELECT carrier, airline, dep_delay, arr_delay, seats, distance
            FROM flights_enriched
            WHERE status = 'flown'
        ),
        totals AS (
            SELECT carrier, airline,
                   count(*)                                          AS flights,
                   avg(arr_delay)                                    AS mean_arrival_delay,
                   avg(CASE WHEN arr_delay <= 15 THEN 1 ELSE 0 END)  AS punctuality,
                   sum(seats * distance)                             AS seat_miles
            FROM flown
            GROUP BY carrier, airline
            HAVING count(*) > 100
        )
        SELECT *, rank() OVER (ORDER BY punctuality DESC) AS place
        FROM totals
    """)

    log("daily_operations: an INSERT per day and airport")
    spark.sql("DROP TABLE IF EXISTS daily_operations")
    spark.sql("""
        CREATE TABLE daily_operations
            (flight_date DATE, origin STRING, departures BIGINT, cancelled BIGINT,
             worst_delay DOUBLE, wet_hours BIGINT)
        USING parquet
    """)
    spark.sql("""
        INSERT INTO daily_operations
        SELECT f.flight_date, f.origin,
               count(*),
               count_if(f.status = 'cancelled'),
               max(f.dep_delay),
               first(w.wet_hours)
        FROM flights_enriched f
        LEFT JOIN (
            SELECT origin, to_date(time_hour) AS day, count_if(precip > 0) AS wet_hours
            FROM raw_weather
            GROUP BY origin, to_date(time_hour)
        ) w ON w.origin = f.origin AND w.day = f.flight_date
        GROUP BY f.flight_date, f.origin
    """)


def write_exports(flights: DataFrame, exports: str) -> None:
    """Write the files that other teams pick up."""
    log("delay_by_origin: a pivot, as files for the finance team")
    by_origin = flights.groupBy("month", "carrier").pivot("origin", NEW_YORK).agg(F.round(F.avg("dep_delay"), 1))
    by_origin.write.mode("overwrite").parquet(f"{exports}/delay_by_origin")

    log("delay_bands: first delivery")
    bands = flights.groupBy("origin", "delay_band").agg(F.count("*").alias("flights"))
    bands.write.mode("overwrite").parquet(f"{exports}/delay_bands")

    # A delivery that was made is not made again: the write below fails, and the job goes on.
    log("delay_bands: second delivery, refused since the path exists")
    try:
        bands.write.mode("errorifexists").parquet(f"{exports}/delay_bands")
    except AnalysisException as error:
        log(f"left unchanged: {str(error).partition('. ')[0]}")


def write_pilots(spark: SparkSession, exports: str) -> None:
    """Write how much pilots fly, for the analysts without their addresses and for the crew office with them."""
    log("pilot_hours: with hashed addresses; crew_roster: with plain ones")
    spark.sql("DROP TABLE IF EXISTS pilot_hours")
    spark.sql("""
        CREATE TABLE pilot_hours USING parquet AS
        SELECT sha2(p.email, 256) AS pilot_key, f.month, sum(f.air_time) / 60 AS hours
        FROM flights_enriched f JOIN raw_pilots p ON p.tailnum = f.tailnum
        GROUP BY p.email, f.month
    """)
    roster = spark.table("raw_pilots").select("tailnum", "pilot", F.lower("email").alias("address"))
    roster.write.mode("overwrite").parquet(f"{exports}/crew_roster")


def stream_alerts(spark: SparkSession, landing: str, exports: str) -> None:
    """Append the notices that were delivered since the last time, as a stream that ends when it has all of them."""
    log("alerts: a stream of files")
    schema = "origin STRING, time_hour STRING, visib DOUBLE, wind_speed DOUBLE"
    notices = spark.readStream.schema(schema).json(f"{landing}/notices")
    alerts = notices.select("origin", F.to_timestamp("time_hour").alias("hour"), F.expr("visib < 0.1").alias("fog"))
    stream = alerts.writeStream.format("parquet").trigger(availableNow=True)
    stream.option("checkpointLocation", f"{exports}/checkpoint").start(f"{exports}/alerts").awaitTermination()


def main() -> None:
    """Run the job once."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    landing, exports = sys.argv[1:]
    # All airports of this job keep New York time; the landed timestamps are UTC.
    builder = SparkSession.builder.appName("nyc_flights")
    spark = builder.config("spark.sql.session.timeZone", "America/New_York").getOrCreate()
    log(f"Spark {spark.version} is up")
    read_landing(spark, landing)

    # Five writes start from this frame, and its Python UDF is the most expensive part.
    flights = clean_flights(spark).cache()
    log(f"{flights.count():,} flights, cleaned and cached")

    write_tables(spark, flights)
    write_exports(flights, exports)
    write_pilots(spark, exports)
    stream_alerts(spark, landing, exports)
    spark.sql("""
        SELECT place, airline, flights, round(100 * punctuality, 1) AS `% on time`
        FROM carrier_scorecard ORDER BY place LIMIT 5
    """).show(truncate=False)
    spark.stop()
    log("done")


if __name__ == "__main__":
    main()
