// The example pipeline document, unchanged. The lead is answered once it is on disk, independent of the mail server. The journal
// has the whole story, including the work after the reply.
import { readFileSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { expect } from "chai"
import { SMTPServer } from "smtp-server"
import { type Socket as ClientSocket, io } from "socket.io-client"
import { parse } from "yaml"
import type { TestHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"
import { onBothStores } from "../stores.ts"

interface WireMessage {
  id: string
  channel: string
  event: string
  data: unknown
}

onBothStores("the example document", ({ start }) => {
  let mail: HeldBackMail
  let host: TestHost
  let bench: Bench
  let socket: ClientSocket
  const messages: WireMessage[] = []

  before(async () => {
    mail = await holdBackMail()
    host = await start({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ email: { transport: "smtp", url: mail.url } }) } })
    bench = new Bench(host)
    socket = io(host.url, { path: "/live", auth: { token: host.adminKey }, transports: ["websocket"] })
    socket.on("message", (message: WireMessage) => messages.push(message))
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("connect_error", reject))
    expect(await socket.emitWithAck("subscribe", { channel: "leads" })).to.deep.equal({ ok: true })
  })
  after(async () => {
    socket.close()
    await mail.close()
  })

  it("answers 201 with the row's id before the mail has left, then says in the same entry that it has", async () => {
    const pipeline = await bench.make(exampleDocument())
    expect(pipeline).to.include({ purpose: "record_capture", auth_mode: "authenticated_viewer" })
    expect(pipeline.created_datasets).to.deep.equal(["leads"])
    expect(pipeline).not.to.have.property("secret")

    const body = { email: "Ada@Example.com", name: "Ada Lovelace", budget: "2500", _envelope: { page_url: "https://acme.test/pricing" } }
    const answer = await post(pipeline.inbound_url, body)
    expect([answer.status, Object.keys(answer.body)]).to.deep.equal([201, ["ok", "row_id"]])
    expect(mail.delivered).to.have.length(0)

    const rows = await bench.rows("leads")
    expect(rows.map(({ id }) => id)).to.deep.equal([answer.body.row_id])
    expect(rows[0]?.values).to.include({
      email: "ada@example.com",
      name: "Ada Lovelace",
      budget: 2500,
      page_url: "https://acme.test/pricing",
      is_test: false,
    })

    const early = await bench.newest("website-lead")
    expect(early).to.include({ status: "accepted", cause: "", is_test: false, repeat_of: null, replay_of: null, count: 1 })
    expect(early.steps["save"]).to.deep.include({
      type: "dataset.write",
      state: "done",
      attempts: 1,
      result: { row_id: answer.body.row_id, dataset_slug: "leads" },
    })
    expect(early.steps["live_broadcast_1"]).to.include({ type: "live.broadcast", state: "done" })
    expect(early.steps["respond_1"]).to.include({ type: "respond", state: "done" })
    expect(early.steps["tell_sales"]).to.include({ type: "email.send", state: "pending" })
    expect(early.response).to.deep.equal({ status: 201, body: JSON.stringify(answer.body) })
    expect(early.rows).to.deep.equal([{ step: "save", dataset: "leads", row_id: answer.body.row_id }])
    expect(JSON.parse(early.payload_preview)).to.include({ name: "Ada Lovelace" })
    expect(early.transformed).to.deep.equal({ email: "ada@example.com", name: "Ada Lovelace", budget: 2500 })
    expect(early.timings).to.include.all.keys("verify", "sandbox", "run")
    await until(() => messages.length > 0)
    expect(messages.map(({ channel, data }) => ({ channel, data }))).to.deep.equal([
      { channel: "leads", data: { email: "ada@example.com" } },
    ])

    mail.letGo()
    const late = await bench.entryWhen("website-lead", early.id, (entry) => entry.steps["tell_sales"]?.state === "done")
    expect(late.steps["tell_sales"]).to.include({ attempts: 1, error: null })
    expect(mail.delivered).to.have.length(1)
    expect(mail.delivered[0])
      .to.match(/^Subject: New lead from Ada Lovelace\r$/m)
      .and.to.include("https://acme.test/pricing")
    await until(async () => (await bench.books()).jobs === 0)
    expect(await bench.books()).to.include({ entries: 1, rows: 1, payloads: 1, messages: 1, intents: 0 })
    expect(messages).to.have.length(1)
  })

  it("sends no mail below the budget, and one row stays one row", async () => {
    const response = await bench.host.api<{ inbound_url: string }>("GET", "/v1/event-pipelines/website-lead")
    const answer = await post(response.body.inbound_url, { email: "ada@example.com", name: "Ada", budget: 10 })
    expect(answer.status).to.equal(201)
    const entry = await bench.newest("website-lead")
    const finalEntry = await bench.entryWhen("website-lead", entry.id, ({ steps }) => steps["tell_sales"]?.state !== "pending")
    expect(finalEntry.steps["tell_sales"]).to.include({ state: "skipped", attempts: 0 }).and.not.to.have.property("skipped_after")
    expect(await bench.rows("leads")).to.have.length(1)
    expect((await bench.rows("leads"))[0]?.values).to.include({ name: "Ada", budget: 10 })
    expect(mail.delivered).to.have.length(1)
  })
})

/** From the design, stored unchanged beside the test. */
function exampleDocument(): object {
  return parse(readFileSync(join(import.meta.dirname, "example-document.yaml"), "utf8")) as object
}

interface HeldBackMail {
  readonly url: string
  readonly delivered: string[]
  letGo(): void
  close(): Promise<void>
}

/** A mail server that greets at once, since clients wait only briefly for it. It accepts mail when the test allows it. */
async function holdBackMail(): Promise<HeldBackMail> {
  const delivered: string[] = []
  const { promise: open, resolve: letGo } = Promise.withResolvers<void>()
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    onMailFrom: (_address, _session, callback) => void open.then(() => callback()),
    onData(stream, _session, callback) {
      let text = ""
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk
      })
      stream.on("end", () => {
        delivered.push(text)
        callback()
      })
    },
  })
  smtp.on("error", () => undefined)
  await new Promise<void>((resolve) => smtp.listen(0, "127.0.0.1", resolve))
  return {
    url: `smtp://127.0.0.1:${(smtp.server.address() as AddressInfo).port}`,
    delivered,
    letGo,
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  }
}
