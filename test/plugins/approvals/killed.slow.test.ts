// An approved email step, with a service killed between the decision and the end. Another node or the next start sends the mail.
// A repeat occurs only if the mail server already had the message, under the same Message-ID.
import { expect } from "chai"
import { type Api, apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { untilProcess as until } from "../../waiting.ts"
import { listenForMail, type MailServer, type ReceivedMail } from "../email/mail-server.ts"

interface Approval {
  readonly state: string
  readonly digest: string
  readonly receipt: { readonly ok: boolean; readonly digest: string; readonly result: { message_id: string } } | null
}

/** A node with its own mail server, so the sending node is known. */
class Node {
  readonly #folder: string
  readonly #storage: Record<string, string>
  readonly mail: MailServer
  service: ServiceProcess | undefined

  constructor(folder: string, storage: Record<string, string>, mail: MailServer) {
    this.#folder = folder
    this.#storage = storage
    this.mail = mail
  }

  async start(): Promise<void> {
    const email = { transport: "smtp", url: this.mail.url }
    const env = { ...this.#storage, MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ email }) }
    this.service = await startService({ dataDir: this.#folder, env })
  }

  get api(): Api {
    return apiOf({ url: this.url }, this.#folder)
  }

  get url(): string {
    return this.service?.url ?? ""
  }

  async end(): Promise<void> {
    await this.service?.kill()
    await this.mail.close()
  }
}

const ada = "ada@example.com"
/** Postpones mails to admins about pending approvals, since a minute may end during the test. */
const othersLater = (recipient: string) => (recipient === ada ? undefined : 451)

/** Holds mail to Ada until `release`. */
function holding() {
  let release: () => void = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let requestCount = 0
  const refuse = async (recipient: string) => {
    if (recipient !== ada) return othersLater(recipient)
    requestCount++
    await released
    return undefined
  }
  return { refuse, release, asked: () => requestCount }
}

/** Creates a waiting step. Returns it with the key of an admin other than its creator. */
async function waiting({ api }: Node): Promise<{ id: string; decider: string }> {
  const pipeline = [{ id: "thank", type: "email.send", gate: true, to: "{{ event.email }}", heading: "Thanks" }]
  const createdPipeline = await api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", {
    name: "Thank",
    state: "active",
    auth_mode: "none",
    pipeline,
  })
  const { secret } = await api<{ secret: string }>("POST", "/v1/api-keys", { name: "second admin", role: "admin" })
  const response = await fetch(createdPipeline.inbound_url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"email":"ada@example.com"}',
  })
  expect(response.status).to.equal(200)
  const { execution_id } = (await response.json()) as { execution_id: string }
  const id = await until("the step to wait", async () => {
    const entry = await api<{ steps: Record<string, { approval_id?: string }> }>(
      "GET",
      `/v1/event-pipelines/${createdPipeline.slug}/executions/${execution_id}`,
    )
    return entry.steps["thank"]?.approval_id
  })
  return { id, decider: secret }
}

async function decide({ url }: Node, { id, decider }: { id: string; decider: string }, decision = "approve"): Promise<Response> {
  return await fetch(`${url}/v1/approvals/${id}/decide`, {
    method: "POST",
    headers: { authorization: `Bearer ${decider}`, "content-type": "application/json" },
    body: JSON.stringify({ decision }),
  })
}

const receipt = ({ api }: Node, id: string) =>
  until("the receipt", async () => {
    const approval = await api<Approval>("GET", `/v1/approvals/${id}`)
    return approval.receipt ? approval : undefined
  })

describe("an approved email step", () => {
  const ends: (() => Promise<void> | void)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })
  const folder = () => {
    const created = freshFolder()
    ends.push(created.remove)
    return created.path
  }
  const node = async (path: string, storage: Record<string, string>, mail: MailServer) => {
    const created = new Node(path, storage, mail)
    ends.push(() => created.end())
    await created.start()
    return created
  }

  it("is sent once by the next start, where the service is killed between decision and send", async () => {
    const mailServer = holding()
    const item = await node(folder(), {}, await listenForMail(mailServer.refuse))
    const waits = await waiting(item)
    expect((await decide(item, waits)).status).to.equal(200)
    await until("the mail server being asked", () => mailServer.asked() === 1)
    await item.service?.kill()
    mailServer.release()
    expect(item.mail.received).to.have.length(0)
    await item.start()
    const { state, receipt: end, digest } = await receipt(item, waits.id)
    expect([state, end?.ok, end?.digest]).to.deep.equal(["done", true, digest])
    expect(item.mail.received.map(({ recipients }) => recipients)).to.deep.equal([[ada]])
    expect(end?.result.message_id).to.equal(item.mail.received[0]?.mail.messageId)
  })

  it("is sent again under the same Message-ID, where the service is killed after the mail server took it and before the receipt", async () => {
    let killed: Promise<void> | undefined
    const accepted = () => {
      killed ??= item.service?.kill()
    }
    const mail = await listenForMail(othersLater, { accepted })
    const item = await node(folder(), {}, mail)
    const waits = await waiting(item)
    // The answer of the decision may be lost with the service.
    await decide(item, waits).catch(() => undefined)
    await until("the kill", () => killed !== undefined)
    await killed
    await item.start()
    const { state, receipt: end } = await receipt(item, waits.id)
    expect(state).to.equal("done")
    expect(mail.received).to.have.length(2)
    expect(new Set(mail.received.map(({ mail: { messageId } }) => messageId))).to.deep.equal(new Set([end?.result.message_id]))
  })

  const onMongo = mongoAvailable ? it : it.skip
  onMongo("is sent once by the other of two nodes, where two decide at once and the one that sends is killed (mongodb)", async () => {
    const storage = { MILLRACE_STORAGE_URL: await lendDatabaseToFile() }
    const path = folder()
    const holds = [holding(), holding()]
    const nodes: Node[] = []
    for (const { refuse } of holds) nodes.push(await node(path, storage, await listenForMail(refuse)))
    const [first, second] = nodes as [Node, Node]
    const waits = await waiting(first)
    const answers = await Promise.all([decide(first, waits), decide(second, waits)])
    expect(answers.map(({ status }) => status)).to.have.members([200, 400])
    const sender = await until("a mail server being asked", () => nodes.find((_, at) => holds[at]?.asked() === 1))
    await sender.service?.kill()
    for (const { release } of holds) release()
    const other = sender === first ? second : first
    const { state, receipt: end } = await receipt(other, waits.id)
    expect([state, end?.ok]).to.deep.equal(["done", true])
    const received: ReceivedMail[] = nodes.flatMap(({ mail }) => mail.received)
    expect(received.map(({ recipients, mail }) => [recipients, mail.messageId])).to.deep.equal([[[ada], end?.result.message_id]])
    expect(other.mail.received).to.have.length(1)
  })
})
