"""Models of Spark ML: all that Spark writes of one is one dataset."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.commands.target import Write
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage, OutputColumn
from openlineage_pyspark.facets.plan_lineage import PlanLineage, WrittenDataset
from openlineage_pyspark.listener.runs.models import saved_model

REMARK = ("model", "the columns that the model was trained on are not known: Spark does not report them")


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
