// Measures the console's lists over a full store, and the cost per event of the full-text index.
import { randomBytes } from "node:crypto"
import { type Clock, Ids, Leases, Log, Settings, Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { EventIndexPartCollection } from "../../../plugins/capture/executions/collections.ts"
import { IndexBuilder } from "../../../plugins/capture/executions/finding/builder.ts"
import { Organizations } from "../../../plugins/platform/organizations/index.ts"
import { benchFolder } from "../machine.ts"
import { type BenchOptions, BenchProblem, isSelected } from "../options.ts"
import { startMongo } from "../service/mongo.ts"
import { startService } from "../service/service.ts"
import { type Row, rowOf } from "../table.ts"
import { askedRows } from "./asked.ts"
import { days, type Full, fillStore, pipelines } from "./full-store.ts"

const dayMs = 86_400_000
const maxRows = 1_000_000

export async function* eventRows(options: BenchOptions): AsyncGenerator<Row> {
  for (const store of ["sqlite", "mongodb"] as const) {
    if (!isSelected(options, `events/${store}/`)) continue
    const mongo = store === "mongodb" ? await startMongo() : undefined
    if (store === "mongodb" && !mongo)
      throw new BenchProblem("events/mongodb: there is no mongod to be had; name one by MONGOMS_SYSTEM_BINARY.")
    try {
      yield* rowsOn(`events/${store}/`, mongo?.url, options)
    } finally {
      await mongo?.stop()
    }
  }
}

async function* rowsOn(area: string, storageUrl: string | undefined, options: BenchOptions): AsyncGenerator<Row> {
  const { events, note } = options
  const limits = { MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "1000000", MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "1000000" }
  const own = { MILLRACE_MASTER_KEY: randomBytes(32).toString("base64"), ...limits }
  const dataDir = benchFolder()
  const filling = await testHost({
    dataDir,
    env: {
      ...own,
      MILLRACE_LOG_LEVEL: "error",
      // Otherwise the index would follow during the filling, and its measured cost would be too low.
      MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ events: { find_index: false } }),
      ...(storageUrl !== undefined && { MILLRACE_STORAGE_URL: storageUrl }),
    },
  })
  const full: Full = { events, rows: Math.min(events, maxRows), began: Date.now() - days * dayMs - 600_000 }
  const { adminKey } = filling
  note(`${area}: ${events} events of ${pipelines} pipelines in ${days} days`)
  await fillStore(filling, full, (text) => note(`${area}: ${text}`))
  note(`${area}: indexing`)
  const indexed = await indexCosts(filling, events)
  await filling.stop()
  const { cpuUs, bytes } = indexed
  yield rowOf(`${area}index`, "µs an event", [cpuUs], "", [], `of CPU; ${Math.round(bytes)} bytes an event in the store`)
  const service = await startService({
    ...(storageUrl === undefined ? {} : { storageUrl }),
    env: { ...own, MILLRACE_DATA_DIR: dataDir },
  })
  try {
    yield* askedRows({ service, key: adminKey, full, area, wanted: (name) => isSelected(options, name), note })
  } finally {
    await service.stop()
  }
}

/** Builds the whole index without the pauses of a running service. */
export async function indexCosts(host: TestHost, events: number): Promise<{ readonly cpuUs: number; readonly bytes: number }> {
  const { payloads_days: payloadsDays } = host.get(Settings).retention
  const builder = new IndexBuilder({
    store: host.get(Store),
    works: host.get(UnitsOfWork),
    clock: restless(host.clock),
    ids: host.get(Ids),
    leases: host.get(Leases),
    log: host.get(Log),
    organizations: () => host.get(Organizations).all(),
    payloadsDays,
  })
  const before = process.cpuUsage()
  await builder.turn()
  const { user, system } = process.cpuUsage(before)
  let bytes = 0
  for await (const { base64 } of host.get(Store).open(EventIndexPartCollection, host.organization.id).stream({})) bytes += base64.length
  return { cpuUs: (user + system) / events, bytes: bytes / events }
}

function restless(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(_ms, run) {
      const soon = setImmediate(run)
      return () => clearImmediate(soon)
    },
  }
}
