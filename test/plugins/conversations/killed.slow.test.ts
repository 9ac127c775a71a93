// Two nodes on one MongoDB take the same deliveries and send, and one is killed in the middle: no message is lost, none is
// doubled, and nobody who refused is written to.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { type Api, apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { mongoAvailable, sharedMongo } from "../../mongodb-server.ts"
import { until } from "../../waiting.ts"
import { connect, type Providers, providerEnv, type Sent, startProviders } from "./providers.ts"
import { type Conversation, chatMessage, type Endpoints, type Message, type MetaValue, makePipelines, own, postMeta } from "./webhooks.ts"

const people = Array.from({ length: 40 }, (_, n) => `+4915400000${String(n).padStart(3, "0")}`)
const refusing = people.filter((_, n) => n % 4 === 0)

interface Answer {
  readonly message_id?: string
  readonly details?: { reason: string }
}

const suite = mongoAvailable ? describe : describe.skip
suite("conversations on two nodes of which one is killed", () => {
  const folder = freshFolder()
  let providers: Providers
  let nodes: ServiceProcess[] = []
  let api: Api
  let key = ""
  let endpoint = ""
  before(async function () {
    this.timeout(180_000)
    providers = await startProviders()
    const env = { MILLRACE_STORAGE_URL: (await sharedMongo()).freshUrl(), ...providerEnv(providers) }
    const start = () => startService({ dataDir: folder.path, env })
    nodes = [await start()]
    nodes.push(await start())
    const [first] = nodes as [ServiceProcess]
    api = apiOf(first, folder.path)
    // As a test of one service calls it.
    const host = { api: async (method, path, body) => ({ status: 200, body: await api(method, path, body) }) } as TestHost
    const urls: Endpoints = await makePipelines(host)
    endpoint = new URL(urls.meta).pathname
    await connect(host, providers)
    key = (await api<{ secret: string }>("POST", "/v1/api-keys", { name: "sender", role: "member" })).secret
  })
  after(async () => {
    for (const node of nodes) await node.kill()
    await providers?.close()
    folder.remove()
  })

  let calls = 0
  /** Asks one node after the other until one answers, as a provider or a client does. */
  const anyNode = (ask: (url: string) => Promise<Response>) =>
    until("an answer of some node", async () => {
      const node = nodes[calls++ % nodes.length]
      const answer = await ask(node?.url ?? "").catch(() => undefined)
      return answer !== undefined && answer.status < 500 ? answer : undefined
    })
  const deliver = async (value: MetaValue) => {
    // Every delivery comes twice, to whichever node.
    const answers = await Promise.all([1, 2].map(() => anyNode((url) => postMeta(url + endpoint, value))))
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
  }
  const send = async (to: string, text: string): Promise<Answer> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": `${to}-${text}` }
    const body = JSON.stringify({ channel: "chat_app", from: own, to, text })
    const answer = await until("an answer that stands", async () => {
      const given = await anyNode((url) => fetch(`${url}/v1/voice/messages`, { method: "POST", headers, body }))
      // Still running elsewhere, or on the node that went.
      return given.status === 409 ? undefined : given
    })
    return (await answer.json()) as Answer
  }

  it("keeps each message once, sends each at most once, and writes to nobody who refused", async () => {
    const held: Sent[] = []
    let isHolding = false
    providers.instead = (sent) => {
      if (!isHolding) return false
      held.push(sent)
      return true
    }
    const asked = new Map<string, string>()
    const refusals: string[] = []
    const say = (person: string, n: number, body: string) =>
      deliver(chatMessage(`wamid.k-${person}-${n}`, person, { at: Date.now(), name: `Person ${n}`, body }))
    const chat = async (person: string, place: number) => {
      await say(person, 1, "Hi")
      await say(person, 2, "Are you there?")
      const first = await send(person, "first")
      expect(first.message_id, JSON.stringify(first)).to.be.a("string")
      asked.set(first.message_id ?? "", person)
      await say(person, 3, refusing.includes(person) ? "STOP!" : "Fine")
      if (place === 15) isHolding = true
      const second = await send(person, "second")
      if (second.message_id) asked.set(second.message_id, person)
      else refusals.push(`${person} ${second.details?.reason}`)
    }
    const kill = async () => {
      await until("calls that are not answered", () => held.length >= 3)
      await nodes.pop()?.kill()
      isHolding = false
    }
    await Promise.all([kill(), ...people.map(chat)])

    expect([...new Set(refusals)]).to.have.members(refusing.map((person) => `${person} recipient_opted_out`))
    const conversations = await until("every conversation being whole", async () => {
      const { conversations: all } = await api<{ conversations: Conversation[] }>("GET", "/v1/voice/chatapp-conversations?limit=200")
      return all.length === people.length && all.every((one) => one.message_count === (one.suppressed ? 4 : 5)) ? all : undefined
    })
    expect(conversations.filter(({ suppressed }) => suppressed).map(({ address }) => address)).to.have.members(refusing)
    const messages = await until("every message being settled", async () => {
      const pages = await Promise.all(
        conversations.map(({ session_id }) => api<{ messages: Message[] }>("GET", `/v1/voice/chatapp-conversations/${session_id}`)),
      )
      const sent = pages.flatMap((page) => page.messages).filter(({ direction }) => direction === "out")
      return sent.every(({ state }) => !["queued", "sending"].includes(state)) ? sent : undefined
    })
    expect(messages.map(({ id }) => id)).to.have.members([...asked.keys()])

    const taken = [...providers.sent, ...held]
    const times = (id: string) => taken.filter(({ message_id }) => message_id === id).length
    for (const { id, state } of messages) {
      if (state === "accepted") expect(times(id), `${id} ${state}`).to.equal(1)
      else if (state === "unknown") expect(times(id), `${id} ${state}`).to.be.at.most(1)
      else expect([state, times(id)], id).to.deep.equal(["refused", 0])
    }
    const toRefusing = taken.filter(({ to, text }) => refusing.includes(to) && text === "second")
    expect(toRefusing, "written to who had refused").to.deep.equal([])
    const unknown = messages.filter(({ state }) => state === "unknown")
    expect(unknown.length).to.be.greaterThan(0)

    // What the provider has after all is told by its reports.
    for (const sent of held) {
      const status = { id: sent.provider_id, status: "delivered", timestamp: "1780000000", biz_opaque_callback_data: sent.message_id }
      await deliver({ statuses: [status] })
    }
    for (const { message_id, to } of held) {
      await until("the report being taken", async () => {
        const found = conversations.find(({ address }) => address === to)
        const page = await api<{ messages: Message[] }>("GET", `/v1/voice/chatapp-conversations/${found?.session_id}`)
        return page.messages.find(({ id }) => id === message_id)?.state === "delivered"
      })
    }
  }).timeout(240_000)
})
