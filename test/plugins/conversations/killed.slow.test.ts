// Two nodes on one MongoDB receive the same deliveries and send messages, and one is killed. No message is lost or doubled, and
// people who refused receive no messages.
import type { ServerResponse } from "node:http"
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { type Api, apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { isSoak } from "../../tier.ts"
import { patiently, untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { connect, type Providers, providerEnv, type Sent, startProviders } from "./providers.ts"
import {
  type Conversation,
  chatMessage,
  type Endpoints,
  type Message,
  type MetaValue,
  makePipelines,
  own,
  postMeta,
  postTwilio,
} from "./webhooks.ts"

const people = Array.from({ length: isSoak ? 40 : 20 }, (_, n) => `+4915400000${String(n).padStart(3, "0")}`)
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
  let urls: Endpoints
  let start: (faults?: readonly string[]) => Promise<ServiceProcess>
  before(async () => {
    providers = await startProviders()
    // Their clocks are the machine's, so quiet hours are disabled.
    const loud = pluginSettings({ conversations: { quiet_from: "00:00", quiet_until: "00:00" } })
    const env = { MILLRACE_STORAGE_URL: await lendDatabaseToFile(), ...providerEnv(providers), ...loud }
    start = (faults = []) => startService({ dataDir: folder.path, env, faults })
    nodes = [await start()]
    nodes.push(await start())
    const [first] = nodes as [ServiceProcess]
    api = apiOf(first, folder.path)
    // A host object for the helpers of single-service tests.
    const host = { api: async (method, path, body) => ({ status: 200, body: await api(method, path, body) }) } as TestHost
    urls = await makePipelines(host)
    endpoint = new URL(urls.meta).pathname
    await api("PUT", "/v1/event-pipelines/webhooks-of-twilio", {
      pipeline: [{ type: "conversation.receive", provider: "twilio", message_id: "{{ query.message_id }}" }],
    })
    await connect(host, providers, urls.twilio)
    key = (await api<{ secret: string }>("POST", "/v1/api-keys", { name: "sender", role: "member" })).secret
  })
  after(async () => {
    for (const node of nodes) await node.kill()
    await providers?.close()
    folder.remove()
  })

  const listConversations = () => api<{ conversations: Conversation[] }>("GET", "/v1/voice/chatapp-conversations?limit=200")

  let calls = 0
  /** Tries the nodes in turn until one answers, like a provider or a client. */
  const anyNode = (ask: (url: string) => Promise<Response>) =>
    until("an answer of some node", async () => {
      const node = nodes[calls++ % nodes.length]
      const answer = await ask(node?.url ?? "").catch(() => undefined)
      return answer !== undefined && answer.status < 500 ? answer : undefined
    })
  const deliver = async (value: MetaValue) => {
    // Each delivery arrives twice, at any node.
    const answers = await Promise.all([1, 2].map(() => anyNode((url) => postMeta(url + endpoint, value))))
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
  }
  const send = async (to: string, text: string, channel = "chat_app"): Promise<Answer> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": `${to}-${text}` }
    const body = JSON.stringify({ channel, from: own, to, text })
    const answer = await until("an answer that stands", async () => {
      const response = await anyNode((url) => fetch(`${url}/v1/voice/messages`, { method: "POST", headers, body }))
      // Still running on another node, or on the killed one.
      return response.status === 409 ? undefined : response
    })
    return (await answer.json()) as Answer
  }

  /** Between the two events the providers accept messages without an answer; then the connections break. */
  const holding = () => {
    const messages: Sent[] = []
    const silent: ServerResponse[] = []
    let isHolding = false
    providers.instead = (message, response) => {
      if (!isHolding) return false
      messages.push(message)
      silent.push(response)
      return true
    }
    const hold = () => {
      isHolding = true
    }
    const letGo = () => {
      isHolding = false
      for (const response of silent) response.destroy()
    }
    return { held: messages, hold, letGo }
  }

  it("keeps each message once, sends each at most once, and writes to nobody who refused", async () => {
    const { held: outgoings, hold, letGo } = holding()
    const requests = new Map<string, string>()
    const refusals: string[] = []
    const say = (person: string, n: number, body: string) =>
      deliver(chatMessage(`wamid.k-${person}-${n}`, person, { at: Date.now(), name: `Person ${n}`, body }))
    let reached = 0
    const chat = async (person: string) => {
      await say(person, 1, "Hi")
      await say(person, 2, "Are you there?")
      const first = await send(person, "first")
      expect(first.message_id, JSON.stringify(first)).to.be.a("string")
      requests.set(first.message_id ?? "", person)
      await say(person, 3, refusing.includes(person) ? "STOP!" : "Fine")
      // Most people with a held second message have not refused.
      if (++reached === 8) hold()
      const second = await send(person, "second")
      if (second.message_id) requests.set(second.message_id, person)
      else refusals.push(`${person} ${second.details?.reason}`)
    }
    const kill = async () => {
      await until("calls that are not answered", () => outgoings.length >= 3)
      await nodes.pop()?.kill()
      letGo()
    }
    await Promise.all([kill(), ...people.map(chat)])

    expect([...new Set(refusals)]).to.have.members(refusing.map((person) => `${person} recipient_opted_out`))
    const conversations = await until("every conversation", async () => {
      const { conversations: all } = await listConversations()
      return all.length === people.length ? all : undefined
    })
    const messagesOf = async ({ session_id }: Conversation) =>
      (await api<{ messages: Message[] }>("GET", `/v1/voice/chatapp-conversations/${session_id}`)).messages
    const pages = await until("every message being settled", async () => {
      const all = await Promise.all(
        conversations.map(async (conversation) => ({ ...conversation, messages: await messagesOf(conversation) })),
      )
      const isOver = ({ state }: Message) => !["queued", "sending"].includes(state)
      return all.every(({ messages }) => messages.every(isOver)) ? all : undefined
    })
    // Each delivered message is stored once, and so is each message of a client.
    for (const { address, messages: stored } of pages) {
      const received = stored.filter(({ direction }) => direction === "in").map(({ provider_message_id }) => provider_message_id)
      expect(received, address).to.have.members([1, 2, 3].map((n) => `wamid.k-${address}-${n}`))
    }
    const messages = pages.flatMap((page) => page.messages).filter(({ direction }) => direction === "out")
    expect(messages.map(({ id }) => id)).to.have.members([...requests.keys()])
    // A message counts unless it was waiting when the person refused: the service did not send it.
    const unsent = messages.filter(({ state }) => state === "refused")
    for (const { id, error } of unsent) {
      expect(refusing, id).to.include(requests.get(id))
      expect(error?.code, id).to.equal("recipient_opted_out")
    }
    const counts = new Map(
      pages.map(({ address, messages: stored }) => [address, stored.filter((message) => !unsent.includes(message)).length] as const),
    )
    await until("the counts", async () =>
      (await listConversations()).conversations.every((conversation) => conversation.message_count === counts.get(conversation.address)),
    )
    const suppressed = (await listConversations()).conversations.filter((conversation) => conversation.suppressed)
    expect(suppressed.map(({ address }) => address)).to.have.members(refusing)

    const allMessages = [...providers.sent, ...outgoings]
    const times = (id: string) => allMessages.filter(({ message_id }) => message_id === id).length
    for (const { id, state } of messages) {
      if (state === "accepted") expect(times(id), `${id} ${state}`).to.equal(1)
      else if (state === "unknown") expect(times(id), `${id} ${state}`).to.be.at.most(1)
      else expect([state, times(id)], id).to.deep.equal(["refused", 0])
    }
    const toRefusing = allMessages.filter(({ to, text }) => refusing.includes(to) && text === "second")
    expect(toRefusing, "written to who had refused").to.deep.equal([])
    const unknown = messages.filter(({ state }) => state === "unknown")
    expect(unknown.length).to.be.greaterThan(0)

    // The provider's reports reveal messages that it received after all.
    for (const message of outgoings) {
      const status = { id: message.provider_id, status: "delivered", timestamp: "1780000000", biz_opaque_callback_data: message.message_id }
      await deliver({ statuses: [status] })
    }
    for (const { message_id, to } of outgoings) {
      await until("the report being taken", async () => {
        const conversation = conversations.find(({ address }) => address === to)
        const page = await api<{ messages: Message[] }>("GET", `/v1/voice/chatapp-conversations/${conversation?.session_id}`)
        return page.messages.find(({ id }) => id === message_id)?.state === "delivered"
      })
    }
  })

  it("sends each text message at most once, and takes Twilio's word for those that nobody can tell of", async () => {
    nodes.push(await start())
    const { held: outgoings, hold, letGo } = holding()
    const to = Array.from({ length: 16 }, (_, n) => `+4915500000${String(n).padStart(3, "0")}`)
    for (const person of to.slice(0, 4)) await send(person, "text", "sms")
    hold()
    const kill = async () => {
      await until("calls that are not answered", () => outgoings.length >= 4)
      await nodes.pop()?.kill()
      letGo()
    }
    await Promise.all([kill(), ...to.slice(4).map((person) => send(person, "text", "sms"))])
    const textsTo = async (person: string) => {
      const path = "/v1/voice/text-conversations"
      const { conversations } = await api<{ conversations: Conversation[] }>("GET", `${path}?address=${encodeURIComponent(person)}`)
      const [conversation] = conversations
      return conversation ? (await api<{ messages: Message[] }>("GET", `${path}/${conversation.session_id}`)).messages : []
    }
    const settledMessages = await until("every message being settled", async () => {
      const messages = (await Promise.all(to.map(textsTo))).flat()
      return messages.length === to.length && messages.every(({ state }) => ["accepted", "unknown"].includes(state)) ? messages : undefined
    })
    const allMessages = [...providers.sent, ...outgoings]
    for (const { id, state } of settledMessages) {
      const times = allMessages.filter(({ message_id }) => message_id === id).length
      if (state === "accepted") expect(times, id).to.equal(1)
      else expect(times, id).to.be.at.most(1)
    }
    expect(settledMessages.filter(({ state }) => state === "unknown")).to.not.be.empty
    for (const message of outgoings) {
      const fields = { MessageSid: message.provider_id, MessageStatus: "delivered", To: message.to, From: own }
      const report = () => postTwilio(`${urls.twilio}?message_id=${message.message_id}`, fields)
      expect((await patiently(report)).status).to.equal(200)
      await until("the report being taken", async () => (await textsTo(message.to))[0]?.state === "delivered")
    }
  })

  it("folds on another node what one took that was killed before its job, once", async () => {
    const stuck = await start(["no-fold"])
    nodes.push(stuck)
    const person = "+4915600000001"
    const messageOf = (n: number) => chatMessage(`wamid.unfolded-${n}`, person, { at: Date.now() + n, body: `Hi ${n}` })
    const path = `/v1/voice/chatapp-conversations?address=${encodeURIComponent(person)}`
    const counted = async () =>
      (await api<{ conversations: Conversation[] }>("GET", path)).conversations.map((conversation) => conversation.message_count)
    expect((await patiently(() => postMeta(nodes[0]?.url + endpoint, messageOf(1)))).status).to.equal(200)
    await until("the first message", async () => (await counted())[0] === 1)
    const second = messageOf(2)
    expect((await patiently(() => postMeta(stuck.url + endpoint, second))).status).to.equal(200)
    expect(await counted()).to.deep.equal([1])
    await nodes.pop()?.kill()
    await until("the conversation being whole", async () => (await counted())[0] === 2)
    await deliver(second)
    await deliver(messageOf(3))
    await until("the next message", async () => (await counted())[0] === 3)
  })
})
