"""
The uses of an expression: its attributes and subqueries, each with a kind.

Rules are registered by the simple name of a Catalyst class; any other class has a full name, and so never gets a rule.
Without a rule, an expression transforms everything that it reads. This is right for nearly every function; the rules
cover the exceptions.

The fields of structs are followed one by one: through structs that a plan builds, casts or chooses between, and through
the variables of lambda functions, each of which is an element of an array.
"""

from __future__ import annotations

import enum
import functools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, cast

from openlineage_pyspark.facets.model.lineage import Certainty, UseKind, compose
from openlineage_pyspark.facets.model.plan import (
    AttributeRef,
    Described,
    Expression,
    ExpressionRef,
    OperatorRef,
    Plan,
    Value,
    common_id,
    references,
)
from openlineage_pyspark.facets.model.variables import VARIABLE_READINGS, VARIABLE_USE

FieldPath = tuple[str, ...]

STRUCT_READINGS = {
    "org.apache.spark.sql.catalyst.expressions.ArraysZip": {"structType": "dataType"},
    "org.apache.spark.sql.catalyst.expressions.Inline": {"structType": "elementSchema"},
    "org.apache.spark.sql.catalyst.expressions.CreateNamedStruct": {"structType": "dataType"},
    # Expanding a struct with `.*` gives no name, so the field's own name is read.
    "org.apache.spark.sql.catalyst.expressions.GetStructField": {"field": "extractFieldName"},
    "org.apache.spark.sql.types.StructField": {"name": "name"},
}
"""Class -> what the probe reads from its values to follow paths into structs."""

HOLDING = {
    **dict.fromkeys(("Explode", "PosExplode", "Inline"), ("child",)),
    **dict.fromkeys(("Reverse", "ArrayDistinct", "Flatten", "GetArrayItem", "ArrayMax", "ArrayMin"), ("child",)),
    **dict.fromkeys(("First", "Last", "AnyValue", "CollectList", "CollectSet", "Max", "Min"), ("child",)),
    **dict.fromkeys(("MaxBy", "MinBy", "MaxMinByK"), ("valueExpr",)),
    **dict.fromkeys(("Lag", "Lead"), ("input", "default")),
    **dict.fromkeys(("CreateArray", "Concat"), ("children",)),
    **dict.fromkeys(("ArraySort", "ArrayFilter"), ("argument",)),
    **dict.fromkeys(("ArrayTransform", "ZipWith"), ("function",)),
    "AggregateExpression": ("aggregateFunction",),
    "WindowExpression": ("windowFunction",),
    "NthValue": ("input",),
    "SortArray": ("base",),
    "Slice": ("x",),
    "ElementAt": ("left",),
}
"""Expression class -> the arguments whose structs it returns, alone or in an array, or takes out of an array."""


UPDATING = "UpdateFields"
"""The expression class of `withField` and `dropFields`."""

ACCESSING = frozenset(("GetStructField", "GetArrayStructFields"))
"""The expression classes that take a field from a struct, or from each struct in an array."""


def field_names(expression: Expression) -> tuple[str, ...]:
    """Return the names of the fields of the structs that an expression takes apart or builds; none if not known."""
    return tuple(name for name, _ in _fields(expression.arguments.get("structType")))


def accessed(expression: Expression) -> str | None:
    """Return the field that an expression takes from a struct, or from each struct in an array; None for all others."""
    if expression.name not in ACCESSING:
        return None
    field = expression.arguments.get("field")
    if expression.name == "GetStructField":
        return field if isinstance(field, str) else None
    return field.text("name") if isinstance(field, Described) else None


def held(expression: Expression) -> frozenset[Value]:
    """Return the arguments whose structs, or arrays of structs, an expression passes on with their fields."""
    names = HOLDING.get(expression.name, ())
    return frozenset(references(expression.arguments.get(name) for name in names))


def selected(plan: Plan, expression: Expression, path: FieldPath) -> tuple[tuple[Value, UseKind, FieldPath], ...]:
    """
    Return the values that may become a field of the struct that an expression builds, changes or casts.

    Args:
        plan: the plan.
        expression: a CreateNamedStruct, an ArraysZip, an UpdateFields or a cast.
        path: the name of the field, then of the fields below it.

    Returns:
        Each value with its kind and the rest of the path; empty for any other expression.
    """
    if expression.name == "CreateNamedStruct":
        chosen = _struct_field(expression, path[0])
        return ((chosen, UseKind.IDENTITY, path[1:]),) if chosen is not None else ()
    if expression.name == "ArraysZip":
        chosen = _zipped_field(expression, path[0])
        return ((chosen, UseKind.TRANSFORMATION, path[1:]),) if chosen is not None else ()
    if expression.name == UPDATING:
        return tuple((value, UseKind.IDENTITY, rest) for value, rest in _updated_field(plan, expression, path))
    if expression.name in ("Cast", "AnsiCast"):
        child = expression.arguments.get("child")
        before, same = _by_position(_fields(expression.arguments.get("dataType")), _type_of(plan, child), path)
        return ((child, UseKind.IDENTITY if same else UseKind.TRANSFORMATION, before),) if before else ()
    return ()


def path_in_branch(plan: Plan, above: int, below: int, path: FieldPath) -> FieldPath:
    """Return the path of a field in a branch of a union, which matches the fields of structs by position."""
    if not path or above not in plan.attributes or below not in plan.attributes:
        return path
    return _by_position(_fields(plan.attributes[above].type), _fields(plan.attributes[below].type), path)[0] or path


def _by_position(above: _Fields, below: _Fields, path: FieldPath) -> tuple[FieldPath, bool]:
    """
    Return the path with the same positions in another type, whose fields may have other names.

    Args:
        above: the fields of the type in which the path is given.
        below: the fields of the other type.
        path: the names of the fields.

    Returns:
        The path, as far as both types have fields at its positions, and whether it ends at the same type in both.
    """
    found: list[str] = []
    same = False
    for name in path:
        place = next((at for at, (own, _) in enumerate(above) if own == name.casefold()), len(below))
        if place >= len(below):
            return tuple(found), False
        other, type_ = below[place]
        found.append(other)
        same = type_ == above[place][1]
        above, below = _fields_in(above[place][1]), _fields_in(type_)
    return tuple(found), same


def stored_field(plan: Plan, id_: int, path: FieldPath) -> FieldPath:
    """
    Return the path to a field of a stored column, in the spelling of the column's type.

    Args:
        plan: the plan.
        id_: the exprId of the column.
        path: the names of struct fields, outermost first, including those of structs in arrays.

    Returns:
        The names, as far as the type of the column has them: they end at a map, and where two fields share a name.
    """
    known = plan.attributes.get(id_) if path else None
    stored = _stored_fields(known.type) if known is not None and known.type.startswith("{") else {}
    at: FieldPath = ()
    for name in path:
        # Fields whose names differ only in their case are found by their own spelling.
        found = next((each for each in ((*at, name), (*at, name.casefold())) if each in stored), None)
        if found is None:
            break
        at = found
    return stored.get(at, ())


# A struct with a thousand fields would otherwise be walked through once per field.
@functools.lru_cache(maxsize=64)
def _stored_fields(type_: str) -> Mapping[FieldPath, FieldPath]:
    """Return the paths of all fields of a type: in lower case, unless two share a name -> in their own spelling."""
    found: dict[FieldPath, FieldPath] = {}
    pending: list[tuple[FieldPath, FieldPath, Any]] = [((), (), json.loads(type_))]
    while pending:
        key, path, at = pending.pop()
        fields = _struct_in(at)
        counts = Counter(field["name"].casefold() for field in fields)
        for field in fields:
            name = field["name"]
            own = (*key, name if counts[name.casefold()] > 1 else name.casefold())
            found[own] = (*path, name)
            pending.append((own, found[own], field["type"]))
    return found


def known_type(plan: Plan, value: Value) -> Value:
    """Return the type of an attribute or an expression, or of the struct that it builds; None if it is unknown."""
    if isinstance(value, AttributeRef):
        known = plan.attributes.get(value.id)
        return known.type if known is not None else None
    expression = plan.expressions[value.index] if isinstance(value, ExpressionRef) else None
    return expression.type or expression.arguments.get("structType") if expression is not None else None


_Fields = tuple[tuple[str, Any], ...]
"""The names of the fields of a struct in lower case, each with its type."""


def _type_of(plan: Plan, value: Value) -> _Fields:
    """Return the fields of a struct that is stored, built, changed or part of another; none if they are unknown."""
    passed: list[Expression] = []
    while (expression := next(plan.expressions_of((value,)), None)) is not None:
        if known_type(plan, value) is not None or expression.name not in ("GetStructField", UPDATING):
            break
        passed.append(expression)
        value = expression.arguments.get("structExpr" if expression.name == UPDATING else "child")
    fields = _fields(known_type(plan, value))
    for expression in reversed(passed):
        if expression.name == UPDATING:
            fields = _changed_fields(plan, expression, fields) if fields else ()
        else:
            taken = (accessed(expression) or "").casefold()
            fields = _fields_in(next((type_ for own, type_ in fields if own == taken), None))
    return fields


def _changed_fields(plan: Plan, expression: Expression, before: _Fields) -> _Fields:
    """Return the fields of a struct after `withField` and `dropFields`; a field that is set has no known type."""
    changes = plan.expressions_of(expression.sequence("fieldOps"))
    last = {str(change.arguments.get("name")).casefold(): change.arguments.get("valExpr") for change in changes}
    names = [name for name, _ in before]
    kept = [(name, type_ if name not in last else None) for name, type_ in before if last.get(name, name) is not None]
    return (*kept, *((name, None) for name, value in last.items() if value is not None and name not in names))


def _fields(type_: Value) -> _Fields:
    """Return the names and types of the fields of a struct, or of the structs in an array; none for any other type."""
    return _parsed(type_) if isinstance(type_, str) and type_.startswith("{") else ()


# A struct with a thousand fields would otherwise be parsed once per field.
@functools.lru_cache(maxsize=64)
def _parsed(type_: str) -> _Fields:
    return _fields_in(json.loads(type_))


def _fields_in(parsed: Any) -> _Fields:
    return tuple((str(field["name"]).casefold(), field["type"]) for field in _struct_in(parsed))


def _struct_in(parsed: Any) -> list[dict[str, Any]]:
    """Return the fields of a struct, or of the structs in an array, from a parsed type; none for any other."""
    while isinstance(parsed, dict) and parsed.get("type") == "array":
        parsed = parsed["elementType"]
    is_struct = isinstance(parsed, dict) and parsed.get("type") == "struct"
    return parsed["fields"] if is_struct else []


def _struct_field(expression: Expression, field: str) -> Value:
    """Return the value of a field in a CreateNamedStruct; None if it has no such field."""
    type_, children = expression.arguments.get("structType"), expression.arguments.get("children")
    if not isinstance(type_, str) or not isinstance(children, tuple):
        return None
    names = [name for name, _ in _fields(type_)]
    return children[2 * names.index(field.casefold()) + 1] if field.casefold() in names else None


def _zipped_field(expression: Expression, field: str) -> Value:
    """Return the array whose elements become a field in arrays_zip; None if there is no such field."""
    children = expression.sequence("children")
    names = [name for name, _ in _fields(expression.arguments.get("structType"))]
    at = names.index(field.casefold()) if field.casefold() in names else len(children)
    return children[at] if at < len(children) else None


def _updated_field(plan: Plan, expression: Expression, path: FieldPath) -> Iterator[tuple[Value, FieldPath]]:
    """
    Yield the value of a field after `withField` and `dropFields` (UpdateFields).

    Args:
        plan: the plan.
        expression: the UpdateFields.
        path: the name of the field, then of the fields below it.

    Yields:
        The value that the field was last set to, or else the original struct; with the rest of the path.
    """
    for change in plan.expressions_of(expression.sequence("fieldOps")[::-1]):
        if str(change.arguments.get("name")).lower() == path[0].lower():
            yield change.arguments.get("valExpr"), path[1:]
            return
    yield expression.arguments.get("structExpr"), path


def kept_and_set(plan: Plan, expression: Expression) -> Iterator[tuple[Value, FieldPath]]:
    """
    Yield the parts of the struct that `withField` and `dropFields` (UpdateFields) return.

    Yields:
        The remaining fields of the original struct, or all of it if its fields are unknown; then the values of those
        that are set. A field that a later change sets or drops again is left out.
    """
    struct, last = expression.arguments.get("structExpr"), dict[str, Value]()
    for change in plan.expressions_of(expression.sequence("fieldOps")):
        last[str(change.arguments.get("name")).casefold()] = change.arguments.get("valExpr")
    names = _names_in(plan, struct)
    if names:
        yield from ((struct, (name,)) for name in names if name not in last)
    else:
        yield struct, ()
    yield from ((value, ()) for value in last.values() if value is not None)


def _names_in(plan: Plan, struct: Value) -> tuple[str, ...]:
    """Return the names of a struct's fields, in lower case; none if they are unknown."""
    names = tuple(name for name, _ in _type_of(plan, struct))
    # If two fields have the same name, a path can't distinguish them.
    return names if len(set(names)) == len(names) else ()


LAMBDA = "LambdaFunction"
"""The expression class of a lambda function."""

VARIABLE = "NamedLambdaVariable"
"""The expression class of a variable of a lambda function."""

_ELEMENTS = {
    **dict.fromkeys(("ArrayExists", "ArrayFilter", "ArrayForAll", "ArrayTransform"), ("function", ("argument",))),
    "ArrayAggregate": ("merge", ("", "argument")),
    "ArraySort": ("function", ("argument", "argument")),
    "ZipWith": ("function", ("left", "right")),
}
"""Expression class -> the argument with its lambda function; then the argument with each variable's array, if any."""

BINDING = frozenset(_ELEMENTS)
"""The expression classes whose lambda functions have variables for the elements of arrays."""

_PASSING = frozenset(("ArrayFilter", "ArraySort"))
"""Expressions that return the elements themselves, not what the function computes from them."""


class Binding(NamedTuple):
    """
    A variable of a lambda function.

    Args:
        id: its exprId.
        argument: the name of the argument with the array.
        array: the array that it is an element of.
    """

    id: int | None
    argument: str
    array: Value


def bindings(plan: Plan, expression: Expression) -> tuple[Binding, ...]:
    """Return the variables of an expression's lambda function that are elements of its arrays."""
    if expression.name not in _ELEMENTS:
        return ()
    name, arrays = _ELEMENTS[expression.name]
    function = next(plan.expressions_of((expression.arguments.get(name),)), None)
    if function is None or function.name != LAMBDA:
        return ()
    variables = plan.expressions_of(function.sequence("arguments"))
    return tuple(
        Binding(variable.id, argument, expression.arguments.get(argument))
        for variable, argument in zip(variables, arrays, strict=False)
        if argument and variable.name == VARIABLE
    )


class Elements:
    """The arrays whose elements are the variables of lambda functions, collected while one value is walked."""

    def __init__(self) -> None:
        self._arrays: dict[int | None, Value] = {}
        self._read: set[int | None] = set()
        self._called: list[tuple[tuple[Binding, ...], UseKind, Certainty]] = []

    def bind(self, plan: Plan, expression: Expression, kind: UseKind, path: FieldPath, certainty: Certainty) -> None:
        """
        Record the arrays of the variables of an expression's lambda function.

        Args:
            plan: the plan.
            expression: any expression.
            kind: how it uses its arguments.
            path: the names of struct fields, if only that field of its value is wanted.
            certainty: the certainty of its arguments.
        """
        if expression.name not in BINDING:
            return
        passing = expression.name in _PASSING
        # Then the whole elements are read, which includes all that the function reads of them.
        if passing and not path:
            return
        variables = bindings(plan, expression)
        self._arrays.update((variable.id, variable.array) for variable in variables)
        if not passing:
            self._called.append((variables, kind, certainty))

    def array_of(self, variable: Expression) -> Value:
        """Return the array of which a variable is an element, and record that it is read; None if it is unknown."""
        self._read.add(variable.id)
        return self._arrays.get(variable.id)

    def unread(self) -> list[tuple[Value, UseKind, FieldPath, Certainty]]:
        """Return the arrays of functions that read no element: the arrays still decide how often they are called."""
        if not self._called:
            return []
        called, self._called = self._called, []
        return [
            (variable.array, kind, (), certainty)
            for variables, kind, certainty in called
            if self._read.isdisjoint(each.id for each in variables)
            for variable in variables
        ]


class UseTarget(str, enum.Enum):
    """The target of a use."""

    COLUMN = "an attribute in the output of the operator's children"
    OUTER = "an attribute of the query around the subquery"
    RESULT = "an attribute in the output of a subquery"
    ROWS = "everything that influences the rows of a subquery"


class ExpressionUse(NamedTuple):
    """
    One use by an expression: of an attribute, of the rows of a subquery, or of its result.

    Args:
        reach: the kind of its target.
        kind: how it is used.
        id: the exprId of the attribute; 0 for ROWS.
        operator: the index of the subquery's top operator, for RESULT and ROWS.
        path: the names of struct fields, outermost first, if only that field of the attribute is read.
        certainty: OPAQUE if it is an argument of code that can't be read.
    """

    reach: UseTarget
    kind: UseKind
    id: int = 0
    operator: int = -1
    path: tuple[str, ...] = ()
    certainty: Certainty = Certainty.EXACT


# A plan has hundreds of these; a named tuple that is created this way takes half the time.
_use = cast(
    "Callable[[tuple[UseTarget, UseKind, int, int, tuple[str, ...], Certainty]], ExpressionUse]",
    functools.partial(tuple.__new__, ExpressionUse),
)
Influence = tuple[Value, UseKind]
ExpressionRule = Callable[[Plan, Expression], "list[Influence]"]

READINGS = {
    "org.apache.spark.sql.catalyst.expressions.CommonExpressionId": {"id": "id"},
    **STRUCT_READINGS,
    **VARIABLE_READINGS,
}
"""Class -> what the probe reads from its values."""

UNREAD = {
    "PythonUDF": ("func", "dataType"),
    "PythonUDAF": ("func", "dataType"),
    "PythonUDTF": ("func",),
    "ScalaUDF": ("function", "dataType"),
    "UserDefinedGenerator": ("function",),
    "ExternalUserDefinedFunction": ("payload", "dataType"),
}
"""
Simple name of an expression -> the arguments that the probe leaves out, because they are closures.

For the code of a Spark ML model, the probe sends the name of the class around it.
"""

MASKING = frozenset(
    [
        "Crc32",
        "HiveHash",
        "Md5",
        "Murmur3Hash",
        "CollationAwareMurmur3Hash",
        "Sha1",
        "Sha2",
        "XxHash64",
        "CollationAwareXxHash64",
        "Count",
        "CountIf",
        "Mask",
        "HyperLogLogPlusPlus",
        "RegrCount",
    ]
)
"""Functions whose argument can't be recovered from their value."""


class OpaqueCode(enum.Enum):
    """
    A kind of code that can't be read: its result may depend on all of its inputs.

    The values are the names under which the application's metrics count it.
    """

    PYTHON_FUNCTION = "pythonFunctions"
    PYTHON_ROWS = "pythonRows"
    JVM_FUNCTION = "jvmFunctions"
    HIVE_FUNCTION = "hiveFunctions"
    CATALOG_FUNCTION = "catalogFunctions"
    TYPED_OPERATION = "typedOperations"
    SCRIPT = "scripts"
    RDD = "rdds"
    SOURCE = "sources"
    OPERATOR = "operators"


OPAQUE = {
    "PythonUDF": OpaqueCode.PYTHON_FUNCTION,
    "PythonUDAF": OpaqueCode.PYTHON_FUNCTION,
    "PythonUDTF": OpaqueCode.PYTHON_FUNCTION,
    "ExternalUserDefinedFunction": OpaqueCode.PYTHON_FUNCTION,
    "ScalaUDF": OpaqueCode.JVM_FUNCTION,
    "UserDefinedGenerator": OpaqueCode.JVM_FUNCTION,
    "CallMethodViaReflection": OpaqueCode.JVM_FUNCTION,
    "TryReflect": OpaqueCode.JVM_FUNCTION,
    "ApplyFunctionExpression": OpaqueCode.CATALOG_FUNCTION,
    "V2Aggregator": OpaqueCode.CATALOG_FUNCTION,
}
"""Calls of code that can't be read. All classes outside of Catalyst, such as Hive's functions, count as such too."""

READABLE_CLASSES = frozenset(
    [
        "org.apache.spark.ml.stat.SummaryBuilderImpl$MetricsAggregate",
        "org.apache.spark.sql.avro.AvroDataToCatalyst",
        "org.apache.spark.sql.avro.CatalystDataToAvro",
        "org.apache.spark.sql.avro.SchemaOfAvro",
        "org.apache.spark.sql.execution.stat.CollectFrequentItems",
        "org.apache.spark.sql.protobuf.CatalystDataToProtobuf",
        "org.apache.spark.sql.protobuf.ProtobufDataToCatalyst",
    ]
)
"""Spark's own functions outside of Catalyst, whose behaviour is known."""

_CALLING_METHODS = ("Invoke", "StaticInvoke")
_MAGIC = "invoke"
"""The method of a catalog's function that Spark calls directly (ScalarFunction.MAGIC_METHOD_NAME)."""


def called_code(expression: Expression) -> OpaqueCode | None:
    """Return the kind of unreadable code that an expression calls; None if it calls none."""
    name = expression.name
    if name in _CALLING_METHODS:
        # Spark calls methods of its own too, but none of that name.
        return OpaqueCode.CATALOG_FUNCTION if expression.arguments.get("functionName") == _MAGIC else None
    return _code_of_class(name)


def called_codes(plan: Plan) -> Counter[OpaqueCode]:
    """Return how often the expressions of a plan call each kind of unreadable code."""
    found: Counter[OpaqueCode] = Counter()
    # A plan has far more expressions than it has classes of expressions.
    for name, count in Counter([expression.name for expression in plan.expressions]).items():
        if name in _CALLING_METHODS:
            found.update(filter(None, [called_code(each) for each in plan.expressions if each.name == name]))
        elif (code := _code_of_class(name)) is not None:
            found[code] += count
    return found


def called_models(plan: Plan) -> frozenset[str]:
    """Return the classes of the Spark ML models whose code the expressions of a plan call."""
    found = (each.arguments.get("function") for each in plan.expressions if each.name == "ScalaUDF")
    return frozenset(each for each in found if isinstance(each, str))


@functools.lru_cache(maxsize=1024)
def _code_of_class(name: str) -> OpaqueCode | None:
    if name in OPAQUE or "." not in name or name in READABLE_CLASSES:
        return OPAQUE.get(name)
    return OpaqueCode.HIVE_FUNCTION if name.startswith("org.apache.spark.sql.hive.") else OpaqueCode.JVM_FUNCTION


UNCHANGED = frozenset(
    [
        "Alias",
        "KnownNotNull",
        "KnownNullable",
        "KnownFloatingPointNormalized",
        "AssertNotNull",
        "TempResolvedColumn",
        "CheckOverflowInTableInsert",
        "NormalizeNaNAndZero",
        "ToPrettyString",
        "OuterReference",
        "CommonExpressionDef",
        "NamedArgumentExpression",
    ]
)
"""Expressions that return the value of their only argument."""


def uses(plan: Plan, value: Value, kind: UseKind = UseKind.IDENTITY, path: FieldPath = ()) -> tuple[ExpressionUse, ...]:
    """
    Return everything that an argument of an operator reads.

    Args:
        plan: the plan of the operator.
        value: the argument: an expression, an attribute, or a sequence of them.
        kind: how the operator uses it.
        path: the names of struct fields, outermost first, to get the uses of only that field.

    Returns:
        Each use once, in the order of the text. The walk is iterative, and linear in the size of the expression.
    """
    if isinstance(value, AttributeRef):
        return (_use((UseTarget.COLUMN, kind, value.id, -1, path, Certainty.EXACT)),)
    found: dict[ExpressionUse, None] = {}
    seen: set[tuple[int, UseKind, FieldPath, Certainty]] = set()
    stack: list[tuple[Value, UseKind, FieldPath, Certainty]] = [(value, kind, path, Certainty.EXACT)]
    elements = Elements()
    while stack or (stack := elements.unread()):
        at, how, inside, sure = stack.pop()
        if isinstance(at, AttributeRef):
            found[_use((UseTarget.COLUMN, how, at.id, -1, inside, sure))] = None
        elif isinstance(at, ExpressionRef):
            key = (at.index, how, inside, sure)
            if key in seen:
                continue
            seen.add(key)
            expression = plan.expressions[at.index]
            name = expression.name
            plain = _kind_of_cast(plan, expression) if name in CASTS else _plain_kind(name)
            if (
                plain is not None
                and (not inside or plain is UseKind.IDENTITY)
                and _SPECIAL_ARGUMENTS.isdisjoint(expression.arguments)
            ):
                used = compose(how, plain)
                for part in reversed(expression.references):
                    stack.append((part, used, inside, sure))
                continue
            if called_code(expression) is not None:
                sure = Certainty.OPAQUE
            elements.bind(plan, expression, compose(how, UseKind.TRANSFORMATION), inside, sure)
            uses_here, parts = _read(plan, expression, how, inside, elements)
            found.update(dict.fromkeys(_as_sure(uses_here, sure)))
            stack += [(part, used, rest, sure) for part, used, rest in reversed(parts)]
        elif isinstance(at, tuple):
            stack += [(item, how, inside, sure) for item in reversed(at)]
    return tuple(found)


def _as_sure(uses_here: list[ExpressionUse], sure: Certainty) -> list[ExpressionUse]:
    return uses_here if sure is Certainty.EXACT else [use._replace(certainty=sure) for use in uses_here]


_SPECIAL_ARGUMENTS = frozenset(("plan", "replacement", "functionName"))
"""The arguments of expressions that are not read like functions."""

_ONE_VALUE = ("ScalarSubquery", VARIABLE_USE)
"""The expressions whose value is the single value of a subquery."""


@functools.lru_cache(maxsize=1024)
def _plain_kind(name: str) -> UseKind | None:
    """
    Return how the expressions of a class read all of their arguments; None if they need a rule of their own.

    Most expressions return the value of their only argument, or are functions. An expression that has one of
    `_SPECIAL_ARGUMENTS` needs its own rule in any case.
    """
    if name in UNCHANGED and name != "OuterReference":
        return UseKind.IDENTITY
    special = {*RULES, *UNCHANGED, *OPAQUE, *CASTS, *ACCESSING, *BINDING, LAMBDA, VARIABLE, *_READ_SEPARATELY}
    return None if "." in name or name in special else _function_kind(name)


def _kind_of_cast(plan: Plan, cast: Expression) -> UseKind:
    return UseKind.IDENTITY if is_same_type_cast(plan, cast) else UseKind.TRANSFORMATION


def _read(
    plan: Plan, expression: Expression, how: UseKind, inside: FieldPath, elements: Elements
) -> tuple[list[ExpressionUse], list[tuple[Value, UseKind, FieldPath]]]:
    """Return the uses of an expression itself, and its arguments, each with its kind and the path that is read."""
    if expression.name == "CommonExpressionRef":
        return [], [(plan.common.get(common_id(expression)), how, inside)]
    if expression.name == VARIABLE:
        return [], [(elements.array_of(expression), how, inside)]
    if not expression.references:
        return [], []
    step = _subquery(plan, expression, how, inside) or _outer(expression, how, inside)
    return step or ([], _parts(plan, expression, how, inside))


def _parts(
    plan: Plan, expression: Expression, how: UseKind, inside: FieldPath
) -> list[tuple[Value, UseKind, FieldPath]]:
    """Return the arguments of an expression, each with its kind and with the path that is read from it."""
    name, field = expression.name, accessed(expression)
    if field is not None:
        kind = UseKind.IDENTITY if name == "GetStructField" else UseKind.TRANSFORMATION
        return [(expression.arguments.get("child"), compose(how, kind), (field, *inside))]
    if name == LAMBDA:
        return [(expression.arguments.get("function"), how, inside)]
    if name in UNCHANGED or _checks_length(expression):
        return [(_only(expression), how, inside)]
    if name == UPDATING and not inside:
        return [(value, compose(how, UseKind.TRANSFORMATION), rest) for value, rest in kept_and_set(plan, expression)]
    if "replacement" in expression.arguments:
        return [(expression.arguments["replacement"], compose(how, _function_kind(name)), inside)]
    if inside and (chosen := selected(plan, expression, inside)):
        return [(value, compose(how, kind), rest) for value, kind, rest in chosen]
    return _by_rule(plan, expression, how, inside)


def _by_rule(
    plan: Plan, expression: Expression, how: UseKind, inside: FieldPath
) -> list[tuple[Value, UseKind, FieldPath]]:
    name, found = expression.name, RULES.get(expression.name, _function)(plan, expression)
    if not inside:
        return [(part, compose(how, kind), ()) for part, kind in found]
    holding = held(expression)
    parts = [
        (part, how, inside)
        if name in CHOOSING and kind is UseKind.TRANSFORMATION
        else (part, compose(how, kind), inside if part in holding else ())
        for part, kind in found
    ]
    if name in COMPARING:
        # The greatest struct is chosen by all of its fields, not only by this one.
        parts += [(part, compose(how, UseKind.CONDITIONAL), ()) for part in holding]
    return parts


def _checks_length(expression: Expression) -> bool:
    """Return whether an expression pads or checks a CHAR or VARCHAR column, without another change of the value."""
    name = expression.arguments.get("functionName")
    return isinstance(name, str) and name in ("readSidePadding", "charTypeWriteSideCheck", "varcharTypeWriteSideCheck")


def _function(_: Plan, expression: Expression) -> list[Influence]:
    """Return the parts of a function: its value is computed from all of its arguments."""
    kind = _function_kind(expression.name)
    return [(reference, kind) for reference in expression.references]


def _function_kind(name: str) -> UseKind:
    return UseKind.MASKED_TRANSFORMATION if name in MASKING else UseKind.TRANSFORMATION


def _if(_: Plan, expression: Expression) -> list[Influence]:
    """IF: the condition is a CONDITIONAL influence; the two values are transformed."""
    a = expression.arguments
    return [
        (a.get("predicate"), UseKind.CONDITIONAL),
        (a.get("trueValue"), UseKind.TRANSFORMATION),
        (a.get("falseValue"), UseKind.TRANSFORMATION),
    ]


def _null_if(_: Plan, expression: Expression) -> list[Influence]:
    """NULLIF in Spark 4.3: the comparison is a CONDITIONAL influence; the value is transformed."""
    a = expression.arguments
    return [(a.get("predicate"), UseKind.CONDITIONAL), (a.get("value"), UseKind.TRANSFORMATION)]


def _case(_: Plan, expression: Expression) -> list[Influence]:
    """CASE: the conditions are CONDITIONAL influences; the values are transformed."""
    parts: list[Influence] = []
    branches = expression.arguments.get("branches")
    for branch in branches if isinstance(branches, tuple) else ():
        if isinstance(branch, tuple):
            parts += [(branch[0], UseKind.CONDITIONAL), (branch[1], UseKind.TRANSFORMATION)]
    parts.append((expression.arguments.get("elseValue"), UseKind.TRANSFORMATION))
    return parts


def _coalesce(_: Plan, expression: Expression) -> list[Influence]:
    """COALESCE, NVL: each argument may be the result, and is also a CONDITIONAL influence on it."""
    return [(child, kind) for child in expression.references for kind in (UseKind.TRANSFORMATION, UseKind.CONDITIONAL)]


def _aggregate(_: Plan, expression: Expression) -> list[Influence]:
    """Aggregates: the arguments are aggregated; a FILTER clause is a CONDITIONAL influence."""
    a = expression.arguments
    return [(a.get("aggregateFunction"), UseKind.AGGREGATION), (a.get("filter"), UseKind.CONDITIONAL)]


def _chosen_elements(_: Plan, expression: Expression) -> list[Influence]:
    """FILTER, MAP_FILTER, ARRAY_SORT: the elements are transformed; all that the function reads is CONDITIONAL."""
    a = expression.arguments
    return [(a.get("argument"), UseKind.TRANSFORMATION), (a.get("function"), UseKind.CONDITIONAL)]


def _called(plan: Plan, expression: Expression) -> list[Influence]:
    """TRANSFORM, EXISTS, FORALL, AGGREGATE, ZIP_WITH: the function determines what is read of the arrays' elements."""
    arrays = {variable.argument for variable in bindings(plan, expression)}
    rest = references(value for name, value in expression.arguments.items() if name not in arrays)
    return [(value, UseKind.TRANSFORMATION) for value in rest]


def _python_aggregate(plan: Plan, expression: Expression) -> list[Influence]:
    """Grouped aggregate functions in Python: the arguments are aggregated."""
    return [(value, compose(UseKind.AGGREGATION, kind)) for value, kind in _function(plan, expression)]


def _window(plan: Plan, expression: Expression) -> list[Influence]:
    """Window expressions: partition and order are WINDOW influences; the function keeps its own rule."""
    a = expression.arguments
    function = a.get("windowFunction")
    parts: list[Influence] = [(a.get("windowSpec"), UseKind.WINDOW)]
    if isinstance(function, ExpressionRef) and plan.expressions[function.index].name in RANKING:
        return parts
    return [(function, UseKind.IDENTITY), *parts]


RANKING = frozenset(["Rank", "DenseRank", "RowNumber", "PercentRank", "CumeDist", "NTile"])
"""Window functions that read nothing but the order."""


def _window_offset(_: Plan, expression: Expression) -> list[Influence]:
    """LAG, LEAD: the input and the default are transformed."""
    a = expression.arguments
    return [(a.get("input"), UseKind.TRANSFORMATION), (a.get("default"), UseKind.TRANSFORMATION)]


def _pivot_first(_: Plan, expression: Expression) -> list[Influence]:
    """PIVOT: the values are transformed; the pivot column is a CONDITIONAL influence."""
    a = expression.arguments
    return [(a.get("valueColumn"), UseKind.TRANSFORMATION), (a.get("pivotColumn"), UseKind.CONDITIONAL)]


def _chosen_by(_: Plan, expression: Expression) -> list[Influence]:
    """MAX_BY, MIN_BY: the value is transformed; the ordering is a CONDITIONAL influence."""
    a = expression.arguments
    return [(a.get("valueExpr"), UseKind.TRANSFORMATION), (a.get("orderingExpr"), UseKind.CONDITIONAL)]


def _with(_: Plan, expression: Expression) -> list[Influence]:
    """Common expressions (`With`): each reference reads what its definition reads."""
    return [(expression.arguments.get("child"), UseKind.IDENTITY)]


def _sql_function(_: Plan, expression: Expression) -> list[Influence]:
    """SQL functions: all that the body reads, with the arguments instead of the parameters."""
    return [(expression.arguments.get("child"), UseKind.IDENTITY)]


def _transpiled(_: Plan, expression: Expression) -> list[Influence]:
    """Python functions that Spark may replace by expressions: all that the Python function reads."""
    return [(expression.arguments.get("pythonUDFExpr"), UseKind.IDENTITY)]


def _ordered(_: Plan, expression: Expression) -> list[Influence]:
    """LISTAGG: the values are transformed; the order within the group is a CONDITIONAL influence."""
    a = expression.arguments
    order = a.get("orderExpressions")
    values = references(value for name, value in a.items() if name != "orderExpressions")
    return [*((value, UseKind.TRANSFORMATION) for value in values), (order, UseKind.CONDITIONAL)]


COMPARING = frozenset(("Max", "Min", "ArrayMax", "ArrayMin", "SortArray", "ArrayDistinct", "CollectSet"))
"""Expressions that compare structs as a whole."""

CASTS = frozenset(("Cast", "AnsiCast", "UpCast"))

_READ_SEPARATELY = frozenset(("CommonExpressionRef", "OuterReference", "Invoke", "StaticInvoke", UPDATING))

CHOOSING = frozenset(("If", "CaseWhen", "Coalesce", "NullIfResult"))
"""Expressions that choose one of several values: a field of the result is that field of one of the values."""

RULES: dict[str, ExpressionRule] = {
    "SQLScalarFunction": _sql_function,
    "TranspiledPythonUDF": _transpiled,
    "ListAgg": _ordered,
    "If": _if,
    "NullIfResult": _null_if,
    "CaseWhen": _case,
    "Coalesce": _coalesce,
    "AggregateExpression": _aggregate,
    "PythonUDAF": _python_aggregate,
    "WindowExpression": _window,
    "Lag": _window_offset,
    "Lead": _window_offset,
    "PivotFirst": _pivot_first,
    "MaxBy": _chosen_by,
    "MinBy": _chosen_by,
    "MaxMinByK": _chosen_by,
    "With": _with,
    **dict.fromkeys(("ArrayFilter", "MapFilter", "ArraySort"), _chosen_elements),
    **dict.fromkeys(("ArrayTransform", "ArrayExists", "ArrayForAll", "ArrayAggregate", "ZipWith"), _called),
}
"""Expression class -> the rule that returns its arguments with their kinds."""


def _only(expression: Expression) -> Value:
    return expression.references[0] if expression.references else None


def is_same_type_cast(plan: Plan, expression: Expression) -> bool:
    """Return whether a cast keeps the type; views and inserts add casts even to columns of the right type."""
    if expression.name not in CASTS:
        return False
    child = expression.arguments.get("child")
    if not isinstance(child, AttributeRef) or child.id not in plan.attributes:
        return False
    return plan.attributes[child.id].type == expression.arguments.get("dataType", expression.arguments.get("target"))


def _outer(
    expression: Expression, how: UseKind, inside: FieldPath
) -> tuple[list[ExpressionUse], list[tuple[Value, UseKind, FieldPath]]] | None:
    """Return the use of an outer reference to an attribute; None for one to another expression, and for all others."""
    attribute = expression.arguments.get("e") if expression.name == "OuterReference" else None
    if isinstance(attribute, AttributeRef):
        return [ExpressionUse(UseTarget.OUTER, how, attribute.id, path=inside)], []
    return None


def _subquery(
    plan: Plan, expression: Expression, how: UseKind, inside: FieldPath
) -> tuple[list[ExpressionUse], list[tuple[Value, UseKind, FieldPath]]] | None:
    """Return the uses of a subquery (its rows and, except for EXISTS, its result) and its conditions; else None."""
    top = expression.arguments.get("plan")
    if not isinstance(top, OperatorRef):
        return None
    kind = how if expression.name in (*_ONE_VALUE, "ListQuery") else compose(how, UseKind.TRANSFORMATION)
    found = [ExpressionUse(UseTarget.ROWS, how, operator=top.index)]
    if expression.name != "Exists":
        output = plan.operators[top.index].output
        if expression.name in _ONE_VALUE:
            output = output[:1]
        else:
            inside = ()
        found = [ExpressionUse(UseTarget.RESULT, kind, column.id, top.index, inside) for column in output] + found
    conditions = expression.arguments.get("joinCond")
    return found, [(conditions, compose(how, UseKind.JOIN), ())] if conditions else []
