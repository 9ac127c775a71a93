// Lists of conversations in a large organization: a million messages in 50,000 conversations.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"
import { expectWithin } from "../../tier.ts"
import { addressOf, fillConversations, fillPeople, numberOf } from "./many.ts"
import type { Conversation } from "./webhooks.ts"

const conversations = 50_000
const messagesEach = 20
const asks = 200

onBothStores("conversations at size", ({ start }) => {
  let host: TestHost
  before(async function () {
    this.timeout(1_800_000)
    host = await start({
      env: { MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "1000000", MILLRACE_RATE_LIMITS_ORGANIZATION_PER_MINUTE: "1000000" },
    })
    await fillPeople(host, { conversations, messagesEach })
    await fillConversations(host, "chat_app", { conversations, messagesEach })
  })

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
    const request: Record<string, (place: number) => Promise<unknown>> = {
      "first page of 50": () => list("limit=50"),
      "first page of 200": () => list("limit=200"),
      "page after page of 50": async () => {
        const page = await list(`limit=50&cursor=${encodeURIComponent(cursor)}`)
        cursor = page.next_cursor
        return page
      },
      "of one number": (place) => list(`limit=50&phone_number=${encodeURIComponent(numberOf(place))}`),
      "of one person": (place) => list(`address=${encodeURIComponent(addressOf((place * 211) % conversations))}`),
      "one with its messages": () => host.api("GET", `${path}/${newest?.session_id}`),
    }
    for (const [what, ask] of Object.entries(request)) {
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
