"""
Decide which names have values that may be shown, and which names and SQL texts name a secret.

For options and properties, a list decides: the value is hidden unless its name is on the list. For free text, and for
properties that the user selects by name, the words in a name decide whether it means a secret. A name is split into
words at camel case, digits and punctuation, so `dbPass1`, `DB-PASS` and `db.pass_2` are alike.

An SQL text names a secret if it contains such a name, as that of a column, an argument, a variable or a key
(`conf['password']`, `map('password', 'x')`); if it calls a function that encrypts, signs or takes a key; or if one of
its strings ends where a secret begins (`'password=' || 'x'`). It need not show which of its literals is the secret.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Iterator, Sequence

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens, unquoted
from openlineage_pyspark.facets.urls import reduced

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_LONGEST = 400

# The pattern is searched in the words of a name, in lower case and joined by `_`.
_SECRET = re.compile(
    r"""
    pass_?(?:w(?:or)?[dt]|wort|phrase|code|key) | kennwort | wachtwoord | contrase | senha
    | (?<!com)(?<!by)(?<!tres)(?<!sur)(?<!over)(?<!under)(?<!im)(?<!ask)
      pass(?!_?(?:through|fail|over)|enger|ag|iv|ion|port|e(?:[ds]|r)?(?![a-z])|ing|thr|over|by|ant|book|el|im)
    | pwd | p_wd | pswd | psw(?:or)?d | (?<![a-z])psw | psw(?![a-z]) | (?<![a-z])pw(?![rm](?![a-z])) | pw(?![a-z])
    | secret(?!ar|ion|ed(?![a-z])|ory)
    | token(?!i[sz])
    | (?<!sa)(?<!ac)(?<!in)(?<!dis)cred(?!it|ib|o(?![a-z])|ence|ul|al)
    | sess(?:ion)?_?(?:ids?|key|secret|cookie|ticket|nonce|hash|cred\w*)(?![a-z])
    | (?<!spark_)(?<!sql_)(?<!hive_)session$
    | cookie | jaas | fernet | jwts?(?![a-z]) | webhook | bearer$ | assertion$
    | (?:^|_)(?:signature|sig|sas|hmac|dsn|pin|pat|t?otp|salt|pepper|cvv|cvc|mnemonic)$
    | (?:^|_)o?auth$ | authorization$ | auth_(?:header|code|data|value|string)$ | auth_?user_?info
    | (?:access|authorization|verification|recovery|backup|activation)_?codes?$
    | connection_?(?:string|url) | conn_?str(?:ing)?(?![a-z])
    | (?:api|access|account|private|shared|secret|encryption|decryption|signing|master|license|subscription|kms|aes|rsa
        |ssh|ssl|tls)_?keys?(?![a-z])
    """,
    re.VERBOSE,
)
# Endings and beginnings of the names of harmless values: the number, the kind, the age or the location of a secret.
_ABOUT = re.compile(
    r"""
    _(?:counts?|length|len|sizes?|bits|types?|kinds?|expir(?:y|es|ed|ation)|dates?|time|timestamp|at|on
      |enabled|disabled|required|allowed|valid|policy|providers?|manager|class|factory|timeout|rate|ratio|age|ttl
      |lifetime|status|algorithm|regex|pattern|format|versions?|intervals?|file(?:name)?|path|dir(?:ectory)?|endpoint|ur[il]
      |days|hours|minutes|min|seconds|secs|millis|ms|max|limit|columns?|cols?|fields?|attempts|retries|strength|score|level
      |usage|used|cost|price|budget|scopes?|issuer|audience|reset|changed|updated|created|rotated|rotation|names?
      |exception|error|warning|failure|zone|java|scala|kt|py)$
    | ^(?:is|has|have|no|num|nb|cnt|count|total|sum|avg|mean|max|min|requires?|needs?|uses?|allow|enabled?|disabled?)_
    | (?:^|_)(?:tokens_(?:per|used|in|out)|(?:input|output|prompt|completion|n)_tokens)(?:_|$)
    """,
    re.VERBOSE,
)
_CONNECTION_URL = re.compile(r"connection_?url$")
_ADDRESS_IS_SECRET = re.compile(r"webhook|connection_?url")
_KEY = re.compile(r"(?:^|_)(?P<owner>[^_]*?)_?keys?$")
_HARMLESS_OWNERS = frozenset(
    """
    addr address agg airline airport alternate any asset attr attribute batch blob brand bridge bronze bucket
    bucketing business cache call campaign candidate case catalog category cc cdc center channel chunk city claim
    class cluster clustering code col color column columns company composite compound conf config configuration
    contract count country course cs cur currency cust customer data dataset date day dd dedup dedupe default delta
    demo department dept dest destination dict dim dimension dir dist distribution district div division doc document
    domain don duplicate edge element emp employee empty encounter end entity entry event exists fact feature field
    file filter first fk flight foreign from geo get global gold group grouping hash hashed hdemo header hist history
    hoc hot hour household hub idempotency image in index ingest inner insert inv inventory invoice is item joc join
    joined json kafka kpi label lac lang language last left line lineitem link list loc local locale location log
    lookup map mapped mapping match matching max measure member merge message meta metadata metric mic min missing mon
    monitor month msg name nation natural nested new next no node non null num number obj object offset old on or
    order ordering orders org organization outer page pair param parameter parent part partition partitioned
    partitioning path patient period pk point policy position prefix prev primary prod product project promo promotion
    prop property provider province public purchase quarter query queue rand random range rank raw reason record redis
    reduce ref reference region rel relation report resource result return returns rev revision right room root route
    routing row rowgroup rule s sale sales sample sat satellite schema score search seg segment sensor seq sequence
    series service setting shard sharding ship shipment shop short silver site sk sku slot snapshot sort sorted
    sorting source sourcing src stage staging start stat state statement status step storage store strategy stream
    street struct student sub subject super supp supplier surrogate table tag target task team temp template term test
    text tgt ticker time timestamp title tmp to topic trace trans transaction translation tree trip tur turn txn type
    uniq unique unit update upsert val value vehicle vendor version vertex view visit ware warehouse web week whis
    window with word year zip zone
    """.split()
)
"""The words before `key` in the names of columns and settings: `order_key`, `custkey`, `partition.keys`, `monkey`."""
# In a setting or a text, such a name may mean a credential: Azure's AccountKey, Pushover's user_key.
_WAREHOUSE_KEY = re.compile(
    r"(?:(?!storage|blob|azure|adls|cosmos|batch|api|secret|access)[a-z]+_){0,9}"
    r"(?:account|agent|device|payment|referral|tenant|user)_?keys?"
)
_KIND_OF_ASSERTION = re.compile(r"[a-z]{1,20}(?:_[a-z]{1,20}){0,5}")


def is_secret(name: str) -> bool:
    """Return whether a name means a secret, such as a password, key, token or signature."""
    return _is_secret(name[-_LONGEST:])


@functools.lru_cache(maxsize=8192)
def _is_secret(name: str) -> bool:
    parts = _parts(name)
    about = _ABOUT.search(parts)
    if about is not None and _ADDRESS_IS_SECRET.search(parts) is None:
        return False
    return _SECRET.search(parts) is not None or _is_secret_key(parts)


def is_harmless_value(name: str, value: str) -> bool:
    """
    Return whether a value is not a secret although its name means one.

    Such values are a number of tokens, a kind of assertion, and a connection's JDBC URL without credentials.

    Args:
        name: the name.
        value: the whole value: its beginning alone may be harmless.
    """
    low = name.lower()
    if _CONNECTION_URL.search(_parts(name)) is not None:
        return value.lower().startswith("jdbc:") and reduced(value) == value
    if low.endswith("tokens"):
        return value.isdigit()
    return low.endswith("assertion") and _KIND_OF_ASSERTION.fullmatch(value) is not None


def is_secret_column(name: str) -> bool:
    """Return whether the name of a column in SQL means a secret; the keys of a data warehouse do not."""
    return is_secret(name) and _WAREHOUSE_KEY.fullmatch(_parts(name)) is None


def is_secret_number(name: str) -> bool:
    """Return whether even a number with this name is a secret: a PIN is, the key of a row or a token count is not."""
    parts = _parts(name)
    return is_secret(name) and not _is_secret_key(parts) and not re.search(r"keys?$|tokens$|sess", parts)


def is_login(name: str) -> bool:
    """Return whether a name means a user, which is half of a login."""
    return _LOGIN.search(name.lower()) is not None


def _parts(name: str) -> str:
    return "_".join(_WORD.findall(name[-_LONGEST:])).lower()


def _is_secret_key(parts: str) -> bool:
    """Return whether a name ends in `key`, but does not mean the key of a table, a map or a sort order."""
    found = _KEY.search(parts)
    return found is not None and bool(found["owner"]) and found["owner"] not in _HARMLESS_OWNERS


_LOGIN = re.compile(r"(?:^|[._\-])(?:user|username|user[._\-]?(?:name|id)|uid|login)$|(?:user|userid|username)$")


_SHOWN = frozenset(
    """
    path paths basepath location url dbtable table tablename query format provider header sep delimiter encoding charset
    quote escape chartoescapequoteescaping multiline mode inferschema mergeschema prefersdecimal primitivesasstring
    compression codec parquet.compression orc.compress orc.compression comment linesep samplingratio dateformat
    timestampformat timestampntzformat nullvalue emptyvalue nanvalue positiveinf negativeinf columnnameofcorruptrecord
    ignoreleadingwhitespace ignoretrailingwhitespace maxcolumns maxcharspercolumn locale enforceschema wholetext rowtag
    roottag recursivefilelookup pathglobfilter modifiedbefore modifiedafter ignorecorruptfiles ignoremissingfiles
    partitioncolumn lowerbound upperbound numpartitions fetchsize batchsize isolationlevel truncate cascadetruncate
    driver querytimeout pushdownpredicate pushdownaggregate pushdownlimit pushdownoffset createtableoptions
    createtablecolumntypes customschema topic subscribe subscribepattern assign startingoffsets endingoffsets
    startingtimestamp endingtimestamp failondataloss minpartitions maxoffsetspertrigger maxfilespertrigger
    maxbytespertrigger latestfirst includeheaders kafka.bootstrap.servers checkpointlocation outputmode queryname
    rowspersecond rampuptime host port versionasof timestampasof replacewhere partitionoverwritemode
    overwriteschema serialization.format field.delim line.delim collection.delim mapkey.delim
    escape.delim transactional external classification format-version write.format.default primarykey
    type compaction
    """.split()
)
"""Options of sources and properties of tables, in lower case, whose values hold no secret."""

_SHOWN_BELOW = ("delta.", "parquet.", "orc.", "write.parquet.", "write.orc.", "write.metadata.", "read.split.")
_SHOWN_CONF = ("spark.sql.", "spark.default.", "spark.app.name", "spark.master", "hive.exec.")
_CATALOG = "spark.sql.catalog."


def is_shown_option(name: str) -> bool:
    """Return whether the value of a source's option or a table's property may be shown; case does not matter."""
    low = name.lower()
    return low in _SHOWN or (low.startswith(_SHOWN_BELOW) and not is_secret(low))


def is_shown_property(name: str) -> bool:
    """Return whether the value of a Spark property that a statement sets may be shown."""
    low = name.lower()
    if low.startswith(_CATALOG):
        return low.count(".") == 3 or is_shown_option(low.split(".", 4)[4])
    return low.startswith(_SHOWN_CONF) and not is_secret(low)


class Named(enum.IntEnum):
    """Which secrets an SQL text names; this decides which literals are hidden."""

    NOTHING = 0
    SECRET = 1
    """A secret: all strings are hidden."""
    SECRET_NUMBER = 2
    """A secret that may be a number: all strings and numbers are hidden."""


OPTION_LISTS = frozenset(
    "OPTIONS TBLPROPERTIES DBPROPERTIES SERDEPROPERTIES PROPERTIES CREDENTIAL CREDENTIALS WITH FORMAT_OPTIONS "
    "COPY_OPTIONS".split()
)
"""Words before a list of options in parentheses; the name of each option decides whether its value is hidden."""

# A text without any of these names no secret and no login. The text is in lower case, because ignoring the case of
# letters takes much longer.
_STEM = re.compile(
    r"pass|p[\W_\d]?w|psw|secret|token|cred|sess|key|jwt|bearer|basic|assertion|sig|sas|hmac|auth|cookie|jaas|fernet"
    r"|pin|pat|otp|dsn|salt|pepper|cvv|cvc|mnemonic|code|conn|webhook|kennwort|wachtwoord|contrase|senha|user|uid|login"
    r"|cipher|crypt|identified|://"
)
_KEYED = re.compile(r"hmac|cipher|crypt(?!oc)|_sign$|^sign_|with_?key")
"""Parts of the names of functions that take a key; any argument may be the key."""
_NO_CALL = frozenset("values and or not on where when then else as select by using over from set".split())
_LISTS = frozenset("in any all some".split())
_PAIRS = frozenset("map named_struct".split())
_FORMATS = frozenset("format_string printf".split())
_QUERIES = frozenset("SELECT WITH FROM VALUES".split())
_FILES = frozenset("avro binaryfile csv delta hudi iceberg json orc parquet text xml".split())
_HOLDERS = frozenset("value val v data text content plain raw string current".split())
_NAME = re.compile(r"[\w$@./\-\[\]*'\"]{1,200}")
# The end of a text after which a secret value begins.
_BEGINS = (
    r"(?P<name>[\w.\-]{1,60})[\"']?[ \t]{0,3}[=:][ \t]{0,3}[\"']?|(?i:\b(?:bearer|basic)[ \t]{1,3})|://[^\s/@:]{0,60}:"
)
_BEFORE_VALUE = re.compile(rf"(?:{_BEGINS})$")
_BEFORE_PLACEHOLDER = re.compile(rf"(?:{_BEGINS})%")
_LONGEST_BEGINNING = 150
_SHORT = 4_000
_SILENT = (TokenKind.SPACE, TokenKind.COMMENT)


def named_in(text: str) -> Named:
    """Return which secrets an SQL text names; the text may be invalid, or cut anywhere."""
    return _named_in(text) if len(text) <= _SHORT else _named_in.__wrapped__(text)


# The first and the last event of a run have the same texts, and so have the runs of a loop.
@functools.lru_cache(maxsize=4096)
def _named_in(text: str) -> Named:
    if _STEM.search(text.lower()) is None:
        return Named.NOTHING
    significant = [token for token in tokens(text) if token.kind not in _SILENT]
    found = Named.NOTHING
    for named in _each_named(significant):
        found = max(found, named)
        if found is Named.SECRET_NUMBER:
            break
    return found


def _each_named(every: Sequence[Token]) -> Iterator[Named]:
    """Yield which secrets each token names, except in lists of options."""
    # The names of the functions around a token, the innermost last; `[` for square brackets.
    around: list[str] = []
    list_of_options = 0
    for at, token in enumerate(every):
        if token.kind is TokenKind.SYMBOL:
            if token.text in ("(", "[", "{"):
                around.append(_function(every, at))
                if not list_of_options and token.text == "(" and _text(every, at - 1).upper() in OPTION_LISTS:
                    list_of_options = len(around)
            elif token.text in (")", "]", "}") and around:
                around.pop()
                list_of_options = 0 if len(around) < list_of_options else list_of_options
        elif list_of_options or token.kind is TokenKind.NUMBER:
            continue
        elif token.kind is TokenKind.STRING:
            yield _named_by_string(every, at, around)
        else:
            yield _named_by_word(every, at)


def _text(every: Sequence[Token], at: int) -> str:
    return every[at].text if 0 <= at < len(every) else ""


def _is_string(every: Sequence[Token], at: int) -> bool:
    return at < len(every) and every[at].kind is TokenKind.STRING


def _plain(token: Token) -> str:
    return token.text if token.kind is TokenKind.WORD else unquoted(token)


def _function(every: Sequence[Token], at: int) -> str:
    """Return the name of the function whose arguments a bracket opens, `[` for a square one; empty for any other."""
    if every[at].text == "[":
        return "["
    before = every[at - 1] if at > 0 else None
    if (
        before is None
        or before.kind not in (TokenKind.WORD, TokenKind.NAME)
        or _text(every, at + 1).upper() in _QUERIES
    ):
        return ""
    name = _plain(before).lower()
    return "" if name in _NO_CALL else name


def named_by(name: str) -> Named:
    """Return which secrets the name of a column means."""
    return _named(name) if is_secret_column(name) else Named.NOTHING


def _named(name: str) -> Named:
    """Return which secrets a name by itself means."""
    if not is_secret(name):
        return Named.NOTHING
    return Named.SECRET_NUMBER if is_secret_number(name) else Named.SECRET


def _named_by_word(every: Sequence[Token], at: int) -> Named:
    name = _plain(every[at])
    following = _text(every, at + 1)
    if following == "(":
        is_named = is_secret(name) or _KEYED.search(name.lower()) is not None
        return Named.SECRET if is_named else Named.NOTHING
    if following == "." and _text(every, at + 2).lower() not in _HOLDERS:
        # The name of a table, or of a namespace of variables such as `session`.
        return Named.NOTHING
    if every[at].kind is TokenKind.NAME and _text(every, at - 1) == "." and _text(every, at - 2).lower() in _FILES:
        # A table that is named by its path: a folder has no value.
        return Named.NOTHING
    if is_login(name):
        value = at + 1
        while _text(every, value) in ("<", "=>"):
            value += 1
        has_value = _is_string(every, value)
        return max(Named.SECRET if has_value else Named.NOTHING, _named(name))
    if name.upper() == "IDENTIFIED" and following.upper() in ("BY", "WITH"):
        return Named.SECRET
    # A word before such an operator is an argument.
    return _named(name) if following in ("=>", ":=") else named_by(name)


def _named_by_string(every: Sequence[Token], at: int, around: Sequence[str]) -> Named:
    value = unquoted(every[at])
    function = around[-1] if around else ""
    begins = _begins_secret(_BEFORE_VALUE, value[-_LONGEST_BEGINNING:])
    if begins or (function in _FORMATS and _begins_secret(_BEFORE_PLACEHOLDER, value)):
        return Named.SECRET
    is_key = function in _PAIRS and _text(every, at + 1) == ","
    is_assigned = _text(every, at + 1) in ("=", "=>") and _is_string(every, at + 2)
    if is_login(value) and (is_assigned or is_key):
        return Named.SECRET
    if (_NAME.fullmatch(value) is None and not is_key) or _text(every, at - 1).upper() == "COMMENT":
        return Named.NOTHING
    # A list of nothing but names, such as `IN ('password', 'token')`, may be a list of kinds.
    is_list = function in _LISTS or (function == "array" and len(around) == 1)
    is_pair = bool(around) and not is_list and _text(every, at + 1) == ","
    is_argument = function != "" and not is_list
    is_path = value.startswith("$.")
    is_name = is_pair or is_argument or is_path or is_assigned or _text(every, at - 1).upper() == "AS"
    return _named(value) if is_name else Named.NOTHING


def _begins_secret(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a secret begins where a pattern matches in a text: after its name, or after a login."""
    return any(found["name"] is None or is_secret(found["name"]) for found in pattern.finditer(text))
