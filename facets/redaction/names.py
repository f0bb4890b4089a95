"""
The names whose values may be shown, and the names that say that their value is a secret.

The list of shown names decides for options and properties: the value of any other name is hidden. The pattern of secret
names is for free text such as error messages, and for properties that the user asks for by name.
"""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"password|passwd|passphrase|passcode|pwd|(?<!com)(?<!by)(?<!tres)pass$|secret|token(?!iz)|credential|cookie|jaas"
    r"|(?:api|access|account|private|shared|secret|encryption|signing|master|license|session)[._\- ]?key"
    r"|(?:^|[._\-])(?:auth|sas|sig|signature|dsn|pw|pin|pat|otp)$|authorization$|auth[._\-]user[._\-]info|connection[._\-]?(?:string|url)"
)
_LOGIN = re.compile(r"(?:^|[._\-])(?:user|username|user[._\-]?(?:name|id)|uid|login)$|(?:user|userid|username)$")


def is_secret(name: str) -> bool:
    """Return whether a name says that its value is a secret, such as a password, key, token or signature."""
    return _SECRET.search(name.lower()) is not None


def is_login(name: str) -> bool:
    """Return whether a name says that its value is a user, which is half of a login."""
    return _LOGIN.search(name.lower()) is not None


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
