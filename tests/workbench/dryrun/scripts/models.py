"""Models of pyspark.ml."""

from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression, RandomForestClassifier
from pyspark.ml.clustering import KMeans
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import (
    OneHotEncoder,
    StandardScaler,
    StringIndexer,
    VectorAssembler,
    Tokenizer,
    HashingTF,
    IDF,
    Imputer,
    Bucketizer,
    SQLTransformer,
)
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
df = spark.createDataFrame(
    [(0, "a", 1.0, 2.0, "x y"), (1, "b", 2.0, 1.0, "z"), (0, "a", 3.0, 5.0, "x"), (1, "c", 0.5, 2.5, "y z")],
    "label int, cat string, f1 double, f2 double, words string",
)
df.write.parquet("out/train")
df = spark.read.parquet("out/train")
va = VectorAssembler(inputCols=["f1", "f2"], outputCol="features")
vec = va.transform(df)
vec.select("label", "features").write.parquet("out/vec")
sc = StandardScaler(inputCol="features", outputCol="scaled").fit(vec)
sc.transform(vec).select("scaled", "label").write.parquet("out/scaled")
pipe = Pipeline(
    stages=[
        StringIndexer(inputCol="cat", outputCol="ci"),
        OneHotEncoder(inputCols=["ci"], outputCols=["ohe"]),
        VectorAssembler(inputCols=["ohe", "f1"], outputCol="fv"),
        LogisticRegression(featuresCol="fv", labelCol="label", maxIter=2),
    ]
)
train, test = df.randomSplit([0.9, 0.1], seed=1)
model = pipe.fit(df)
pred = model.transform(df)
pred.select("label", "prediction", "probability", "cat").write.parquet("out/pred")
auc = BinaryClassificationEvaluator(labelCol="label").evaluate(pred)
print(auc)
if auc > 0.1:
    pred.filter("prediction = 1").write.parquet("out/positive")
KMeans(k=2, featuresCol="features").fit(vec).transform(vec).select(
    "f1", F.col("prediction").alias("cluster")
).write.parquet("out/km")
tok = Tokenizer(inputCol="words", outputCol="w").transform(df)
tf = HashingTF(inputCol="w", outputCol="tf", numFeatures=16).transform(tok)
IDF(inputCol="tf", outputCol="idf").fit(tf).transform(tf).select("words", "idf").write.parquet("out/idf")
Imputer(inputCols=["f1"], outputCols=["f1i"]).fit(df).transform(df).write.parquet("out/imp")
Bucketizer(splits=[0, 1, 10], inputCol="f1", outputCol="b").transform(df).write.parquet("out/buck")
SQLTransformer(statement="SELECT *, f1 + f2 AS s FROM __THIS__").transform(df).select("s").write.parquet("out/sqlt")
model.write().overwrite().save("out/model")
print(model.stages[-1].coefficients)
