"""Whether a name says that its value is a secret follows from the parts of the name."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.redaction.names import Named, is_secret, is_secret_column, is_secret_number, named_in
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.facets.redaction.sql import redact_sql

SECRET = """
    password Passwd PASSWORD DB_PASS1 dbpass2 pw1 dbpw userpw pass_word pass_phrase psw pswd passwort kennwort passcode
    sfPassword keyStorePassword PGPASSWORD mypass userPass Pwd rootpwd key_pass secret clientSecret api_secret_id
    token auth_token refreshToken bot_token X-Amz-Security-Token sfToken api_tokens credential dbcreds creds
    sessionid JSESSIONID PHPSESSID session_id user_session sessionToken session_key AWS_SESSION_TOKEN
    Ocp-Apim-Subscription-Key x-functions-key DD-APPLICATION-KEY FERNET_KEY APP_KEY apiKey api-key APIKEY accesskey
    AccountKey SharedAccessKey aws_access_key_id account.key.acct.dfs.core.windows.net kms_key aes_key decryption_key
    subscription-key consumer_key write_key ssh_key license_key signing-key privateKey encryptionKey MASTER_KEY
    jwt bearer client_assertion signature sig sas hmac dsn pin otp salt pat auth oauth Authorization Set-Cookie cookie
    sasl.jaas.config basic.auth.user.info connectionString conn_str webhook_url SLACK_WEBHOOK fernet
""".split()
HARMLESS = """
    key keys map_keys primary_key foreign_key partition_key sort_key order_key o_orderkey c_custkey ps_partkey date_key
    row_key rowkey cache_key hash_key join_key natural_key surrogate_key business_key kafka_key message_key public_key
    key_columns key_id spark.sql.mapKeyDedupPolicy keyword keystore monkey turkey hockey
    spark.sql.session.timeZone spark.sql.session.localRelation session_start session_duration sessions SparkSession
    sessionWindow passenger passenger_count compass bypass trespass surpass passage passed passport pass_rate
    upward stopword stepwise shopwindow power pwr_kw credit_card credit_limit sacred incredible secretary
    tokenizer tokenized token_count max_tokens token_type token_expires_at password_changed_at has_password is_secret
    spark.authenticate.secretBitLength spark.hadoop.fs.s3a.aws.credentials.provider basic_auth_enabled AWS_TOKEN_FILE
    author authority authenticated patient path pattern pinned dispatch design signal assigned SSH_ASKPASS
    KeyError Token.java PasswordService.scala PassThrough TokenException java.lang.AssertionError description
    compare shared
""".split()
WAREHOUSE = """
    user_key account_key AccountKey device_key agent_key tenant_key payment_key page_referral_key dim_user_key
""".split()
OF_SERVICES = "storage_account_key azure_account_key api_user_key api_key access_key session_key".split()


@pytest.mark.parametrize("name", SECRET)
def test_a_name_with_the_part_of_a_secret_is_one_however_its_parts_are_joined(name):
    assert is_secret(name)
    assert is_secret(f"spark.shop.{name}")


@pytest.mark.parametrize("name", HARMLESS)
def test_everyday_names_of_columns_and_settings_are_none(name):
    assert not is_secret(name)


def test_only_some_secrets_may_be_numbers():
    names = ["pin", "password", "token", "api_key", "session_id", "api_tokens", "order_key"]

    assert [name for name in names if is_secret_number(name)] == ["pin", "password", "token"]


@pytest.mark.parametrize("name", WAREHOUSE)
def test_the_key_of_a_warehouse_is_no_secret_as_a_column_and_may_be_one_in_a_text(name):
    assert not is_secret_column(name)
    assert is_secret(name)
    sql = f"SELECT concat_ws('-', a, b) AS {name} FROM t WHERE {name} = 'x'"
    assert Redaction().sql(sql).text == sql
    assert "s3cr3t" not in Redaction().text(f"{name}=s3cr3t")
    assert "s3cr3t" not in Redaction().sql(f"CALL p({name} => 's3cr3t')").text
    assert "s3cr3t" not in Redaction().sql(f"SELECT map('{name}', 's3cr3t')").text


@pytest.mark.parametrize(
    "name", "storage_account_key azure_account_key api_user_key api_key access_key session_key".split()
)
def test_the_key_of_a_service_is_a_secret_as_a_column_too(name):
    assert is_secret_column(name)
    assert "s3cr3t" not in Redaction().sql(f"SELECT * FROM t WHERE {name} = 's3cr3t'").text


def test_the_kind_of_an_assertion_is_no_secret_and_an_assertion_of_saml_is():
    assert Redaction().text("assertion: not_null failed") == "assertion: not_null failed"
    assert Redaction().text("client_assertion=PHNhbWw+").endswith("=***")
    assert Redaction().text("assertion=PHNhbWw+") == "assertion=***"


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO delta.`/tmp/pw_x/tokens` SELECT 0, '2'",
        "SELECT * FROM parquet . `s3://bucket/secrets/day` WHERE a = 'y'",
        "MERGE INTO iceberg.`/lake/password` t USING s ON t.a = 1 WHEN MATCHED THEN UPDATE SET a = '2'",
    ],
)
def test_the_folder_of_a_table_that_is_named_by_its_place_hides_nothing(sql: str) -> None:
    assert named_in(sql) is Named.NOTHING
    assert redact_sql(sql, str).text == sql


@pytest.mark.parametrize("name", ["`a/password`", "t.`a/password`", "csv.`password`.`x`, `/lake/password`", "password"])
def test_a_column_with_a_slash_in_its_name_still_names_a_secret(name: str) -> None:
    assert "hush" not in redact_sql(f"SELECT * FROM t WHERE {name} = 'hush'", str).text
