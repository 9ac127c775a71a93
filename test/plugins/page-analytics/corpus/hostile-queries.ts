// Queries that attempt more than reading their organization's page events, each with its proof of harm on an unguarded engine.
// Braces refer to the fixture (fixture.ts): {txt}, {csv}, {json}, {db} contain the secret; {other} is another organization's
// segment, {own} the caller's; {out} is a writable path; {http} is a server.

export type Harm =
  /** Its answer contains this text. */
  | { readonly tells: string }
  /** This boolean query is true after it and false before. */
  | { readonly changes: string }
  /** It creates {out}. */
  | { readonly writes: true }
  /** It sends a request to {http}. */
  | { readonly calls: true }
  /** Its process needs more than 600 MiB. */
  | { readonly grows: true }
  /** It runs longer than a second and a half. */
  | { readonly hangs: true }
  /** Its process dies. */
  | { readonly crashes: true }

export interface HostileQuery {
  readonly sql: string
  readonly harm: Harm
}

export const secret = "s3cret-of-the-machine"
export const otherSecret = "s3cret-of-another-organization"

const tells = (text: string, ...sqls: string[]): HostileQuery[] => sqls.map((sql) => ({ sql, harm: { tells: text } }))
const writes = (...sqls: string[]): HostileQuery[] => sqls.map((sql) => ({ sql, harm: { writes: true } }))
const changes = (check: string, ...sqls: string[]): HostileQuery[] => sqls.map((sql) => ({ sql, harm: { changes: check } }))
const grows = (...sqls: string[]): HostileQuery[] => sqls.map((sql) => ({ sql, harm: { grows: true } }))
const hangs = (...sqls: string[]): HostileQuery[] => sqls.map((sql) => ({ sql, harm: { hangs: true } }))

const hasTable = (name: string) => `SELECT count(*) > 0 FROM duckdb_tables() WHERE table_name = '${name}'`
const inner = "SELECT content FROM read_text('{txt}')"

export const hostileQueries: readonly HostileQuery[] = [
  // Files, by function and by name.
  ...tells(
    secret,
    "SELECT content::VARCHAR FROM read_blob('{txt}')",
    "SELECT * FROM read_text('{txt}')",
    "SELECT * FROM read_text(['{txt}', '{csv}'])",
    "SELECT * FROM read_csv('{csv}')",
    "SELECT * FROM read_csv_auto('{csv}')",
    "SELECT * FROM '{csv}'",
    'SELECT * FROM "{csv}"',
    "FROM '{csv}'",
    'TABLE "{csv}"',
    "SELECT * FROM read_json('{json}')",
    "SELECT * FROM read_json_auto('{json}')",
    "SELECT * FROM read_ndjson('{json}')",
    "SELECT json::VARCHAR FROM read_json_objects('{json}')",
    "SELECT * FROM '{json}'",
    "SELECT * FROM read_duckdb('{db}', table_name = 'kept')",
    "SELECT content::VARCHAR FROM read_blob('{db}')",
  ),
  ...tells(
    otherSecret,
    "SELECT * FROM read_parquet('{other}')",
    "SELECT * FROM parquet_scan('{other}')",
    "SELECT * FROM '{other}'",
    "SELECT * FROM events UNION ALL BY NAME SELECT * FROM read_parquet('{other}')",
    "SELECT stats_max FROM parquet_metadata('{other}')",
  ),
  ...tells("{own}", "SELECT filename FROM read_blob('{own}')", "SELECT file_name FROM parquet_schema('{own}')"),
  ...tells("kept.txt", "SELECT * FROM glob('{folder}/*')"),
  ...tells("kept_secret", "SELECT columns FROM sniff_csv('{csv}')", "DESCRIBE SELECT * FROM read_csv('{csv}')", "SUMMARIZE FROM '{csv}'"),

  // The same, hidden in expressions and tables.
  ...tells(
    secret,
    `SELECT (${inner})`,
    `SELECT * FROM (${inner}) AS hidden`,
    `WITH hidden AS (${inner}) SELECT * FROM hidden`,
    `WITH hidden AS MATERIALIZED (${inner}) SELECT * FROM hidden`,
    `WITH RECURSIVE hidden(c) AS (${inner} UNION ALL SELECT c FROM hidden WHERE false) SELECT * FROM hidden`,
    `SELECT '' UNION ALL (${inner})`,
    `SELECT 1 AS n, '' AS c INTERSECT SELECT 1, '' UNION ALL SELECT 1, (${inner})`,
    `VALUES ((${inner}))`,
    `SELECT min(c) FROM (VALUES ('')) AS t(x), LATERAL (${inner}) AS l(c)`,
    `SELECT list_transform([(${inner})], lambda x: x)`,
    `SELECT [c FOR c IN [(${inner})]]`,
    `SELECT {'hidden': (${inner})}`,
    `SELECT CASE WHEN true THEN (${inner}) ELSE '' END`,
    `SELECT coalesce(NULL, (${inner}))`,
    `SELECT max((${inner})) OVER ()`,
    `SELECT string_agg((${inner}), '' ORDER BY 1)`,
    `SELECT c FROM (SELECT 1) AS a JOIN (${inner}) AS b(c) ON true`,
    `SELECT error((${inner}))`,
    "SELECT * FROM (PIVOT (SELECT content AS c, 1 AS n FROM read_text('{txt}')) ON n IN (1) USING max(c))",
    `SELECT unnest([(${inner})])`,
    "SELECT * FROM unnest([(SELECT content FROM read_text('{txt}'))])",
  ),

  // Text that becomes SQL.
  ...tells(
    secret,
    "SELECT * FROM query('SELECT content FROM read_text(''{txt}'')')",
    "SELECT * FROM query_table('{csv}')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT content FROM read_text(''{txt}'')'))",
    "WITH t AS (SELECT * FROM query('FROM read_text(''{txt}'')')) SELECT * FROM t",
    "PRAGMA json_execute_serialized_sql('{serialized}')",
  ),

  // The catalog, settings and the process itself.
  ...tells(
    "{own}",
    "SELECT sql FROM duckdb_views()",
    "SELECT sql FROM duckdb_views",
    "SELECT sql FROM sqlite_master",
    "SELECT view_definition FROM information_schema.views",
    "SELECT definition FROM pg_catalog.pg_views",
    "SELECT sql FROM system.main.duckdb_views",
    "SELECT * FROM query_table('duckdb_views')",
    "SELECT duckdb_views.sql FROM (WITH duckdb_views AS (SELECT 1) SELECT 1), duckdb_views",
    "WITH duckdb_views AS (SELECT * FROM duckdb_views) SELECT sql FROM duckdb_views",
  ),
  ...tells("home_directory", "SELECT name FROM duckdb_settings()", "FROM duckdb_settings()"),
  ...tells("core_functions", "SELECT extension_name FROM duckdb_extensions()"),
  ...tells("{marked}", "SELECT current_setting('custom_user_agent')", "SELECT getvariable('mark')", "SELECT value FROM duckdb_variables()"),
  ...tells("page-events.duckdb", "SELECT path FROM duckdb_databases()", "PRAGMA database_list"),
  ...tells("events", "SHOW TABLES", "SHOW ALL TABLES", "SELECT table_name FROM information_schema.tables"),
  ...tells("current_query", "SELECT current_query()"),

  // Other statements than SELECT, and several statements.
  ...changes(
    hasTable("made"),
    "CREATE TABLE made AS SELECT 1",
    "SELECT 1; CREATE TABLE made (x INT)",
    "SELECT 1;; CREATE TABLE made (x INT); SELECT 2",
    "CREATE TABLE made (x INT); SELECT 1",
    "SELECT 1 /* ; */ ; -- \n CREATE TABLE made (x INT)",
    "EXPLAIN ANALYZE CREATE TABLE made AS SELECT 1",
    "CREATE TEMP TABLE made AS SELECT 1",
  ),
  ...changes(
    "SELECT count(*) > 1 FROM target",
    "INSERT INTO target VALUES (2)",
    "EXPLAIN ANALYZE INSERT INTO target VALUES (2)",
    "INSERT INTO target SELECT 2",
  ),
  ...changes("SELECT count(*) = 0 FROM target", "DELETE FROM target", "TRUNCATE target", "WITH gone AS (SELECT 1) DELETE FROM target"),
  ...changes("SELECT max(x) = 9 FROM target", "UPDATE target SET x = 9"),
  ...changes("SELECT count(*) = 0 FROM duckdb_views() WHERE view_name = 'events'", "DROP VIEW events"),
  ...changes(
    "SELECT sql LIKE '%forged%' FROM duckdb_views() WHERE view_name = 'events'",
    "CREATE OR REPLACE VIEW events AS SELECT 'forged' AS event",
  ),
  ...changes("SELECT current_setting('threads') = 1", "SET threads = 1", "PRAGMA threads = 1", "SELECT 1; SET threads = 1"),
  ...changes("SELECT current_setting('memory_limit') LIKE '9%'", "SET memory_limit = '9GiB'"),
  ...changes("SELECT coalesce(getvariable('planted') = 1, false)", "SET VARIABLE planted = 1"),
  ...changes("SELECT count(*) > 0 FROM duckdb_functions() WHERE function_name = 'made_macro'", "CREATE MACRO made_macro() AS 1"),
  ...changes("SELECT count(*) > 0 FROM duckdb_prepared_statements() WHERE name = 'p1'", "PREPARE p1 AS SELECT 1"),
  ...changes(
    "SELECT count(*) > 0 FROM duckdb_databases() WHERE database_name = 'taken'",
    "ATTACH '{db}' AS taken",
    "ATTACH ':memory:' AS taken",
  ),
  ...changes("SELECT count(*) > 0 FROM duckdb_types() WHERE type_name = 'made_type'", "CREATE TYPE made_type AS ENUM ('a')"),
  ...changes("SELECT nextval('counter') > 2", "SELECT nextval('counter') FROM range(5)"),
  ...writes(
    "COPY events TO '{out}'",
    "COPY (SELECT 1) TO '{out}' (FORMAT csv)",
    "EXPORT DATABASE '{out}'",
    "ATTACH '{out}' AS written",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}' (FORMAT csv)",
    "SELECT 1; COPY (SELECT 1) TO '{out}' (FORMAT csv)",
  ),
  { sql: "INSTALL httpfs FROM '{http}'", harm: { calls: true } },
  { sql: "FORCE INSTALL spatial FROM '{http}'", harm: { calls: true } },

  // Memory and time.
  ...grows(
    "SELECT length(repeat('x', 2000000000))",
    "SELECT length(lpad('x', 1500000000, 'y'))",
    "SELECT count(*) FROM (SELECT unnest(range(200000000)) AS n)",
    "SELECT len(list(n)) FROM range(200000000) AS t(n)",
    "SELECT count(DISTINCT n::VARCHAR) FROM range(60000000) AS t(n)",
    "SELECT n FROM range(300000000) AS t(n) ORDER BY hash(n)",
    "SELECT len(string_agg(n::VARCHAR, ',')) FROM range(200000000) AS t(n)",
    "WITH RECURSIVE t(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM t WHERE length(s) < 2000000000) SELECT max(length(s)) FROM t",
    "SELECT len(flatten(list_transform(range(20000), lambda a: range(20000))))",
  ),
  ...hangs(
    "SELECT count(*) FROM range(1000000000000)",
    "SELECT max(hash(a.n, b.n)) FROM range(10000000) AS a(n), range(10000000) AS b(n)",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t WHERE n < 0",
    "SELECT sleep_ms(60000)",
    "SELECT pg_sleep(60)",
    "SELECT sum(length(regexp_replace(repeat('ab', 100000), '(a|b)*?c', n::VARCHAR))) FROM range(100000000) AS t(n)",
  ),
]
