// Measures single requests to a service with prepared data, on each store.
import { randomBytes } from "node:crypto"
import { type TestHost, testHost } from "#core/testing"
import { benchFolder } from "../machine.ts"
import { type BenchOptions, BenchProblem, isSelected } from "../options.ts"
import { type Row, rowOf } from "../table.ts"
import { startMongo } from "./mongo.ts"
import { startService } from "./service.ts"

export type Get = <T>(path: string) => Promise<T>

/** By the end of the row's name. Sends one request; `place` counts the requests after the first. */
export type Queries = Readonly<Record<string, (place: number) => Promise<unknown>>>

interface Filled {
  /** Prefix of the row names. */
  readonly area: string
  readonly allowedMs: number
  fill(host: TestHost, store: string): Promise<void>
  buildQueries(get: Get, store: string): Promise<Queries>
}

const stores = ["sqlite", "mongodb"] as const
const warm = 20
const asks = 200

export async function* filledRows(options: BenchOptions, filled: Filled): AsyncGenerator<Row> {
  for (const store of stores) {
    if (!isSelected(options, `${filled.area}/${store}/`)) continue
    const mongo = store === "mongodb" ? await startMongo() : undefined
    if (store === "mongodb" && !mongo)
      throw new BenchProblem(`${filled.area}/mongodb: there is no mongod to be had; name one by MONGOMS_SYSTEM_BINARY.`)
    try {
      yield* rowsOn(store, mongo?.url, options, filled)
    } finally {
      await mongo?.stop()
    }
  }
}

async function* rowsOn(store: string, storageUrl: string | undefined, options: BenchOptions, filled: Filled): AsyncGenerator<Row> {
  const limits = { MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "1000000", MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "1000000" }
  const own = { MILLRACE_MASTER_KEY: randomBytes(32).toString("base64"), ...limits }
  const dataDir = benchFolder()
  const filling = await testHost({
    dataDir,
    env: { ...own, MILLRACE_LOG_LEVEL: "warn", ...(storageUrl === undefined ? {} : { MILLRACE_STORAGE_URL: storageUrl }) },
  })
  const { adminKey } = filling
  try {
    await filled.fill(filling, store)
  } finally {
    await filling.stop()
  }
  const service = await startService({
    ...(storageUrl === undefined ? {} : { storageUrl }),
    env: { ...own, MILLRACE_DATA_DIR: dataDir },
  })
  try {
    const get: Get = async <T>(path: string) => {
      const answer = await fetch(service.url + path, { headers: { authorization: `Bearer ${adminKey}` } })
      if (!answer.ok) throw new BenchProblem(`GET ${path} was answered ${answer.status}: ${await answer.text()}`)
      return (await answer.json()) as T
    }
    for (const [name, ask] of Object.entries(await filled.buildQueries(get, store))) {
      const row = `${filled.area}/${store}/${name}`
      if (!isSelected(options, row)) continue
      options.note(row)
      for (let place = 0; place < warm; place++) await ask(place)
      const took: number[] = []
      const before = service.tree.cpuUs()
      for (let place = 0; place < asks; place++) {
        const from = performance.now()
        await ask(place)
        took.push(performance.now() - from)
      }
      const cpu = (service.tree.cpuUs() - before) / asks / 1_000
      const late = took.toSorted((a, b) => a - b)[Math.floor(asks * 0.9)] ?? Number.NaN
      const note = `90 of 100 within ${late.toFixed(1)} ms; ${cpu.toFixed(1)} ms of the service's CPU`
      yield rowOf(row, "ms", took, "allowed", [filled.allowedMs], note)
    }
  } finally {
    await service.stop()
  }
}
