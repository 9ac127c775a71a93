// Copies of an event: a shell command against the service, a test of the pipeline, a report.
import { spawn } from "node:child_process"
import { createHmac } from "node:crypto"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { CommandFolder } from "../../cli/pipelines/command.ts"
import { finished } from "../../processes.ts"
import { refusalOf } from "../../refusal.ts"

interface Event {
  readonly id: string
  readonly pipeline_slug: string
  readonly status: string
  readonly payload_preview: string
  readonly replay_of: string | null
}
interface Curl {
  readonly curl: string
  readonly proof: string
  readonly note: string
}

const hidden = "whsec_bm90LXRvLWJlLXNob3duLW5vdC10by1iZS1zaG93bg=="
const hostile = `it's "$(touch hit)" \`x\` \\ \u202Eevil \u0007 <script> \${HOME} 'quoted' ${"\n"}@file`

const save = {
  id: "save",
  type: "dataset.write",
  dataset_slug: "people",
  key: "email",
  row: { email: "{{ event.email }}", rate: "{{ steps.look_up.body.rate }}" },
}
const rates = { id: "look_up", type: "http.request", method: "GET", url: "https://rates.example.com/latest", query: { of: "eur" } }
const documents = {
  signed: {
    name: "Signed",
    auth_mode: "hmac_sha256",
    auth_config: { secret: hidden, require_timestamp: true },
    transform_js: "function transform(event) { return { ...event, drawn: Math.random(), email: event.email.toLowerCase() } }",
    request_schema: { type: "object", required: ["email"] },
    pipeline: [
      { ...rates, await: true },
      save,
      {
        type: "respond",
        status: 201,
        body: { row: "{{ steps.save.row_id }}", rate: "{{ steps.look_up.body.rate }}", drawn: "{{ event.drawn }}" },
      },
    ],
  },
  shared: { name: "Shared", auth_mode: "shared_secret_header", auth_config: { secret: hidden }, pipeline: [] },
  slack: {
    name: "Slack",
    auth_mode: "provider_signature",
    auth_config: { provider: "slack", secret: hidden },
    pipeline: [{ ...rates, retry: { max_attempts: 1 } }],
  },
  public: { name: "Public", auth_mode: "none", pipeline: [] },
  inside: { name: "Inside", source_kind: "internal", auth_mode: "none", pipeline: [] },
}

describe("copies of an event", () => {
  let host: TestHost
  const inbound = new Map<string, string | null>()
  before(async () => {
    host = await testHost()
    host.outgoing.fixtures.push(() => ({ status: 200, headers: { "content-type": "application/json" }, body: '{"rate":1.25}' }))
    for (const [slug, input] of Object.entries(documents)) {
      const pipeline = await host.invoke<{ inbound_url: string | null }>("event_pipelines.create", { ...input, slug, state: "active" })
      inbound.set(slug, pipeline.inbound_url)
    }
  })
  after(() => host.stop())

  const eventsOf = async (pipeline: string) => (await host.invoke<{ events: Event[] }>("events.list", { pipeline })).events
  const newest = async (pipeline: string): Promise<Event> => {
    const [event] = await eventsOf(pipeline)
    if (!event) throw new Error(`${pipeline} has no event.`)
    return event
  }
  const post = async (slug: string, body: string, headers: Record<string, string>, query = "") => {
    const answer = await fetch(inbound.get(slug) + query, { method: "POST", body, headers })
    expect(answer.status, await answer.text()).to.be.lessThan(300)
    return await newest(slug)
  }
  const sendSigned = (payload: object) => {
    const body = JSON.stringify(payload)
    const at = String(Math.floor(host.clock.now() / 1_000))
    const signature = createHmac("sha256", hidden).update(`${at}.${body}`).digest("hex")
    const signed = { "x-signature-timestamp": at, "x-signature-256": `sha256=${signature}` }
    return post("signed", body, { "content-type": "application/json", "x-shop": "north", ...signed })
  }
  const curlOf = (id: string) => host.invoke<Curl>("events.get_curl", { id })
  /** Runs it unchanged in a separate shell. Returns the service's last answer. */
  const ran = async ({ curl }: Curl, env: Record<string, string> = {}) => {
    const script = curl.replace("curl -sS", "curl -sS -w '\\n%{http_code}'")
    const shell = spawn("sh", [], { env: { PATH: process.env["PATH"], ...env }, cwd: "/" })
    shell.stdin.end(script)
    const { code, output } = await finished(shell)
    expect(code, output).to.equal(0)
    const at = output.lastIndexOf("\n")
    return { status: Number(output.slice(at + 1)), body: output.slice(0, at) }
  }

  it("are commands that the service takes, signed afresh, with no secret in them and what is redacted redacted", async () => {
    const first = await sendSigned({ email: "Ada@Example.com", note: hostile, api_key: "hidden-value", [hostile]: 1 })
    // Past the validity of the first signature.
    host.clock.move(3_600_000)
    const copy = await curlOf(first.id)
    expect(copy.proof).to.equal("signed")
    expect(copy.curl).to.not.include("hidden-value").and.not.include("whsec_").and.not.include("\u202E").and.not.include("\u0007")
    expect(copy.curl).to.include("x-shop: north")
    expect(await ran(copy)).to.include({ status: 201 })
    const again = await newest("signed")
    expect(again.id).to.not.equal(first.id)
    expect(JSON.parse(again.payload_preview)).to.deep.equal(JSON.parse(first.payload_preview))

    const large = await sendSigned({ email: "large@example.com", text: "it's ".repeat(40_000) })
    expect(await ran(await curlOf(large.id))).to.include({ status: 201 })
    expect((await newest("signed")).payload_preview).to.equal(large.payload_preview)
  })

  it("are commands for each kind of sender", async () => {
    const shared = await post(
      "shared",
      '{"n":12345678901234567890}',
      { "x-webhook-secret": hidden, "content-type": "application/json" },
      "?of=a%26c%27",
    )
    const completed = await curlOf(shared.id)
    expect(completed).to.include({ proof: "secret" })
    expect(completed.note).to.include("x-webhook-secret")
    expect(JSON.stringify(completed)).to.not.include("whsec_")
    expect(await ran(completed, { SENDER_PROOF: "another" })).to.include({ status: 401 })
    expect(await ran(completed, { SENDER_PROOF: hidden })).to.include({ status: 200 })
    expect((await newest("shared")).payload_preview).to.include("12345678901234567890")

    const form = "command=%2Fask&text=it%27s+more&trigger_id=7"
    const at = String(Math.floor(host.clock.now() / 1_000))
    const signature = `v0=${createHmac("sha256", hidden).update(`v0:${at}:${form}`).digest("hex")}`
    const slack = await post("slack", form, {
      "content-type": "application/x-www-form-urlencoded",
      "x-slack-request-timestamp": at,
      "x-slack-signature": signature,
    })
    const copy = await curlOf(slack.id)
    expect(copy.proof).to.equal("signed")
    expect(await ran(copy)).to.include({ status: 200 })
    expect((await newest("slack")).payload_preview).to.equal(slack.payload_preview)

    const open = await post("public", '{"n":1}', { "content-type": "application/json" }, "?list=a&list=b")
    expect(await ran(await curlOf(open.id))).to.include({ status: 200 })
    const twice = await newest("public")
    expect(twice.id).to.not.equal(open.id)
    expect((await curlOf(twice.id)).curl).to.include("?list=a&list=b")
    expect((await refusalOf(host.invoke("events.get_test", { id: open.id }))).details.reason).to.equal("not_a_test")

    await host.invoke("event_pipelines.send_event", { slug: "inside", payload: { order: hostile }, is_test: true })
    const inside = await curlOf((await newest("inside")).id)
    expect(inside.proof).to.equal("key")
    expect(await ran(inside, { MILLRACE_KEY: host.adminKey })).to.include({ status: 200 })
    expect((await eventsOf("inside")).map(({ payload_preview }) => payload_preview)).to.have.length(2)
  })

  it("are tests that pass against the same pipeline, and fail against another", async () => {
    const folder = new CommandFolder()
    try {
      await sendSigned({ email: "Tested@Example.com", note: hostile, api_key: "hidden-value", nothing: null, list: [1, { a: "b" }] })
      const rejected = await fetch(`${inbound.get("public")}`, {
        method: "POST",
        body: '[{"$any":1},2]',
        headers: { "content-type": "application/json" },
      })
      expect(rejected.status).to.be.greaterThan(199)
      for (const [slug, input] of Object.entries(documents)) {
        folder.write(
          `${slug}.yaml`,
          JSON.stringify({ ...input, auth_config: { ...("auth_config" in input ? input.auth_config : {}), secret: undefined } }),
        )
        const [event] = await eventsOf(slug)
        const { yaml, file_name } = await host.invoke<{ yaml: string; file_name: string }>("events.get_test", { id: event?.id })
        expect(yaml).to.not.include("hidden-value").and.not.include("whsec_").and.not.include("\u202E")
        folder.write(file_name, yaml)
      }
      const { code, output } = await folder.run(["test", folder.path])
      expect(code, output).to.equal(0)
      expect(output).to.include(`${Object.keys(documents).length} passed`)
      const { transform_js } = documents.signed
      folder.write(
        "signed.yaml",
        JSON.stringify({
          ...documents.signed,
          auth_config: { require_timestamp: true },
          transform_js: transform_js.replace("toLowerCase", "toUpperCase"),
        }),
      )
      const changed = await folder.run(["test", folder.path])
      expect(changed.code, changed.output).to.equal(1)
      expect(changed.output).to.include("TESTED@EXAMPLE.COM").and.include("tested@example.com")
    } finally {
      folder.remove()
    }
  })

  it("keep the digits of long integers, also of JSON that was sent as a form", async () => {
    for (const [digits, type] of [
      ["9007199254740993", "application/json"],
      ["12345678901234567891", "application/x-www-form-urlencoded"],
      ["-9007199254740993", "text/plain"],
    ] as const) {
      const event = await post("public", `{"id":${digits},"list":[{"id":${digits}}]}`, { "content-type": type })
      const { yaml } = await host.invoke<{ yaml: string }>("events.get_test", { id: event.id })
      expect(yaml.match(new RegExp(`id: "${digits}"`, "g")), yaml).to.have.length(2)
      expect(await ran(await curlOf(event.id))).to.include({ status: 200 })
      const again = await newest("public")
      expect(again.id).to.not.equal(event.id)
      expect(again.payload_preview).to.equal(event.payload_preview)
    }
  })

  it("are reports that nothing breaks out of, and what they are refused for is said", async () => {
    const event = await sendSigned({ email: "a@example.com", note: `\`\`\`\`\n# Not a heading ${hostile}`, password: "hidden-value" })
    const { report } = await host.invoke<{ report: string }>("events.get_report", { id: event.id })
    expect(report).to.not.include("hidden-value").and.not.include("whsec_").and.not.include("\u202E")
    expect(report).to.include("[redacted]").and.include("- `dataset.write`: `done, 1 attempts").and.include("201")
    const outside = report.split(/^(`{3,})\n[\s\S]*?^\1$/m).join("\n")
    expect(outside).to.not.include("Not a heading")

    const replay = await host.invoke<{ execution_id: string }>("event_pipelines.replay_execution", { slug: "signed", id: event.id })
    const { events } = await host.invoke<{ events: Event[] }>("events.list_replays", { id: event.id })
    expect(events.map(({ id, replay_of }) => [id, replay_of])).to.deep.equal([[replay.execution_id, event.id]])
    expect((await host.invoke<Event>("events.get", { id: replay.execution_id })).replay_of).to.equal(event.id)

    const unverified = await fetch(`${inbound.get("signed")}`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    })
    expect(unverified.status).to.equal(401)
    const { id } = await newest("signed")
    expect((await refusalOf(curlOf(id))).details.reason).to.equal("payload_expired")
    expect((await host.invoke<{ report: string }>("events.get_report", { id })).report).to.include("missing_header")
    const unknown = "00000000-0000-4000-8000-000000000000"
    for (const operation of ["get", "list_replays", "get_curl", "get_test", "get_report"])
      expect((await refusalOf(host.invoke(`events.${operation}`, { id: unknown }))).details.reason).to.equal("event_not_found")
  })
})
