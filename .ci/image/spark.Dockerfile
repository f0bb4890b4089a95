# Apache Spark with the listener: for drivers on Kubernetes and elsewhere.
#
#     docker build -f .ci/image/spark.Dockerfile -t spark-lineage .      (after ./run dist)
#     spark-submit --master k8s://... --deploy-mode cluster --conf spark.kubernetes.container.image=spark-lineage \
#         --conf spark.openlineage.transport.type=http --conf spark.openlineage.transport.url=... local:///app.py
ARG SPARK=4.0.1-scala2.13-java17-python3-ubuntu
FROM apache/spark:${SPARK}
USER root
RUN --mount=type=bind,source=dist,target=/dist \
    pip install --no-cache-dir /dist/openlineage_pyspark-*.whl
USER spark
