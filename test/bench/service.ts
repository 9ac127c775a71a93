// The service under test, in a process of its own: prints where it listens, answers the books (rows, entries) on request.
import { mkdtempSync, rmSync } from "node:fs"
import { join, resolve } from "node:path"
import { EntryCollection, Store } from "#core"
import { testHost } from "#core/testing"
import { RowsCollection } from "../../plugins/datasets/collections.ts"

/** On the project's own disk: /tmp may be memory. */
const dataDir = mkdtempSync(join(resolve(import.meta.dirname, "../.."), "data-bench-"))
const host = await testHost({
  dataDir,
  env: {
    MILLRACE_LOG_LEVEL: "warn",
    ...(process.env["BENCH_STORAGE_URL"] ? { MILLRACE_STORAGE_URL: process.env["BENCH_STORAGE_URL"] } : {}),
  },
})
const document = JSON.parse(process.env["BENCH_PIPELINE"] ?? "{}") as unknown
const { body } = await host.api<{ inbound_url: string; secret?: string }>("POST", "/v1/event-pipelines", document)
process.send?.({ url: body.inbound_url, secret: body.secret })

process.on("message", (message) => {
  if (message !== "books") return
  const store = host.get(Store)
  const count = async () => ({
    entries: await store.open(EntryCollection, host.organization.id).count({ status: "accepted" }, { deadlineMs: 60_000 }),
    rows: await store.open(RowsCollection, host.organization.id).count({}, { deadlineMs: 60_000 }),
    cpu: process.cpuUsage(),
  })
  void count().then((books) => process.send?.({ books }))
})
process.on("disconnect", () => {
  host
    .stop()
    .catch(() => undefined)
    .finally(() => {
      rmSync(dataDir, { recursive: true, force: true })
      process.exit(0)
    })
})
