"""
The names whose values may be shown, and the names that say that their value is a secret.

The list of shown names decides for options and properties: the value of any other name is hidden. Whether a name says
that its value is a secret is decided by its parts, after it is split at camel case, digits and punctuation: `dbPass1`,
`DB-PASS` and `db.pass_2` are alike. It decides for free text, for what SQL compares or assigns, and for properties that
the user asks for by name.
"""

from __future__ import annotations

import functools
import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_LONGEST = 400

# Searched in the words of a name, in lower case, joined by `_`.
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
# What such a name is about if it ends or begins with one: not the secret, but its number, its kind, its age, its place.
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


def is_secret(name: str) -> bool:
    """Return whether a name says that its value is a secret, such as a password, key, token or signature."""
    return _is_secret(name[-_LONGEST:])


@functools.lru_cache(maxsize=8192)
def _is_secret(name: str) -> bool:
    parts = _parts(name)
    about = _ABOUT.search(parts)
    if about is not None and _ADDRESS_IS_SECRET.search(parts) is None:
        return False
    return _SECRET.search(parts) is not None or _is_secret_key(parts)


def is_secret_number(name: str) -> bool:
    """Return whether a name says that even a number is a secret: a PIN, not the key of a row or a count of tokens."""
    parts = _parts(name)
    return is_secret(name) and not _is_secret_key(parts) and not re.search(r"keys?$|tokens$|sess", parts)


def is_login(name: str) -> bool:
    """Return whether a name says that its value is a user, which is half of a login."""
    return _LOGIN.search(name.lower()) is not None


def _parts(name: str) -> str:
    return "_".join(_WORD.findall(name[-_LONGEST:])).lower()


def _is_secret_key(parts: str) -> bool:
    """Return whether a name ends in a key that is none of a table, a map or a sort."""
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
