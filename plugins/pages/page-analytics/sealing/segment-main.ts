// The sealing process: converts rows to Parquet and merges Parquet files. A separate process isolates the engine's native code
// from the service and its threads from event processing. Runs only the statements in this file.

import { rm, stat } from "node:fs/promises"
import { flushCompileCache } from "node:module"
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api"
import { blankWhenAbsent, literal, quoted, segmentColumns } from "../event-columns.ts"
import type { SegmentReply, SegmentRequest, SegmentResults, SegmentTask, WrittenSegment } from "./segment-engine.ts"

const parquet = "(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE 122880)"
const names = segmentColumns.map(({ name }) => quoted(name)).join(", ")

/** Columns are read as text and cast. A value of another type becomes NULL; the rest of the row is unaffected. */
const casts = segmentColumns
  .map(({ name, type }) => {
    const column = quoted(name)
    if (blankWhenAbsent(name)) return `coalesce(${column}, '') AS ${column}`
    return type === "VARCHAR" ? column : `try_cast(${column} AS ${type}) AS ${column}`
  })
  .join(", ")
const asText = `{${segmentColumns.map(({ name }) => `${literal(name)}: 'VARCHAR'`).join(", ")}}`

async function run(connection: DuckDBConnection, task: SegmentTask): Promise<SegmentResults[keyof SegmentResults]> {
  switch (task.kind) {
    case "write":
      await connection.run(
        `COPY (SELECT ${casts} FROM read_json(${literal(task.rows)}, format = 'newline_delimited', maximum_object_size = 33554432, columns = ${asText})) TO ${literal(task.out)} ${parquet}`,
      )
      return segmentDetails(connection, task.out)
    case "merge":
      await connection.run(
        `COPY (SELECT ${names} FROM ${segments(task.files)}${task.without.length === 0 ? "" : ` WHERE row_id NOT IN (${task.without.map(literal).join(", ")})`}) TO ${literal(task.out)} ${parquet}`,
      )
      return (await count(connection, task.out)) === 0 ? discard(task.out) : segmentDetails(connection, task.out)
    case "recent":
      return textRows(
        connection,
        `SELECT row_id, strftime(updated_at, '%Y-%m-%dT%H:%M:%S.%gZ') FROM ${segments(task.files)} WHERE received_at >= ${literal(task.since)}::TIMESTAMP`,
      ) as Promise<SegmentResults["recent"]>
    case "holding": {
      const rows = await textRows(
        connection,
        `SELECT DISTINCT filename FROM ${segments(task.files, ", filename = true")} WHERE row_id IN (${task.rowIds.map(literal).join(", ")})`,
      )
      return rows.map(([file]) => file ?? "")
    }
  }
}

/** Columns missing from a file are NULL. */
function segments(files: readonly string[], options = ""): string {
  const blank = segmentColumns.map(({ name, type }) => `NULL::${type} AS ${quoted(name)}`).join(", ")
  return `(SELECT * FROM read_parquet([${files.map(literal).join(", ")}], union_by_name = true${options}) UNION ALL BY NAME SELECT ${blank} WHERE false)`
}

async function segmentDetails(connection: DuckDBConnection, out: string): Promise<WrittenSegment> {
  const [row = []] = await textRows(
    connection,
    `SELECT count(*)::VARCHAR, strftime(min(received_at), '%Y-%m-%dT%H:%M:%S.%gZ'), strftime(max(received_at), '%Y-%m-%dT%H:%M:%S.%gZ') FROM read_parquet(${literal(out)})`,
  )
  return { rows: Number(row[0]), first_at: row[1] ?? "", last_at: row[2] ?? "", bytes: (await stat(out)).size }
}

async function count(connection: DuckDBConnection, out: string): Promise<number> {
  const [row = []] = await textRows(connection, `SELECT count(*)::VARCHAR FROM read_parquet(${literal(out)})`)
  return Number(row[0])
}

async function discard(out: string): Promise<null> {
  await rm(out, { force: true })
  return null
}

async function textRows(connection: DuckDBConnection, sql: string): Promise<string[][]> {
  return (await (await connection.run(sql)).getRows()) as string[][]
}

const [memoryMb = "512"] = process.argv.slice(2)
const instance = await DuckDBInstance.create(":memory:", {
  threads: "2",
  memory_limit: `${memoryMb}MiB`,
  autoinstall_known_extensions: "false",
  autoload_known_extensions: "false",
})
const connection = await instance.connect()
await connection.run(
  "SET TimeZone = 'UTC'; SET preserve_insertion_order = true; SET temp_directory = ''; SET enable_external_file_cache = false",
)

// Flushed now: the process is killed at its end, and would otherwise save no compiled code.
flushCompileCache()

let last: Promise<unknown> = Promise.resolve()
process.on("message", ({ id, task }: SegmentRequest) => {
  last = last.then(async () => {
    let reply: SegmentReply
    try {
      reply = { id, result: await run(connection, task), residentBytes: process.memoryUsage.rss() }
    } catch (error) {
      reply = { id, failed: error instanceof Error ? error.message : String(error) }
    }
    process.send?.(reply)
  })
})
process.send?.("ready")
// An ordinary exit would wait for the engine's threads, and so for their current statement.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"))
