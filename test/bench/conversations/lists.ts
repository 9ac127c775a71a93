// Lists of conversations at the size of a large organization, on each store and channel: a million messages in 50,000
// conversations, with the leads and opt-outs that stand beside them. Goal: 20 ms a page.
import { randomBytes } from "node:crypto"
import { testHost } from "#core/testing"
import type { Channel } from "../../../plugins/conversations/channels.ts"
import { addressOf, fillConversations, fillPeople, numberOf } from "../../plugins/conversations/many.ts"
import { benchFolder } from "../machine.ts"
import { type BenchOptions, BenchProblem, wanted } from "../options.ts"
import { startMongo } from "../service/mongo.ts"
import { startService } from "../service/service.ts"
import { type Row, rowOf } from "../table.ts"

const many = { conversations: 50_000, messagesEach: 20 }
const allowedMs = 20
const warm = 20
const asks = 200
/** Pages of 200 that are passed before pages are read from the middle. */
const deep = 125

export async function* conversationRows(options: BenchOptions): AsyncGenerator<Row> {
  for (const store of ["sqlite", "mongodb"] as const) {
    if (!wanted(options, `conversations/${store}/`)) continue
    const mongo = store === "mongodb" ? await startMongo() : undefined
    if (store === "mongodb" && !mongo)
      throw new BenchProblem("conversations/mongodb: there is no mongod to be had; name one by MONGOMS_SYSTEM_BINARY.")
    try {
      yield* rowsOn(store, mongo?.url, options)
    } finally {
      await mongo?.stop()
    }
  }
}

async function* rowsOn(store: string, storageUrl: string | undefined, options: BenchOptions): AsyncGenerator<Row> {
  const limits = { MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "1000000", MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "1000000" }
  const own = { MILLRACE_MASTER_KEY: randomBytes(32).toString("base64"), ...limits }
  const dataDir = benchFolder()
  const filling = await testHost({
    dataDir,
    env: { ...own, MILLRACE_LOG_LEVEL: "warn", ...(storageUrl === undefined ? {} : { MILLRACE_STORAGE_URL: storageUrl }) },
  })
  const channels = (["chat_app", "sms"] as const).filter((channel) => wanted(options, `conversations/${store}/${words[channel]}/`))
  await fillPeople(filling, many)
  for (const channel of channels)
    await fillConversations(filling, channel, many, (done) =>
      options.note(`conversations/${store}: ${done} of ${many.conversations} by ${channel}`),
    )
  const { adminKey } = filling
  await filling.stop()
  const service = await startService({
    ...(storageUrl === undefined ? {} : { storageUrl }),
    env: { ...own, MILLRACE_DATA_DIR: dataDir },
  })
  try {
    const get = async <T>(path: string): Promise<T> => {
      const answer = await fetch(service.url + path, { headers: { authorization: `Bearer ${adminKey}` } })
      if (!answer.ok) throw new BenchProblem(`GET ${path} was answered ${answer.status}: ${await answer.text()}`)
      return (await answer.json()) as T
    }
    for (const channel of channels) {
      for (const [name, ask] of Object.entries(await asked(channel, get))) {
        const row = `conversations/${store}/${words[channel]}/${name}`
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
        yield rowOf(
          row,
          "ms",
          took,
          "allowed",
          [allowedMs],
          `90 of 100 within ${late.toFixed(1)} ms; ${cpu.toFixed(1)} ms of the service's CPU`,
        )
      }
    }
  } finally {
    await service.stop()
  }
}

const words = { chat_app: "chat", sms: "text" } as const

type Get = <T>(path: string) => Promise<T>

async function asked(channel: Channel, get: Get): Promise<Record<string, (place: number) => Promise<unknown>>> {
  interface List {
    readonly conversations: readonly { readonly session_id: string; readonly canonical_lead_id: string }[]
    readonly next_cursor: string
  }
  const path = `/v1/voice/${channel === "sms" ? "text" : "chatapp"}-conversations`
  const list = (query: string) => get<List>(`${path}?${query}`)
  const spread = (place: number) => (place * 211) % many.conversations
  const text = encodeURIComponent
  const from = async (pages: number) => {
    let cursor = ""
    for (let page = 0; page < pages; page++) cursor = (await list(`limit=200&cursor=${text(cursor)}`)).next_cursor
    return async () => {
      cursor = (await list(`limit=50&cursor=${text(cursor)}`)).next_cursor
    }
  }
  const some = (await list("limit=200")).conversations
  const one = (place: number) => some[place % some.length]
  return {
    "first-50": () => list("limit=50"),
    "first-200": () => list("limit=200"),
    "next-50": await from(0),
    "deep-50": await from(deep),
    number: (place) => list(`limit=50&phone_number=${text(numberOf(place))}`),
    person: (place) => list(`address=${text(addressOf(spread(place)))}`),
    lead: (place) => list(`canonical_lead_id=${one(place)?.canonical_lead_id}`),
    messages: (place) => get(`${path}/${one(place)?.session_id}`),
    "opt-outs": () => get(`/v1/voice/opt-outs?channel=${channel}&limit=50`),
  }
}
