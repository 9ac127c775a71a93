// The query process: runs one organization's SQL, with a new engine for each query. The pool starts it with an empty environment
// and a memory limit, and kills it after any failure here.
import { flushCompileCache } from "node:module"
import { type DuckDBConnection, DuckDBInstance, StatementType } from "@duckdb/node-api"
import { literal } from "../event-columns.ts"
import { eventsView, views } from "../views.ts"
import { readTree } from "./check-statement.ts"
import { lockDown, startSettings } from "./engine-limits.ts"
import { clockDates, clockTimes, namesClock, notRepeatable } from "./functions.ts"
import { type QueryAnswer, type QueryTable, type QueryTask, ready } from "./protocol.ts"
import { jsonOf, typeName } from "./result-json.ts"

const [threads = "1", memoryMb = "512"] = process.argv.slice(2)

/** A small query with the usual functions. */
const firstUse = `(SELECT list(each) FROM (SELECT i % 7 AS part, count(DISTINCT i::VARCHAR) AS each, quantile_cont(i, 0.75), arg_min(i, i)
  FROM range(5000) AS numbers(i) WHERE i::VARCHAR <> '' GROUP BY part ORDER BY part))`

interface Engine {
  readonly instance: DuckDBInstance
  readonly connection: DuckDBConnection
}

async function open(): Promise<Engine> {
  const instance = await DuckDBInstance.create(":memory:", startSettings(Number(threads), Number(memoryMb)))
  const connection = await instance.connect()
  await connection.run("SET temp_directory = ''; SET TimeZone = 'UTC'")
  // Loads code before the first query instead of during it.
  await connection.runAndReadAll(`SELECT json_serialize_sql('SELECT 1'), ${firstUse}`)
  return { instance, connection }
}

/** Opens the engine for the next query. The pool sends the query after this message. */
async function opened(): Promise<Engine> {
  const engine = await open()
  process.send?.(ready)
  return engine
}

async function run({ connection }: Engine, task: QueryTask): Promise<QueryTable> {
  const tables = await tablesOf(connection, task)
  if (task.clock && namesClock.test(task.sql)) await setClock(connection, task.clock)
  if (tables.size > 0) await connection.run(eventsView(task.files, task.mixed))
  for (const view of views) if (tables.has(view.name)) await connection.run(`CREATE VIEW ${view.name} AS ${view.sql}`)
  await lockDown(connection, task.files)
  const extracted = await connection.extractStatements(task.sql)
  if (extracted.count !== 1) throw new Error(`Send exactly one statement; this is ${extracted.count}.`)
  const statement = await extracted.prepare(0)
  if (statement.statementType !== StatementType.SELECT) throw new Error("Only SELECT is taken.")
  return read(await statement.stream(), task)
}

/**
 * Reads the SQL text as data first. The text runs as a statement only after its tree was checked. Throws if the statement is
 * refused.
 */
async function tablesOf(connection: DuckDBConnection, { sql, repeatable }: QueryTask): Promise<ReadonlySet<string>> {
  if (sql.includes("\0")) throw new Error("The query holds a NUL character.")
  const serialized = await connection.runAndReadAll(`SELECT json_serialize_sql(${literal(sql)}::VARCHAR)`)
  const tree = readTree(String(serialized.getRows()[0]?.[0]), sql)
  if ("problem" in tree) throw new Error(tree.problem)
  if (repeatable && tree.changing.length > 0) throw new Error(`${notRepeatable}${tree.changing.join(", ")}.`)
  return tree.tables
}

/** Makes the clock functions return that time. Queries cannot call the original functions. */
async function setClock(connection: DuckDBConnection, clock: string): Promise<void> {
  const at = `${literal(clock)}::TIMESTAMPTZ`
  for (const name of clockTimes) await connection.run(`CREATE MACRO ${name}() AS ${at}`)
  for (const name of clockDates) await connection.run(`CREATE MACRO ${name}() AS (${at})::DATE`)
}

async function read(result: Awaited<ReturnType<DuckDBConnection["stream"]>>, { limits }: QueryTask): Promise<QueryTable> {
  const columnTypes = result.columnTypes()
  const rows: unknown[][] = []
  let bytes = 0
  const table = (truncated: boolean): QueryTable => ({ columns: result.columnNames(), types: columnTypes.map(typeName), rows, truncated })
  for (;;) {
    const chunk = await result.fetchChunk()
    if (!chunk || chunk.rowCount === 0) return table(false)
    const columns = columnTypes.map((_, column) => chunk.getColumnValues(column))
    for (let index = 0; index < chunk.rowCount; index++) {
      if (rows.length === limits.rows) return table(true)
      const row = columns.map((values) => jsonOf(values[index] ?? null))
      bytes += JSON.stringify(row).length
      if (bytes > limits.bytes) return table(true)
      rows.push(row)
    }
  }
}

let spare = opened()
// Flushed before the first query: the process is killed at its end, and would otherwise save no compiled code.
spare.then(() => flushCompileCache()).catch(endProcess)
process.on("message", (task: QueryTask) => {
  answerTo(task).catch(endProcess)
})

async function answerTo(task: QueryTask): Promise<void> {
  let answer: QueryAnswer
  const engine = await spare
  try {
    answer = { id: task.id, table: await run(engine, task) }
  } catch (error) {
    const refused = error instanceof Error ? error.message : String(error)
    answer = { id: task.id, refused, memory: /^Out of Memory Error/.test(refused) }
  }
  process.send?.(answer)
  engine.connection.closeSync()
  engine.instance.closeSync()
  spare = opened()
  // The next task awaits it. Until then, a failure ends the process.
  spare.catch(endProcess)
}

function endProcess(error: unknown): void {
  console.error(error)
  process.exit(1)
}

// An ordinary exit would wait for the engine's threads, and so for their current statement.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"))
