// Lists of conversations in a large organization, on each store and channel: a million messages in 50,000 conversations, with
// their leads and opt-outs. Goal: 20 ms per page.
import type { Channel } from "../../../plugins/people/conversations/channels.ts"
import { addressOf, fillConversations, fillPeople, numberOf } from "../../plugins/conversations/many.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { filledRows, type Get, type Queries } from "../service/filled.ts"
import type { Row } from "../table.ts"

const many = { conversations: 50_000, messagesEach: 20 }
/** Pages of 200 before the measured pages in the middle. */
const deep = 125

export async function* conversationRows(options: BenchOptions): AsyncGenerator<Row> {
  const channelsOn = (store: string) =>
    (["chat_app", "sms"] as const).filter((channel) => isSelected(options, `conversations/${store}/${words[channel]}/`))
  yield* filledRows(options, {
    area: "conversations",
    allowedMs: 20,
    async fill(host, store) {
      await fillPeople(host, many)
      for (const channel of channelsOn(store))
        await fillConversations(host, channel, many, (completed) =>
          options.note(`conversations/${store}: ${completed} of ${many.conversations} by ${channel}`),
        )
    },
    async buildQueries(get, store) {
      const asks: [string, (place: number) => Promise<unknown>][] = []
      for (const channel of channelsOn(store))
        for (const [name, ask] of Object.entries(await conversationQueries(channel, get))) asks.push([`${words[channel]}/${name}`, ask])
      return Object.fromEntries(asks)
    },
  })
}

const words = { chat_app: "chat", sms: "text" } as const

async function conversationQueries(channel: Channel, get: Get): Promise<Queries> {
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
  const pick = (place: number) => some[place % some.length]
  return {
    "first-50": () => list("limit=50"),
    "first-200": () => list("limit=200"),
    "next-50": await from(0),
    "deep-50": await from(deep),
    number: (place) => list(`limit=50&phone_number=${text(numberOf(place))}`),
    person: (place) => list(`address=${text(addressOf(spread(place)))}`),
    lead: (place) => list(`canonical_lead_id=${pick(place)?.canonical_lead_id}`),
    messages: (place) => get(`${path}/${pick(place)?.session_id}`),
    "opt-outs": () => get(`/v1/voice/opt-outs?channel=${channel}&limit=50`),
  }
}
