// Two nodes on one MongoDB, one of them killed. While rows become leads, every person becomes one lead with each row once. During
// an erasure, no data of the person remains.
import { expect } from "chai"
import { Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { type Api, apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { isSoak } from "../../tier.ts"
import { untilProcess as until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { chatMessage, makePipelines, metaPayload, postMetaPayload } from "../conversations/webhooks.ts"
import { runJob } from "../run-job.ts"

const people = isSoak ? 120 : 40
const rowsEach = 3
const phone = "+4915499900001"

const suite = mongoAvailable ? describe : describe.skip
suite("leads on two nodes of which one is killed", () => {
  const folder = freshFolder()
  const nodes: ServiceProcess[] = []
  let env: Record<string, string>
  let api: Api
  let reader: TestHost | undefined
  const start = () => startService({ dataDir: folder.path, env })
  before(async function () {
    this.timeout(900_000)
    env = { MILLRACE_STORAGE_URL: await lendDatabaseToFile() }
    nodes.push(await start(), await start())
    api = apiOf(nodes[0] as ServiceProcess, folder.path)
  })
  after(async () => {
    await reader?.stop()
    for (const node of nodes) await node.kill()
    folder.remove()
  })

  let calls = 0
  /** Tries the nodes in turn until one accepts, like a sender. */
  const anyNode = (ask: (url: string) => Promise<Response>) =>
    until("an answer of some node", async () => {
      const answer = await ask(nodes[calls++ % nodes.length]?.url ?? "").catch(() => undefined)
      return answer !== undefined && answer.status < 500 && answer.status !== 429 ? answer : undefined
    })
  const everything = { limit: 1_000 }

  it("makes one lead of each person, with each of their rows once", async () => {
    const { inbound_url } = await api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
      name: "Form",
      state: "active",
      auth_mode: "none",
      dedupe: { key: "{{ payload.id }}" },
      pipeline: [{ type: "dataset.write", dataset_slug: "contacts" }],
    })
    const path = new URL(inbound_url).pathname
    const headers = { "content-type": "application/json" }
    const write = async (n: number) => {
      const person = n % people
      const body = JSON.stringify({
        id: `e${n}`,
        email: `person${person}@example.com`,
        phone: `+4915123${String(person).padStart(6, "0")}`,
      })
      expect((await anyNode((url) => fetch(url + path, { method: "POST", headers, body }))).status).to.equal(200)
      if (n === people * 2) await nodes.shift()?.kill()
    }
    // A few at a time, so recent rows are in memory when the node dies.
    const waiting = Array.from({ length: people * rowsEach }, (_, n) => n)
    const next = async () => {
      for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) await write(n)
    }
    await Promise.all(Array.from({ length: 6 }, next))
    api = apiOf(nodes[0] as ServiceProcess, folder.path)

    // Ten minutes later: rows that the dead node had not announced.
    reader = await testHost({ capture: false, dataDir: folder.path, env })
    const organization = reader.organization.id
    const store = reader.get(Store)
    const leadRows = collectionNamed<{ row_id: string }>(reader, "lead_rows")
    const read = () => store.open(leadRows, organization).find({}, everything)
    for (let again = 0; again < 2; again++) await runJob(reader, "leads.catch_up")
    const rows = await until("a record of each row", async () => {
      const matches = await read()
      return matches.length >= people * rowsEach ? matches : undefined
    })
    expect(rows).to.have.length(people * rowsEach)
    expect(new Set(rows.map(({ row_id }) => row_id)).size, "rows that are told once").to.equal(people * rowsEach)
    const leads = await store
      .open(collectionNamed<{ emails: string[]; phones: string[] }>(reader, "leads"), organization)
      .find({}, everything)
    expect(leads).to.have.length(people)
    expect(new Set(leads.flatMap(({ emails }) => emails)).size).to.equal(people)
    expect(leads.every(({ emails, phones }) => emails.length === 1 && phones.length === 1)).to.equal(true)
  })

  it("erases a person to the end", async () => {
    nodes.push(await start())
    const urls = await makePipelines({
      api: async (method, path, body) => ({ status: 200, body: await api(method, path, body) }),
    } as TestHost)
    const path = new URL(urls.meta).pathname
    const payloads = Array.from({ length: 300 }, (_, n) =>
      chatMessage(`wamid.k${n}`, phone, { at: Date.now() - n * 1_000, body: `Message ${n}` }),
    )
    for (let n = 0; n < payloads.length; n += 20) {
      const entry = payloads.slice(n, n + 20).flatMap((value) => metaPayload(value).entry)
      const answer = await anyNode((url) => postMetaPayload(url + path, { object: "whatsapp_business_account", entry }))
      expect(answer.status).to.equal(200)
    }
    const host = reader ?? expect.fail()
    const [store, organization] = [host.get(Store), host.organization.id]
    const messages = () => store.open(collectionNamed(host, "chatapp_messages"), organization).count({}, everything)
    expect(await messages()).to.equal(payloads.length)
    await api("POST", "/v1/consents/erase", { phone, reason: "Article 17" })
    await nodes.shift()?.kill()
    await until("nothing being left", async () => (await messages()) === 0)
    expect(await store.open(collectionNamed(host, "chatapp_conversations"), organization).count({}, everything)).to.equal(0)
  })
})
