// email.send and http.request against real peers, and the declarations of every action type.
import { expect } from "chai"
import type { AnyAction } from "../../../core/contract/action.ts"
import emailSendPlugin from "../../../plugins/capture/actions/email-send/index.ts"
import httpRequestPlugin from "../../../plugins/capture/actions/http-request/index.ts"
import integrationCallPlugin from "../../../plugins/capture/actions/integration-call/index.ts"
import liveBroadcastPlugin from "../../../plugins/capture/actions/live-broadcast/index.ts"
import pipelineSendPlugin from "../../../plugins/capture/actions/pipeline-send/index.ts"
import respondPlugin from "../../../plugins/capture/actions/respond/index.ts"
import { createMailer, type Mailer } from "../../../plugins/people/email/mailer.ts"
import { createSenders } from "../../../plugins/people/email/senders.ts"
import { smtpTransport } from "../../../plugins/people/email/smtp.ts"
import { createOutgoingHttp, type OutgoingClient } from "../../../plugins/platform/outgoing-http/client.ts"
import { failureOf } from "../../refusal.ts"
import { actionOf } from "../declared-by.ts"
import { listenForMail, type MailServer } from "../email/mail-server.ts"
import { listen, outgoing, type Peer } from "../outgoing-http/loopback-peer.ts"
import { compiled, findings, rendered, runStep } from "./step-bench.ts"

const liveBroadcast = actionOf(liveBroadcastPlugin)
const pipelineSend = actionOf(pipelineSendPlugin)
const respond = actionOf(respondPlugin)
const emailSend = actionOf(emailSendPlugin)
const httpRequest = actionOf(httpRequestPlugin)
const integrationCall = actionOf(integrationCallPlugin)

describe("action types", () => {
  const actions: AnyAction[] = [emailSend, httpRequest, integrationCall, liveBroadcast, pipelineSend, respond]
  const event = { email: "ada@example.com", name: "Ada", currency: "EUR", contact_id: "a/b", budget: 5 }
  for (const action of actions) {
    it(`${action.type}: every example compiles without a remark, renders and has a preview`, () => {
      expect(action.examples).not.to.have.length(0)
      for (const { yaml } of action.examples) {
        const config = rendered(action, yaml, event, { envelope: { page_url: "https://acme.test/p", region: "DE-BE" } })
        expect(findings(action, yaml), yaml).to.deep.equal([])
        expect(JSON.stringify(action.preview?.(config))).not.to.match(/\{\{|undefined/)
      }
    })

    it(`${action.type}: describes its fields and refuses unknown ones`, () => {
      expect(compiled(action, "type: x\nnonsense: 1").schemaProblems).not.to.have.length(0)
      expect(action.summary).to.match(/\.$/)
    })
  }
})

describe("email.send", () => {
  let server: MailServer
  let mailer: Mailer
  before(async () => {
    server = await listenForMail()
    mailer = createMailer(createSenders({ from: { name: "", address: "no-reply@example.com" } }), smtpTransport(server.url), "Foot")
  })
  beforeEach(() => {
    server.received.length = 0
  })
  after(async () => {
    await mailer.close()
    await server.close()
  })
  const send = (yaml: string, event: object = {}) => runStep(emailSend, yaml, { deps: { mailer }, event: event as never })

  it("renders values as rows and keeps its id over tries", async () => {
    const yaml = `to: sales@acme.test
heading: New lead from {{ event.name }}
fields: { Name: "{{ event.name }}", Budget: "{{ event.budget }}", Tags: "{{ event.tags }}", Ok: "{{ event.ok }}", Gone: "{{ event.gone }}" }`
    const event = { name: "Ada <b>", budget: 5, tags: ["a", "b"], ok: true }
    const first = await send(yaml, event)
    const second = await send(yaml, event)
    expect(second.result).to.deep.equal(first.result)
    const [mail] = server.received.map((email) => email.mail)
    expect(mail?.subject).to.equal("New lead from Ada <b>")
    expect(mail?.text).to.include("Name: Ada <b>\nBudget: 5\nTags: a, b\nOk: Yes\nGone: —")
    expect(mail?.html).to.include("Ada &lt;b&gt;").and.not.to.include("Ada <b>")
  })

  it("takes lists where the author writes them, and never where an event does", async () => {
    await send('to: "ada@acme.test, grace@acme.test"\ncc: ["{{ event.email }}"]\nheading: Hi', { email: "eve@example.com" })
    expect(server.received.splice(0)[0]?.recipients).to.deep.equal(["ada@acme.test", "grace@acme.test", "eve@example.com"])
    for (const email of ["a@b.test, c@d.test", "a@b.test\r\nBcc: c@d.test", "nobody", "", null, ["a@b.test", "c@d.test"]]) {
      const error = await failureOf(send('to: "{{ event.email }}"\nheading: Hi', { email }))
      expect(error.message, JSON.stringify(email)).to.match(/address|to/)
    }
    expect(server.received).to.have.length(0)
    expect(compiled(emailSend, "to: nobody\nheading: Hi").schemaProblems).not.to.have.length(0)
    expect(compiled(emailSend, "to: a@b.test").schemaProblems).not.to.have.length(0)
  })

  it("loses no message over a page or a reply address that is unusable", async () => {
    const yaml = 'to: a@b.test\nreply_to: "{{ event.email }}"\nheading: Hi\nbutton: { label: Open, url: "{{ envelope.page_url }}" }'
    const { result } = await send(yaml, { email: "x@y.test, z@y.test" })
    expect(result).to.deep.include({ omitted: ["reply_to", "button"] })
    expect(server.received[0]?.mail.replyTo ?? []).to.deep.equal([])
    expect(server.received[0]?.mail.html).not.to.include("Open")
    const scope = { envelope: { page_url: "javascript:alert(1)" } }
    const again = await runStep(emailSend, yaml, { deps: { mailer }, event: { email: "Bob <x@y.test>" }, scope })
    expect(again.result).to.deep.include({ omitted: ["button"] })
    expect(server.received[1]?.mail.replyTo?.[0]).to.include({ address: "x@y.test" })
    expect(server.received[1]?.raw).not.to.include("javascript")
  })
})

describe("http.request", () => {
  const guards: [] = []
  let peer: Peer
  let http: OutgoingClient
  before(async () => {
    peer = await listen(({ url }, response) => {
      const status = Number(/^\/status\/(\d+)/.exec(url)?.[1] ?? 200)
      response.writeHead(status, { "content-type": "application/json" }).end('{"got":"SECRET-ANSWER"}')
    })
    http = createOutgoingHttp(outgoing(`127.0.0.1:${peer.port}`))
  })
  beforeEach(() => {
    peer.asked.length = 0
  })
  after(async () => {
    await http.close()
    await peer.close()
  })

  it("sends what the event says and keeps a bounded answer", async () => {
    const yaml = `url: ${peer.origin}/a?x=1
query: { q: "{{ event.email }}", none: null, list: [1, 2] }
headers: { X-N: "{{ event.n }}" }
body: { n: "{{ event.n }}", text: "n={{ event.n }}" }`
    const { result } = await runStep(httpRequest, yaml, { deps: { http, guards }, event: { email: "a&b@c.test", n: 3 } })
    expect(result).to.deep.equal({ status: 200, body: { got: "SECRET-ANSWER" }, truncated: false })
    expect(peer.asked[0]).to.include({ method: "POST", url: "/a?x=1&q=a%26b%40c.test&list=1&list=2", body: '{"n":3,"text":"n=3"}' })
    expect(peer.asked[0]?.headers).to.include({ "x-n": "3", "content-type": "application/json" })
    expect(peer.asked[0]?.headers["idempotency-key"]).to.match(/^[0-9a-f-]{36}$/)
  })

  it("says whether a status is worth another try, and nothing of the answer", async () => {
    for (const [status, retryable] of [
      [400, false],
      [404, false],
      [408, true],
      [425, true],
      [429, true],
      [500, true],
      [503, true],
    ] as const) {
      const error = await failureOf(runStep(httpRequest, `url: ${peer.origin}/status/${status}`, { deps: { http, guards } }))
      expect(error.details, String(status)).to.include({ status, retryable })
      expect(JSON.stringify(error.details) + error.message).not.to.include("SECRET-ANSWER")
    }
  })

  it("cannot be led inside by an event, nor smuggle a header", async () => {
    const inside = await failureOf(
      runStep(httpRequest, 'url: "{{ event.url }}"', { deps: { http, guards }, event: { url: "http://169.254.169.254/" } }),
    )
    expect(inside.details).to.include({ reason: "address_refused", retryable: false })
    const yaml = `url: ${peer.origin}/\nheaders: { X-A: "{{ event.value }}" }`
    const smuggled = await failureOf(runStep(httpRequest, yaml, { deps: { http, guards }, event: { value: "1\r\nX-Evil: 1" } }))
    expect(smuggled.details).to.include({ reason: "header_refused" })
    expect(peer.asked).to.have.length(0)
  })

  it("sends forms and text where the content type says so", async () => {
    const form = `url: ${peer.origin}/\nheaders: { Content-Type: application/x-www-form-urlencoded }\nbody: { a: "x y", b: [1, 2] }`
    await runStep(httpRequest, form, { deps: { http, guards } })
    await runStep(httpRequest, `url: ${peer.origin}/\nheaders: { content-type: text/plain }\nbody: hello`, { deps: { http, guards } })
    expect(peer.asked.map(({ body }) => body)).to.deep.equal(["a=x+y&b=1&b=2", "hello"])
    const wrong = `url: ${peer.origin}/\nheaders: { content-type: text/plain }\nbody: { a: 1 }`
    expect((await failureOf(runStep(httpRequest, wrong, { deps: { http, guards } }))).details).to.include({ reason: "body_refused" })
  })

  it("remarks on credentials in the document and bodies that go nowhere", () => {
    expect(findings(httpRequest, "url: https://a.test\nheaders: { Authorization: Bearer x, X-Trace: y }")).to.deep.equal([
      "warning credential-in-document",
    ])
    expect(findings(httpRequest, "url: https://a.test\nmethod: GET\nbody: {}")).to.deep.equal(["error body-without-method"])
  })
})
