# Apache Spark with the listener: for drivers on Kubernetes and elsewhere.
#
#     docker build -f .ci/image/spark.Dockerfile -t spark-lineage .      (after ./run dist)
#     spark-submit --master k8s://... --deploy-mode cluster --conf spark.kubernetes.container.image=spark-lineage \
#         --conf spark.openlineage.transport.type=http --conf spark.openlineage.transport.url=... local:///app.py
ARG SPARK=4.0.1-scala2.13-java17-python3-ubuntu
FROM apache/spark:${SPARK}
USER root
# Newer base images ask for the variable, because their Python is that of the system.
RUN --mount=type=bind,source=dist,target=/dist \
    PIP_BREAK_SYSTEM_PACKAGES=1 pip install --no-cache-dir /dist/openlineage_pyspark-*.whl
USER spark
