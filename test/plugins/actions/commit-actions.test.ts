// respond, live.broadcast and pipeline.send: staged writes, answers, results and refusals.
import { expect } from "chai"
import { defineChannel, type LiveMessage } from "../../../core/contract/channel.ts"
import type { UnitOfWork } from "../../../core/contract/unit-of-work.ts"
import liveBroadcastPlugin from "../../../plugins/capture/actions/live-broadcast/index.ts"
import pipelineSendPlugin from "../../../plugins/capture/actions/pipeline-send/index.ts"
import respondPlugin from "../../../plugins/capture/actions/respond/index.ts"
import { failureOf } from "../../refusal.ts"
import { actionOf } from "../declared-by.ts"
import { compiled, executionId, findings, runStep } from "./step-bench.ts"

const liveBroadcast = actionOf(liveBroadcastPlugin)
const pipelineSend = actionOf(pipelineSendPlugin)
const respond = actionOf(respondPlugin)

describe("respond", () => {
  const answered = async (yaml: string, event: object = {}) => (await runStep(respond, yaml, { event: event as never })).replies

  it("answers with status, headers and body, values rendered", async () => {
    const yaml = 'status: "{{ event.code }}"\nheaders: { X-Count: "{{ event.n }}" }\nbody: { n: "{{ event.n }}" }'
    const [reply] = await answered(yaml, { code: 201, n: 7 })
    expect(reply).to.deep.include({ status: 201, body: { n: 7 } })
    expect(reply?.headers).to.include({ "x-count": "7" })
    const plain = async (yaml: string) => (await answered(yaml)).map(({ status, body }) => ({ status, body }))
    expect(await plain("{}")).to.deep.equal([{ status: 200, body: null }])
    expect(await plain("status: 204")).to.deep.equal([{ status: 204, body: null }])
  })

  it("redirects to http(s) URLs and own paths, and nowhere else", async () => {
    const yaml = 'status: 303\nheaders: { Location: "{{ event.to }}" }'
    for (const to of ["https://acme.test/thanks?a=1", "/thanks"]) {
      const [reply] = await answered(yaml, { to })
      expect([reply?.status, reply?.headers["location"]]).to.deep.equal([303, to])
    }
    for (const to of [
      "javascript:alert(1)",
      "//evil.test",
      "/\\evil.test",
      "https://u:p@evil.test/",
      "relative",
      "/\t/evil.test",
      "\t//evil.test",
      "/\u0000/evil.test",
      "https://a.test/\tb",
      "https://a.test/\r\nSet-Cookie: a=b",
    ]) {
      const error = await failureOf(answered(yaml, { to }))
      expect(error, to).to.include({ code: "invalid_argument" })
      expect(error.details?.["reason"], to).to.be.oneOf(["header_refused", "location_refused"])
    }
    expect((await failureOf(answered(yaml, { to: "//evil.test" }))).details).to.include({ reason: "location_refused" })
  })

  const headers: [string, string][] = [
    ["X-A", "1\r\nSet-Cookie: a=b"],
    ["X-A", "1\nb"],
    ["X-A", "\u0000"],
  ]
  for (const [name, value] of headers) {
    it(`refuses the value ${JSON.stringify(value)}`, async () => {
      const error = await failureOf(answered(`headers: { ${name}: "{{ event.value }}" }`, { value }))
      expect(error.details).to.include({ reason: "header_refused", retryable: false })
    })
  }
  it("judges values at save that are the same for every event", () => {
    for (const value of ['"one\\ntwo"', '"a\\r\\nSet-Cookie: a=b"', '"{{ event.a }}\\n"', '"Grüße, 世界"', '"\\0"'])
      expect(findings(respond, `headers: { X-A: ${value} }`), value).to.deep.equal(["error invalid-header-value"])
    for (const value of ["Grüße", '"{{ event.a }}, {{ event.b }}"', '"{{- event.a -}}\\n"', '"{% if event.a %}\\n{% endif %}"', "12"])
      expect(findings(respond, `headers: { X-A: ${value} }`), value).to.deep.equal([])
  })

  for (const name of [
    "Connection",
    "Transfer-Encoding",
    "content-length",
    "Set-Cookie",
    "Access-Control-Allow-Origin",
    "Upgrade",
    "Trailer",
    "Keep-Alive",
  ]) {
    it(`refuses the header ${name} when it is saved and when it runs`, async () => {
      expect(findings(respond, `headers: { ${name}: x }`)).to.deep.equal(["error refused-header"])
      expect((await failureOf(answered(`headers: { ${name}: x }`))).details).to.include({ reason: "header_refused" })
    })
  }

  for (const name of [
    "NEL",
    "Report-To",
    "Reporting-Endpoints",
    "Alt-Svc",
    "Public-Key-Pins",
    "WWW-Authenticate",
    "Refresh",
    "Origin-Trial",
    "Link",
    "X-Accel-Redirect",
    "X-LiteSpeed-Location",
    "X-Reproxy-URL",
    "X-SourceMap",
    "SourceMap",
    "X-XSS-Protection",
    "X-Request-Id",
    "X-Forwarded-Host",
  ]) {
    it(`refuses the header ${name} when it is saved, and leaves out one that was saved before`, async () => {
      expect(findings(respond, `headers: { ${name}: x }`)).to.deep.equal(["error refused-header"])
      const [reply] = await answered(`headers: { ${name}: x, X-Own: "1" }\nbody: ok`)
      expect(reply?.headers).to.include({ "x-own": "1" }).and.not.to.have.property(name.toLowerCase())
    })
  }

  it("takes headers that describe the body, its caching and where to go on, and own ones", () => {
    for (const name of ["Cache-Control", "Content-Disposition", "ETag", "Location", "Retry-After", "Vary", "X-Own"])
      expect(findings(respond, `headers: { ${name}: x }`), name).to.deep.equal([])
  })

  it("keeps a page made of what strangers sent from running as one of the service", async () => {
    const body = 'body: "<p>{{ event.name }}</p>"'
    for (const headers of [
      "{}",
      "{ Content-Type: text/html }",
      "{ Content-Type: image/svg+xml }",
      "{ Content-Type: text/plain }",
      "{ Content-Type: application/octet-stream }",
    ]) {
      const [reply] = await answered(`headers: ${headers}\n${body}`, { name: "<script>" })
      expect(reply?.headers["content-security-policy"], headers).to.match(/^sandbox; default-src 'none';/)
    }
  })

  it("has the policy of that page from nobody else, neither when it is saved nor when it runs", async () => {
    for (const policy of ["", "x", "default-src * 'unsafe-inline'"]) {
      const yaml = `headers: { Content-Type: text/html, Content-SECURITY-policy: "${policy}" }\nbody: x`
      expect(findings(respond, yaml)).to.deep.equal(["error refused-header"])
      expect((await answered(yaml))[0]?.headers["content-security-policy"]).to.match(/^sandbox; default-src 'none';/)
    }
  })

  it("finds at save what cannot be right", () => {
    expect(findings(respond, "status: 302")).to.deep.equal(["error redirect-without-location"])
    expect(findings(respond, "status: 204\nbody: { a: 1 }")).to.deep.equal(["error body-without-status"])
    for (const status of [101, 199, 600, '"x"', 200.5])
      expect(compiled(respond, `status: ${status}`).schemaProblems, String(status)).not.to.have.length(0)
  })
})

describe("live.broadcast", () => {
  const staged: { organization: string; message: LiveMessage; id: string | undefined }[] = []
  const live = {
    stage(_work: UnitOfWork, organization: string, message: LiveMessage, id?: string) {
      staged.push({ organization, message, id })
      return id ?? ""
    },
    emit: () => expect.fail("a broadcast is staged, never emitted outside the commit"),
    hasSubscribers: () => true,
  }
  beforeEach(() => {
    staged.length = 0
  })
  const broadcast = (yaml: string, args: object = {}) => runStep(liveBroadcast, yaml, { deps: { live }, ...args })

  it("stages one message, the same one when it runs again", async () => {
    await broadcast('channel: leads\nevent: lead.created\ndata: { email: "{{ event.email }}" }')
    await broadcast("channel: leads")
    expect(staged.map(({ message }) => message)).to.deep.equal([
      { channel: "leads", event: "lead.created", data: { email: "ada@example.com" } },
      { channel: "leads", event: "message", data: { email: "ada@example.com" } },
    ])
    expect(staged[0]?.id).to.equal(staged[1]?.id)
    expect(staged[0]?.id?.slice(0, 13)).to.equal(executionId.slice(0, 13))
  })

  it("tells anonymous viewers only where the author says so", async () => {
    await broadcast("channel: signups\npublic: true\ndata: 1")
    expect(staged.map(({ message }) => message.publicEndpoint)).to.deep.equal([undefined, "in_1"])
    expect(staged[0]?.id).not.to.equal(staged[1]?.id)
    staged.length = 0
    const pipeline = { id: "p", slug: "s", name: "S", endpoint_id: null }
    expect((await failureOf(broadcast("channel: a\npublic: true", { context: { pipeline } }))).details).to.include({
      reason: "no_endpoint",
    })
    expect(staged).to.have.length(0)
  })

  it("refuses the service's own channels, at save and from an event", async () => {
    for (const name of ["executions", "datasets:*"]) defineChannel({ name, summary: name, scope: "notes:read" })
    for (const channel of ["executions", "datasets", "datasets:leads", "executions:x", "datasets:{{ event.slug }}"]) {
      expect(findings(liveBroadcast, `channel: "${channel}"`), channel).to.deep.equal(["error reserved-channel"])
    }
    for (const channel of ["leads", "executions-log", "datasetsx", "{{ event.x }}", "leads:{{ event.x }}"]) {
      expect(findings(liveBroadcast, `channel: "${channel}"`), channel).to.deep.equal([])
    }
    for (const name of ["executions", "datasets:leads", "a b", "", null, "a\n"]) {
      const error = await failureOf(broadcast('channel: "{{ event.name }}"', { event: { name } }))
      expect(error.message, String(name)).to.match(/channel|letters|Nothing can be broadcast/i)
    }
    const refused = await failureOf(broadcast('channel: "{{ event.name }}"', { event: { name: "executions" } }))
    expect(refused.details).to.include({ reason: "channel_refused", retryable: false })
    expect(staged).to.have.length(0)
  })
})

describe("pipeline.send", () => {
  const requests: object[] = []
  const document = { source_kind: "internal", state: "active" }
  const targets: Record<string, object> = {
    target: document,
    form: { ...document, source_kind: "browser_form" },
    asleep: { ...document, state: "proposed" },
    failing: document,
    refusing: document,
  }
  const deps = {
    source: {
      bySlug: async (organization: string, slug: string) => targets[slug] && { organization, slug, document: targets[slug] },
    },
    engine: {
      submit: async ({ organization, slug }: { organization: string; slug: string }, event: object) => {
        requests.push({ organization, slug, ...event })
        return {
          execution_id: "e-1",
          status: { failing: "failed", refusing: "rejected" }[slug] ?? "accepted",
          reply: { status: 200, headers: {}, body: null },
        }
      },
    },
  }
  beforeEach(() => {
    requests.length = 0
  })
  const send = (yaml: string, context: object = {}) => runStep(pipelineSend, yaml, { deps, context })

  it("passes on payload, test mark, depth and the key that makes a retry the same event", async () => {
    const envelope = { received_at: "2026-01-02T03:04:05.006Z", is_test: true }
    const { result } = await send('pipeline: target\npayload: { e: "{{ event.email }}" }', { depth: 4, envelope })
    expect(result).to.deep.equal({ execution_id: "e-1", status: "accepted" })
    const organization = "0190a000-0000-7000-8000-000000000001"
    const key = { idempotencyKey: executionId, depth: 5, isTest: true, dataSince: "2026-01-02T03:04:05.006Z" }
    expect(requests).to.deep.equal([{ organization, slug: "target", payload: { e: "ada@example.com" }, ...key }])
    await send("pipeline: target")
    expect(requests[1]).to.deep.include({ payload: { email: "ada@example.com" }, depth: 1, isTest: false })
  })

  const refusals: [string, object, string][] = [
    ["target", { depth: 5 }, "too_deep"],
    ["nobody", {}, "pipeline_not_found"],
    ["form", {}, "not_internal"],
    ["asleep", {}, "not_active"],
  ]
  for (const [slug, context, reason] of refusals) {
    it(`refuses ${slug} as ${reason} and sends nothing`, async () => {
      expect((await failureOf(send(`pipeline: ${slug}`, context))).details).to.include({ reason, retryable: false })
      expect(requests).to.have.length(0)
    })
  }

  it("fails where the target failed", async () => {
    expect((await failureOf(send("pipeline: failing"))).details).to.include({ reason: "target_failed" })
  })

  it("fails where the target rejected the event", async () => {
    expect((await failureOf(send("pipeline: refusing"))).details).to.include({ reason: "target_rejected", retryable: false })
  })
})
