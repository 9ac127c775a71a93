// Settings of an engine for untrusted queries: no files except its segments, no extensions, no spilling.
import type { DuckDBConnection } from "@duckdb/node-api"
import { literal } from "../event-columns.ts"

export function startSettings(threads: number, memoryMb: number): Record<string, string> {
  return {
    threads: String(threads),
    memory_limit: `${memoryMb}MiB`,
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
    allow_unsigned_extensions: "false",
  }
}

/** Call after the views are created. Later settings are refused. */
export async function lockDown(connection: DuckDBConnection, files: readonly string[]): Promise<void> {
  await connection.run(`SET allowed_paths = [${files.map(literal).join(", ")}]`)
  await connection.run("SET allowed_directories = []")
  await connection.run("SET enable_external_access = false")
  await connection.run("SET lock_configuration = true")
}
