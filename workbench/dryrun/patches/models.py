"""
Models of `pyspark.ml`: nothing is trained, but the columns that a model adds to a DataFrame are known.

Spark reports which columns an estimator adds (`transformSchema`). A stand-in for a fitted model makes each of them from
the columns that its parameters name. The values that a model has learned are unknown; each use is reported.
"""

from __future__ import annotations

import copy
import importlib
import json
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
from openlineage_pyspark.listener.probe.client import spark_errors
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn
from openlineage_pyspark.workbench.dryrun.script.places import MODEL, data_place, qualified
from openlineage_pyspark.workbench.dryrun.script.records import MODEL_FUNCTION, WriteRecord, loaded_function
from py4j.protocol import Py4JError
from pyspark.sql import functions as F  # noqa: N812 (Spark's custom)
from pyspark.sql.types import DoubleType, IntegerType, LongType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from openlineage_pyspark.workbench.dryrun.script.places import DataPlace
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

WithoutColumns: TypeAlias = "Callable[[Any, tuple[str, ...]], Any]"
"""Makes a DataFrame without known columns from another one and from places, as `DataPlace.to_text` writes them."""
MODELS = "pyspark.ml"
"""The module of models: it is patched after its import, which is slow, and which most scripts do without."""
_INPUT_PARAMS = ("userCol", "itemCol"), ("itemsCol",), ("featuresCol",), ("inputCols",), ("inputCol",)
_WORDS = ("labels", "vocabulary", "originalMax", "originalMin")
_FRAMES = frozenset({"associationRules", "freqItemsets", "gaussiansDF", "itemFactors", "userFactors"})
_METHODS_OF_FRAMES = frozenset(
    """approxNearestNeighbors approxSimilarityJoin describeTopics findSynonyms getVectors recommendForAllItems
    recommendForAllUsers recommendForItemSubset recommendForUserSubset""".split()
)
"""What a model learns that is a DataFrame."""
_SOME_MEASURE = 1.0


def _model(*_: Any) -> None:
    """Represent a model's function, which is never called."""


# Spark's own models have this name for the function.
_model.__name__ = MODEL_FUNCTION


class Fitted:
    """
    The attributes of a stand-in for a fitted model of any class.

    Args:
        stage: records each use of a learned value.
        maker: the estimator; None for a model that is read from a file.
        added: the columns that it adds; None if they are unknown.
        function: represents the function of the model.
        places: the folder from which it is loaded, as `DataPlace.to_text` writes it; none if it was not loaded.
    """

    def __init__(
        self,
        stage: Stage,
        maker: Any,
        added: Sequence[StructField] | None,
        function: Callable[..., None] = _model,
        places: tuple[str, ...] = (),
    ) -> None:
        self._stage = stage
        self._maker = maker
        self.added = added
        self._function = function
        self._places = places

    def transform(self, dataset: Any, unknown: WithoutColumns) -> Any:
        """Return a DataFrame with the columns that the model adds."""
        if Unknown.of(dataset) is not None or self.added is None:
            return unknown(dataset, self._places)
        if type(self._maker).__name__ == "ALS":
            # A real run reads a prediction from the rows that were learned of the user and of the item.
            message = (
                "a model of ALS joins what it has learned: its predictions are assumed to come from its input columns"
            )
            self._stage.problem("STAND_IN", message)
        known = dataset.columns
        for field in self.added:
            sources = [each for each in self._sources(field.name, known) if each in dataset.columns]
            dataset = dataset.withColumn(field.name, self._made(field, sources))
        return dataset

    def _made(self, field: StructField, sources: Sequence[str]) -> Any:
        """Return the column that a model makes from others."""
        columns = [F.col(f"`{each}`") for each in sources]
        if type(self._maker).__name__ == "Imputer" and columns:
            return F.when(columns[0].isNull(), F.lit(_SOME_MEASURE)).otherwise(columns[0]).cast(field.dataType)
        return F.udf(self._function, field.dataType)(*columns) if columns else F.lit(None).cast(field.dataType)

    def _sources(self, name: str, known: Sequence[str]) -> Sequence[str]:
        """Return the columns from which a column of the model is made."""
        outputs, inputs = self._given("outputCols"), self._given("inputCols")
        if outputs and inputs and name in outputs and len(outputs) == len(inputs):
            return [inputs[list(outputs).index(name)]]
        formula = self._given("formula")
        if formula:
            label, _, terms = str(formula).partition("~")
            if name == self._given("labelCol"):
                return [label.strip()]
            return [each for each in known if each != label.strip() and ("." in terms or each in terms)]
        for names in _INPUT_PARAMS:
            found = [self._given(each) for each in names]
            if all(found):
                return [column for each in found for column in ([each] if isinstance(each, str) else each)]
        return known

    def _given(self, param: str) -> Any:
        maker = self._maker
        return maker.getOrDefault(param) if maker.hasParam(param) and maker.isDefined(param) else None

    def learned(self, name: str) -> Any:
        """Return a stand-in for a value that a model has learned."""
        self._stage.problem("STAND_IN", f"what a model learns ({name}) is unknown: a dry run trains nothing")
        return [f"{{{name}}}"] if name in _WORDS else StandIn(name)


class _Summary(StandIn):
    """
    A stand-in for what a model reports about its training.

    Args:
        predict: returns its predictions for the rows on which it was trained.
    """

    def __init__(self, predict: Callable[[], Any]) -> None:
        super().__init__("summary")
        self.__dict__["_predict"] = predict

    @property
    def predictions(self) -> Any:
        """The rows on which the model was trained, with the columns that it adds."""
        return self.__dict__["_predict"]()


class _SavedModels:
    """
    The models that a script saves: it gets them back when it loads them from their folders.

    Args:
        stage: records the saved models, and the names of the functions of those that are loaded.
        make: makes a stand-in for a fitted model, with the arguments of `Fitted` after the first.
    """

    def __init__(self, stage: Stage, make: Callable[..., Any]) -> None:
        self._stage = stage
        self._make = make
        self._saved: dict[str, Any] = {}
        self._loaded = 0

    def save(self, model: Any, path: str) -> None:
        """Record that a model would be written to a folder."""
        place = self._place(path)
        self._saved[place.paths[0]] = model
        self._stage.record("write", **attrs.asdict(WriteRecord(self._stage.spot(), (), target=place.to_text())))

    def load(self, path: str) -> Any:
        """Return the model in a folder; if the script has not saved it, one about which only the folder is known."""
        place = self._place(path)
        if place.paths[0] not in self._saved:
            message = f"the model {path} is not read in a dry run: the columns that it adds are unknown"
            self._stage.problem("UNKNOWN_SCHEMA", message)
            return self._make(None, None, _model, (place.to_text(),))
        self._loaded += 1
        name = loaded_function(self._loaded)
        self._stage.record("model", name=name, place=place.to_text())

        def function(*_: Any) -> None:
            return None

        function.__name__ = name
        return self._from_folder(self._saved[place.paths[0]], function, (place.to_text(),))

    def _from_folder(self, model: Any, function: Callable[..., None], places: tuple[str, ...]) -> Any:
        """Return a model whose function shows that it comes from a folder."""
        fitted, best = vars(model).get("_fitted"), vars(model).get("bestModel")
        if isinstance(fitted, Fitted):
            copied = self._make(model._maker, fitted.added, function, places)
            copied._rows = vars(model).get("_rows")
            return copied
        stages = vars(model).get("stages")
        if not isinstance(stages, list) and best is None:
            # An object of the JVM has only one owner, and nothing in it was learned.
            return model
        copied = copy.copy(model)
        if isinstance(stages, list):
            copied.stages = [self._from_folder(each, function, places) for each in stages]
        if best is not None:
            copied.bestModel = self._from_folder(best, function, places)
        return copied

    def _place(self, path: str) -> DataPlace:
        return data_place(MODEL, {}, (qualified(str(path), self._stage.request.folder),), "")


class _Writer:
    """Records that a model would be written."""

    def __init__(self, saved: _SavedModels, model: Any) -> None:
        self._saved = saved
        self._model = model

    def save(self, path: str) -> None:
        """Record that a model would be saved to a path."""
        self._saved.save(self._model, path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: self


def install_models(stage: Stage, unknown: WithoutColumns) -> None:
    """
    Keep estimators from training, for the rest of the process.

    Args:
        stage: records the omitted actions.
        unknown: makes a DataFrame without known columns from another one and from places.
    """
    base, wrapper, util = (importlib.import_module(f"{MODELS}.{each}") for each in ("base", "wrapper", "util"))
    make = _class_of_fitted(base.Model, stage, unknown)
    real = wrapper.JavaTransformer._transform

    def fit(estimator: Any, dataset: Any) -> Any:
        is_unknown = Unknown.of(dataset) is not None
        made = make(estimator, None if is_unknown else _added(estimator, dataset))
        made._rows = dataset
        return made

    def transform(transformer: Any, dataset: Any) -> Any:
        if Unknown.of(dataset) is not None:
            return unknown(dataset, ())
        try:
            return real(transformer, dataset)
        except (Py4JError, *spark_errors()):
            # The transformer reads from the first row what the schema does not state, such as the lengths of vectors.
            return Fitted(stage, transformer, _added(transformer, dataset)).transform(dataset, unknown)

    wrapper.JavaEstimator._fit, wrapper.JavaTransformer._transform = fit, transform
    _install_params(importlib.import_module(f"{MODELS}.param").Params)
    _install_files(base.Model, util, _SavedModels(stage, make))
    _install_searches(make)
    _install_measures(stage)
    _install_algorithms(unknown)


def _install_params(params: Any) -> None:
    """Leave out each parameter that gets a stand-in, such as a threshold that data show, unless it names columns."""
    put = params._set

    def without_stand_ins(self: Any, **given: Any) -> Any:
        is_left_out = {name: isinstance(value, StandIn) and "Col" not in name for name, value in given.items()}
        return put(self, **{name: value for name, value in given.items() if not is_left_out[name]})

    params._set = without_stand_ins


def _install_files(model: Any, util: Any, saved: _SavedModels) -> None:
    """Make all models return the writer and the reader of saved models."""

    def write(self: Any) -> Any:
        return _Writer(saved, self)

    def read(_: type) -> Any:
        return _Reader(saved)

    model.write = write
    each: Any
    for each in _all_below(util.MLWritable):
        if "write" in vars(each):
            each.write = write
    for each in _all_below(util.MLReadable):
        if "read" in vars(each):
            each.read = classmethod(read)


class _Reader:
    """A reader of models: it returns those that the script has saved."""

    def __init__(self, saved: _SavedModels) -> None:
        self._saved = saved

    def load(self, path: str) -> Any:
        """Return the model in a folder."""
        return self._saved.load(path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: self


def _all_below(base: type) -> Iterable[Any]:
    """Yield a class and all of its subclasses."""
    yield base
    below: list[type] = base.__subclasses__()
    for each in below:
        yield from _all_below(each)


def _added(maker: Any, dataset: Any) -> list[StructField]:
    """Return the columns that an estimator's model, or a transformer, adds to those of a DataFrame."""
    maker._transfer_params_to_java()
    after = maker._java_obj.transformSchema(dataset._jdf.schema())
    fields = StructType.fromJson(json.loads(str(after.json()))).fields
    known = set(dataset.columns)
    return [each for each in fields if each.name not in known]


def _class_of_fitted(model: Any, stage: Stage, unknown: WithoutColumns) -> Callable[..., Any]:
    """Return a function that makes stand-ins for fitted models."""

    class FittedModel(model):  # type: ignore[misc]
        """A stand-in for a fitted model."""

        def __init__(self, maker: Any, added: Sequence[StructField] | None, *loaded: Any) -> None:
            super().__init__()
            self._fitted, self._maker = Fitted(stage, maker, added, *loaded), maker

        def _transform(self, dataset: Any) -> Any:
            return self._fitted.transform(dataset, unknown)

        def copy(self, _extra: Any = None) -> Any:
            """Return this model."""
            return self

        def save(self, path: str) -> None:
            """Record that it would be written."""
            self.write().save(path)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            maker = vars(self).get("_maker")
            if name[:3] == "set":
                return lambda *_: self
            if maker is not None and (name[:3] == "get" or maker.hasParam(name)) and hasattr(maker, name):
                return getattr(maker, name)
            return _learned(self, name, unknown)

    return FittedModel


def _learned(model: Any, name: str, unknown: WithoutColumns) -> Any:
    """Return what a model has learned: a stand-in, or a DataFrame that comes from the rows of its training."""
    found, rows = vars(model)["_fitted"].learned(name), vars(model).get("_rows")
    if rows is None:
        return found
    if name == "summary":
        return _Summary(lambda: model.transform(rows))
    if name in _FRAMES:
        return unknown(rows, ())
    return (lambda *_, **__: unknown(rows, ())) if name in _METHODS_OF_FRAMES else found


def _install_searches(make: Callable[..., Any]) -> None:
    """Make searches for the best parameters return the model of their estimator, without comparing any."""
    tuning = importlib.import_module(f"{MODELS}.tuning")
    classification = importlib.import_module(f"{MODELS}.classification")

    def search(of: Any) -> Callable[[Any, Any], Any]:
        def fit(self: Any, dataset: Any) -> Any:
            best = self.getEstimator().fit(dataset)
            return of(best, [_SOME_MEASURE for _ in self.getEstimatorParamMaps()])

        return fit

    def one_of_many(self: Any, _: Any) -> Any:
        return make(self, [StructField(self.getPredictionCol(), DoubleType())])

    tuning.CrossValidator._fit = search(tuning.CrossValidatorModel)
    tuning.TrainValidationSplit._fit = search(tuning.TrainValidationSplitModel)
    classification.OneVsRest._fit = one_of_many


def _install_algorithms(unknown: WithoutColumns) -> None:
    """Make algorithms that have no model return the columns that they make, from the columns that they read."""
    clustering, fpm = (importlib.import_module(f"{MODELS}.{each}") for each in ("clustering", "fpm"))

    def result(columns_of: Callable[[Any, Any], tuple[Sequence[str], Sequence[StructField]]]) -> Callable[..., Any]:
        def run(algorithm: Any, dataset: Any) -> Any:
            if Unknown.of(dataset) is not None:
                return unknown(dataset, ())
            sources, fields = columns_of(algorithm, dataset)
            columns = [F.col(f"`{each}`") for each in sources]
            return dataset.select(*(F.udf(_model, each.dataType)(*columns).alias(each.name) for each in fields))

        return run

    def assigned(algorithm: Any, _: Any) -> tuple[Sequence[str], Sequence[StructField]]:
        weights = [algorithm.getWeightCol()] if algorithm.isDefined("weightCol") else []
        fields = (StructField("id", LongType()), StructField("cluster", IntegerType()))
        return [algorithm.getSrcCol(), algorithm.getDstCol(), *weights], fields

    def found(algorithm: Any, dataset: Any) -> tuple[Sequence[str], Sequence[StructField]]:
        name = algorithm.getSequenceCol()
        return [name], (StructField("sequence", dataset.schema[name].dataType), StructField("freq", LongType()))

    clustering.PowerIterationClustering.assignClusters = result(assigned)
    fpm.PrefixSpan.findFrequentSequentialPatterns = result(found)


def _install_measures(stage: Stage) -> None:
    """Replace the measures of models and of columns by stand-ins."""
    evaluation, stat = (importlib.import_module(f"{MODELS}.{each}") for each in ("evaluation", "stat"))

    def evaluate(*_: Any) -> float:
        message = f"evaluate() returns {_SOME_MEASURE} in a dry run: what is made from it is unknown"
        stage.problem("STAND_IN", message)
        return _SOME_MEASURE

    def test(name: str) -> Any:
        def tested(*_: Any, **__: Any) -> Any:
            stage.problem("STAND_IN", f"{name} needs rows: its result is unknown in a dry run")
            return StandIn(name)

        return staticmethod(tested)

    evaluation.JavaEvaluator._evaluate = evaluate
    for name, method in (("Correlation", "corr"), ("ChiSquareTest", "test"), ("KolmogorovSmirnovTest", "test"),
                         ("ANOVATest", "test"), ("FValueTest", "test")):  # fmt: skip
        if hasattr(stat, name):
            setattr(getattr(stat, name), method, test(f"{name}.{method}"))
