// Lists of conversations at the size of a large organization: a million messages in 50,000 conversations.
import { expect } from "chai"
import { Store, timestamp } from "#core"
import { StagedWork } from "#core/engine"
import type { TestHost } from "#core/testing"
import { collections, conversationId, messageId } from "../../../plugins/conversations/channels.ts"
import { foldedFrom } from "../../../plugins/conversations/fold/fold.ts"
import type { StoredMessage } from "../../../plugins/conversations/messages.ts"
import { OptOutsToken } from "../../../plugins/conversations/opt-out/ledger.ts"
import { onBothStores } from "../../pipelines/stores.ts"
import { expectWithin } from "../../tier.ts"
import type { Conversation } from "./webhooks.ts"

const conversations = 50_000
const messagesEach = 20
const numbers = 10
const asks = 200

onBothStores("conversations at size", ({ start }) => {
  let host: TestHost
  before(async function () {
    this.timeout(1_800_000)
    host = await start({
      env: { MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "1000000", MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "1000000" },
    })
    for (let n = 0; n < numbers; n++)
      await host.api("POST", "/v1/voice/phone-numbers", { number: `+49301234567${n}`, agent_ref: `agent-${n}` })
    for (let n = 0; n < conversations; n += 50) await fill(n, n + 50)
  })

  const addressOf = (n: number) => `+49151${10_000_000 + n}`

  async function fill(from: number, to: number): Promise<void> {
    const organization = host.organization.id
    const work = new StagedWork(`fill ${from}`)
    const { messages, conversations: stored } = collections.chat_app
    for (let n = from; n < to; n++) {
      const of = { number: `+49301234567${n % numbers}`, address: addressOf(n) }
      const conversation_id = conversationId(organization, "chat_app", of)
      // Conversations overlap in time, as they do.
      const made = Array.from({ length: messagesEach }, (_, place) => messageAt(organization, conversation_id, { n, place }))
      for (const message of made) work.in(messages, organization).insert(message)
      const [first, last] = [made.at(0), made.at(-2)] as [StoredMessage, StoredMessage]
      work.in(stored, organization).insert({
        ...foldedFrom(first, of),
        ...{
          message_count: messagesEach,
          last_inbound_at: last.at,
          last_inbound_message_id: last.id,
          activity_at: made.at(-1)?.at ?? last.at,
        },
      })
      if (n % 10 > 0) continue
      const evidence = { source: "keyword", message_id: last.id, wording: "STOP", recorded_by: null } as const
      const entry = { address: of.address, kind: "opt_out", at: last.at, identity: last.id, ...evidence } as const
      host.get(OptOutsToken).stage(work, organization, "chat_app", entry)
    }
    await work.commitTo(host.get(Store))
  }

  function messageAt(organization: string, conversation_id: string, { n, place }: { n: number; place: number }): StoredMessage {
    const at = timestamp(Date.parse("2026-01-01T00:00:00Z") + (((n * 7_919) % conversations) * messagesEach + place) * 10_000)
    const provider_id = `wamid.${n}.${place}`
    return {
      ...{ id: messageId(organization, "chat_app", provider_id), conversation_id, at, provider_id, changed_at: at },
      ...{
        direction: place % 2 === 0 ? "in" : "out",
        kind: "text",
        text: `Message ${place} of conversation ${n}, some sixty letters long.`,
      },
      ...{ profile_name: place % 2 === 0 ? `Person ${n}` : "", location: null, context: null, referral: null, reaction: null },
      ...{ content: null, media: [], template: null, state: place % 2 === 0 ? "received" : "read", error: null },
    }
  }

  interface List {
    readonly conversations: Conversation[]
    readonly next_cursor: string
  }

  it("answers pages of lists and reads within 20 ms", async function () {
    this.timeout(900_000)
    const path = "/v1/voice/chatapp-conversations"
    const list = async (query: string) => (await host.api<List>("GET", `${path}?${query}`)).body
    const [newest] = (await list("limit=1")).conversations
    let cursor = ""
    const asked: Record<string, (place: number) => Promise<unknown>> = {
      "first page of 50": () => list("limit=50"),
      "first page of 200": () => list("limit=200"),
      "page after page of 50": async () => {
        const page = await list(`limit=50&cursor=${encodeURIComponent(cursor)}`)
        cursor = page.next_cursor
        return page
      },
      "of one number": (place) => list(`limit=50&phone_number=49301234567${place % numbers}`),
      "of one person": (place) => list(`address=${encodeURIComponent(addressOf((place * 211) % conversations))}`),
      "one with its messages": () => host.api("GET", `${path}/${newest?.session_id}`),
    }
    for (const [what, ask] of Object.entries(asked)) {
      for (let place = 0; place < 10; place++) await ask(place)
      const times: number[] = []
      for (let place = 0; place < asks; place++) {
        const from = performance.now()
        await ask(place)
        times.push(performance.now() - from)
      }
      times.sort((a, b) => a - b)
      const [median = 0, late = 0] = [times[asks / 2], times[Math.floor(asks * 0.95)]]
      console.log(`${what}: median ${median.toFixed(1)} ms, 95 of 100 within ${late.toFixed(1)} ms`)
      expectWithin(20, median, what)
    }
    const page = await list("limit=200")
    expect(page.conversations).to.have.length(200)
    expect(page.conversations.every(({ display_name, agent_ref }) => display_name.startsWith("Person ") && agent_ref !== "")).to.equal(true)
    expect(page.conversations.filter(({ suppressed }) => suppressed).length).to.be.greaterThan(0)
  })
})
