// An idle conversation is closed with a digest, written by a model if available. A later message opens it again.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { givenIn } from "../../../plugins/people/conversations/digest/given.ts"
import { patiently, until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"
import { chatMessage, conversationOf, type Endpoints, makePipelines, postMeta } from "./webhooks.ts"

const hour = 3_600_000

describe("idle conversations", () => {
  let host: TestHost
  let urls: Endpoints
  let server: ModelServer
  before(async () => {
    server = await modelServer()
    const digest = { base_url: server.url, model: "digest-1", prices: { input: 1, output: 1 } }
    host = await testHost({
      capture: false,
      env: pluginSettings({ models: { digest, max_retries: 0 }, conversations: { idle_minutes: 120 } }),
    })
    urls = await makePipelines(host)
  })
  after(async () => {
    await host.stop()
    await server.close()
  })

  let count = 0
  const counts = new Map<string, number>()
  const say = async (person: string, body: string) => {
    const messages = (counts.get(person) ?? 0) + 1
    counts.set(person, messages)
    const value = chatMessage(`wamid.d${++count}`, person, { at: host.clock.now(), body })
    expect((await patiently(() => postMeta(urls.meta, value))).status).to.equal(200)
    await until("it being counted", async () => {
      const conversation = await conversationOf(host, "chatapp", person)
      return conversation?.message_count === messages
    })
  }
  const closed = (person: string) =>
    until("it being closed", async () => {
      const conversation = await conversationOf(host, "chatapp", person)
      return conversation?.idle_closed_at ? conversation : undefined
    })

  it("are summed up by the model, of which only what the person wrote is believed", async () => {
    const person = "+4915310000001"
    server.answer(() => ({
      json: {
        summary: "Ada wants a table for two and left her address.",
        topics: ["reservation", " ", "table"],
        contact: { name: "ADA lovelace", email: "made@up.test", phone: "", company: "Invented Ltd" },
      },
    }))
    await say(person, "Hi, Ada Lovelace here, a table for two please. ada@example.com")
    host.clock.move(hour)
    expect(await conversationOf(host, "chatapp", person)).to.include({ idle_closed_at: null, summary: "" })
    await say(person, "At eight.")
    host.clock.move(hour + 60_000)
    expect(server.asked).to.deep.equal([])
    host.clock.move(hour)
    const conversation = await closed(person)
    expect(conversation.contact).to.deep.equal({ name: "ADA lovelace", email: "ada@example.com" })
    expect(conversation).to.deep.include({ summary: "Ada wants a table for two and left her address.", topics: ["reservation", "table"] })
    expect(server.asked[0]?.text).to.contain("Person: At eight.")

    await say(person, "One more thing")
    const opened = await until("it being open again", async () => {
      const now = await conversationOf(host, "chatapp", person)
      return now?.idle_closed_at === null ? now : undefined
    })
    expect(opened).to.deep.include({ contact: conversation.contact, summary: conversation.summary })
    host.clock.move(3 * hour)
    await closed(person)
    expect(server.asked).to.have.length(2)
  })

  it("are summed up without a model where it is of no use", async () => {
    const person = "+4915310000002"
    server.answer(() => "No idea, sorry.")
    await say(person, "My name is Grace Hopper, mail grace@navy.example, call 030 901820")
    host.clock.move(3 * hour)
    const conversation = await until("it being closed", async () => {
      host.clock.move(60_000)
      const now = await conversationOf(host, "chatapp", person)
      return now?.idle_closed_at ? now : undefined
    })
    expect(conversation.contact).to.deep.equal({ name: "Grace Hopper", email: "grace@navy.example", phone: "+4930901820" })
    expect(conversation.topics).to.equal(null)
    expect(conversation.summary).to.contain("Messages: 1")
    expect(JSON.stringify(conversation), "what was said").to.not.contain("call 030")
  })
})

describe("what a person gave", () => {
  const startedWith = (...texts: string[]) => givenIn(texts, "+493012345678")
  it("is what they announce, in several languages; the last holds, and nothing is a guess", () => {
    expect(startedWith("Ich heiße Käthe Kollwitz, ich arbeite bei Siemens")).to.deep.equal({ name: "Käthe Kollwitz", company: "Siemens" })
    expect(startedWith("Me llamo José de la Cruz.")).to.include({ name: "José" })
    expect(startedWith("Mi chiamo Leonardo da Vinci")).to.deep.equal({ name: "Leonardo da Vinci" })
    expect(startedWith("Меня зовут Анна Каренина")).to.deep.equal({ name: "Анна Каренина" })
    expect(startedWith("a@b.example", "no: c@d.example")).to.deep.equal({ email: "c@d.example" })
    expect(startedWith("I am interested", "This is great", "my name is not important", "12345", "see you at 8", "user@host")).to.deep.equal(
      {},
    )
  })
})
