"""Models of Spark ML: all that Spark writes of one is one dataset."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.commands.target import Write
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage, OutputColumn
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage, WrittenDataset
from openlineage_pyspark.listener.runs.models import LoadedModels, saved_model

REMARK = ("model", "the columns that the model was trained on are unknown: Spark does not report them")


@pytest.mark.parametrize(
    ("part", "model"),
    [
        ("/m/churn/metadata", "/m/churn"),
        ("/m/churn/data", "/m/churn"),
        ("/m/als/userFactors", "/m/als"),
        ("/m/pipe/stages/0_VectorAssembler_24f85c7ae4d5/metadata", "/m/pipe"),
        ("/m/pipe/stages/1_LinearRegression_9a351914615a/data", "/m/pipe"),
        ("/m/tuned/bestModel/stages/0_Tokenizer_f0/metadata", "/m/tuned"),
        ("/m/tuned/estimator/metadata", "/m/tuned"),
        ("/m/each/model_2/data", "/m/each"),
        ("/m/stages/metadata", "/m/stages"),
    ],
)
def test_each_part_of_a_model_is_the_model(part: str, model: str) -> None:
    dataset = Dataset(Identifier("s3://bucket", part), file_format="parquet", type="FILE")
    columns = ColumnLineage((OutputColumn("coefficients", ()),))
    write = Write(dataset, lifecycle="CREATE", label=dataset.identifier.path_label)
    (output,) = (found := saved_model(PlanLineage(outputs=(WrittenDataset(write, columns),)))).outputs
    assert output.write.dataset == Dataset(Identifier("s3://bucket", model), type="FILE")
    assert (output.write.label, output.write.lifecycle) == (Identifier("s3://bucket", model).path_label, "CREATE")
    assert output.lineage is None
    assert [(gap.task, gap.message) for gap in found.gaps] == [REMARK]


MODEL = "org.apache.spark.ml.classification.LogisticRegressionModel"
ABOVE = "org.apache.spark.ml.classification.ProbabilisticClassificationModel"
SCALER = "org.apache.spark.ml.feature.StandardScalerModel"
INPUT = Dataset(Identifier("s3://bucket", "/in"))


def read(path: str) -> PlanLineage:
    return PlanLineage(inputs=(Dataset(Identifier("s3://bucket", path), file_format="parquet", type="FILE"),))


def model(path: str) -> Dataset:
    return Dataset(Identifier("s3://bucket", path), type="FILE")


def test_what_is_read_of_a_model_that_is_loaded_is_the_model() -> None:
    assert LoadedModels().load(read("/m/pipe/stages/1_LogisticRegression_9a/data"), [MODEL]) == PlanLineage(
        inputs=(model("/m/pipe"),)
    )


def test_a_plan_that_calls_the_code_of_loaded_models_reads_each_of_them_once() -> None:
    loaded = LoadedModels()
    loaded.load(read("/m/pipe/stages/0_StandardScaler_24/data"), [SCALER])
    loaded.load(read("/m/pipe/stages/1_LogisticRegression_9a/metadata"), [MODEL, ABOVE])
    loaded.load(read("/m/other/data"), ["org.apache.spark.ml.clustering.KMeansModel"])

    applied = loaded.applied(PlanLineage(inputs=(INPUT,), models=frozenset([ABOVE, SCALER])))
    assert (applied.inputs, applied.gaps) == ((INPUT, model("/m/pipe")), ())


def test_a_plan_of_a_model_that_was_not_loaded_and_one_without_a_model_stay_as_they_are() -> None:
    loaded = LoadedModels()
    loaded.load(read("/m/single/data"), [SCALER])

    for plan in (PlanLineage(inputs=(INPUT,), models=frozenset([ABOVE])), PlanLineage(inputs=(INPUT,))):
        assert loaded.applied(plan) is plan


def test_of_several_loaded_models_of_one_class_each_is_read_and_the_event_says_that_one_made_the_rows() -> None:
    loaded = LoadedModels()
    loaded.load(read("/m/one/data"), [SCALER])
    loaded.load(read("/m/two/data"), [SCALER])

    applied = loaded.applied(PlanLineage(inputs=(INPUT,), models=frozenset([SCALER])))
    remark = "several models of this class were loaded, and it is unknown which of them made the rows: /m/one, /m/two"
    assert applied.inputs == (INPUT, model("/m/one"), model("/m/two"))
    assert [(gap.task, gap.message) for gap in applied.gaps] == [(SCALER, remark)]
