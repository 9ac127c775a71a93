// An approved email step, with a mail server that fails between the decision and the end. The mail is sent once or not at all. If
// not, the approval has the reason.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { freePort } from "../../free-port.ts"
import { untilProcess as until } from "../../waiting.ts"
import { type Fault, type FaultyMailServer, faultyMailServer } from "../email/faulty-mail-server.ts"

interface Approval {
  readonly state: string
  readonly receipt: { ok: boolean; result: { message_id: string } | null; error: { message: string; reason: string } | null } | null
}

const passing: Record<string, Fault> = {
  "closes instead of a greeting": { at: "greeting", closes: true },
  "greets with 421": { at: "greeting", says: "421 Try later\r\n", closes: true },
  "greets with 554": { at: "greeting", says: "554 Not now\r\n", closes: true },
  "greets with what is not SMTP": { at: "greeting", says: "HTTP/1.1 400 Bad Request\r\n\r\n", closes: true },
  "defers the sender": { at: "sender", says: "451 4.3.0 Later\r\n" },
  "defers the recipient": { at: "recipient", says: "450 4.2.1 Greylisted\r\n" },
  "closes within the answer to the recipient": { at: "recipient", says: "25", closes: true },
  "closes instead of taking the message": { at: "data", closes: true },
  "defers the message before it is handed over": { at: "data", says: "451 4.3.0 Full\r\n" },
  "defers the message once it is handed over": { at: "end", says: "452 4.3.1 Full\r\n" },
}
const refused: Record<string, Fault> = {
  "refuses the recipient": { at: "recipient", says: "550 5.1.1 Unknown\r\n" },
  "refuses the message": { at: "end", says: "554 5.7.1 Spam\r\n" },
}
const unconfirmed: Record<string, Fault> = {
  "closes without an answer to the message": { at: "end", closes: true },
  "closes within the answer to the message": { at: "end", says: "250-2.0.0 Ta", closes: true },
  "answers the message with what is not SMTP": { at: "end", says: "OK then\r\n" },
  "answers the message with a code that says nothing": { at: "end", says: "354 Go on\r\n" },
}

describe("an approved email step, where the mail server", () => {
  let host: TestHost
  let server: FaultyMailServer
  let key: string
  let inbound: { slug: string; inbound_url: string }
  before(async () => {
    server = await faultyMailServer(await freePort())
    const email = { transport: "smtp", url: server.url }
    host = await testHost({
      capture: false,
      env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ email }), MILLRACE_JOBS_POLL_MS: "20" },
    })
    key = (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "second", role: "admin" })).body.secret
    const mail = { id: "thank", type: "email.send", gate: true, to: "{{ event.email }}", heading: "Thanks" }
    const retry = { max_attempts: 4, initial_delay_ms: 10, factor: 1 }
    const document = { name: "Thank", state: "active", auth_mode: "none", pipeline: [{ ...mail, retry }] }
    inbound = (await host.api<typeof inbound>("POST", "/v1/event-pipelines", document)).body
  })
  beforeEach(() => {
    server.handed.length = 0
  })
  after(async () => {
    await host.stop()
    await server.close()
  })

  const approval = async (id: string) => (await host.api<Approval>("GET", `/v1/approvals/${id}`)).body
  let events = 0
  const approved = async () => {
    // A refused address is suppressed afterwards.
    const { body } = await host.send<{ execution_id: string }>(inbound, { email: `p${events++}@example.com` })
    const path = `/v1/event-pipelines/${inbound.slug}/executions/${body.execution_id}`
    const id = await until("the step to wait", async () => {
      return (await host.api<{ steps: Record<string, { approval_id?: string }> }>("GET", path)).body.steps["thank"]?.approval_id
    })
    expect((await host.api("POST", `/v1/approvals/${id}/decide`, { decision: "approve" }, { key })).status).to.equal(200)
    return { id, execution: body.execution_id }
  }
  const ended = (id: string, state: string) =>
    until(`the approval to be ${state}`, async () => {
      const item = await approval(id)
      return item.state === state && item.receipt ? item.receipt : undefined
    })
  const retry = async (execution: string) => {
    const job = await until("the dead job", async () => {
      const { body } = await host.api<{ jobs: { id: string; execution_id: string }[] }>("GET", "/v1/jobs?state=dead")
      return body.jobs.find(({ execution_id }) => execution_id === execution)?.id
    })
    expect((await host.api("POST", `/v1/jobs/${job}/retry`, {})).status).to.equal(200)
  }

  for (const [what, fault] of Object.entries(passing))
    it(`${what}, is sent once, by a later try`, async () => {
      server.fail(fault)
      const { id } = await approved()
      const { result } = await ended(id, "done")
      // A message refused after its transfer was not accepted.
      const handedOver = fault.at === "end" ? server.handed.slice(1) : server.handed
      expect(handedOver).to.deep.equal([result?.message_id])
      expect(new Set(server.handed).size).to.equal(1)
    })

  for (const [what, fault] of Object.entries(refused))
    it(`${what}, is not sent, and says so`, async () => {
      server.fail(fault)
      const before = server.conversations()
      const { error } = await ended((await approved()).id, "failed")
      expect(error?.reason).to.equal("mail_refused")
      expect(error?.message).to.contain(fault.says?.trim().slice(4))
      expect(server.conversations()).to.equal(before + 1)
    })

  for (const [what, fault] of Object.entries(unconfirmed))
    it(`${what}, is not sent again but by a person, and says so`, async () => {
      server.fail(fault)
      const { id, execution } = await approved()
      const { error } = await ended(id, "failed")
      expect(error?.reason, error?.message).to.equal("mail_unconfirmed")
      expect(server.handed).to.have.length(1)
      await retry(execution)
      const { result } = await ended(id, "done")
      expect(server.handed).to.deep.equal([result?.message_id, result?.message_id])
    })

  it("does not answer, is not sent again once it had the message, and is before that", async () => {
    for (const at of ["greeting", "end"] as const) {
      server.handed.length = 0
      server.fail({ at })
      const before = server.conversations()
      const { id } = await approved()
      await until("the server being silent", () => server.conversations() > before && (at === "greeting" || server.handed.length === 1))
      host.clock.move(61_000)
      const { error } = await ended(id, at === "end" ? "failed" : "done")
      expect(error?.reason).to.equal(at === "end" ? "mail_unconfirmed" : undefined)
      expect(server.handed).to.have.length(1)
    }
  })

  it("cannot be reached, keeps the reason, and is sent once by a later try", async () => {
    await server.close()
    const { id, execution } = await approved()
    const { error } = await ended(id, "failed")
    expect([error?.reason, /ESOCKET|ECONN/.test(error?.message ?? "")]).to.deep.equal(["mail_failed", true])
    const { port } = new URL(server.url)
    server = await faultyMailServer(Number(port))
    await retry(execution)
    const { result } = await ended(id, "done")
    expect(server.handed).to.deep.equal([result?.message_id])
  })
})
