// Runs one query in an engine without limits. The parent observes its memory and its end.
import { DuckDBInstance } from "@duckdb/node-api"

const sql = process.argv[2] ?? ""
const instance = await DuckDBInstance.create(":memory:", { memory_limit: "4GiB" })
const connection = await instance.connect()
setInterval(() => process.send?.({ rss: process.memoryUsage.rss() }), 20)
await connection.runAndReadAll(sql).catch(() => undefined)
process.send?.({ done: true, rss: process.memoryUsage.rss(), most: process.resourceUsage().maxRSS * 1_024 })
process.disconnect()
process.exit(0)
