// Use of plugins' declarations by the audit log, the journal and a dry run. None of them contains a plugin's own names.
import { expect } from "chai"
import { z } from "zod"
import { defineAction, defineCollection, defineOperation, definePlugin } from "#core"
import { type TestHost, testHost } from "#core/testing"

interface Message {
  id: string
  room_id: string
  text: string
}

const messages = (audit: "full" | "size" | "none") =>
  defineCollection<Message>()({
    name: `sample_${audit}_messages`,
    scope: "organization",
    times: [],
    indexes: [],
    audit,
    ...(audit === "size" ? { auditFields: ["room_id"] } : {}),
  })
const collections = [messages("full"), messages("size"), messages("none")]

const post = defineOperation({
  name: "sample_messages.post",
  summary: "Post a message.",
  http: { method: "POST", path: "/v1/sample-messages" },
  access: { scope: "sample_messages:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({ id: z.string(), text: z.string() }),
  output: z.object({}),
  errors: [],
  auditSize: ["text"],
  handle({ input, caller, work }) {
    const fields = { room_id: "the-room", text: input.text }
    for (const collection of collections) work.in(collection, caller.organization.id).insert({ id: input.id, ...fields })
    return {}
  },
})

const config = z.strictObject({})
const shared = { summary: "A sample.", timing: "commit", config, examples: [] } as const
const tellBoard = defineAction({
  ...shared,
  type: "sample.tell",
  result: z.object({}),
  broadcastsTo: () => ["board"],
  preview: () => ({ channel: "board" }),
  run: () => ({}),
})
/** Its result resembles a row but is not one: the action writes to no dataset. */
const lookAlike = defineAction({
  ...shared,
  type: "sample.look_alike",
  result: z.object({ row_id: z.string(), dataset_slug: z.string() }),
  run: () => ({ row_id: "018f3b6e-0000-7000-8000-000000000000", dataset_slug: "nowhere" }),
})

const plugin = definePlugin({
  id: "sample-declarations",
  config: z.strictObject({}),
  register(registrar) {
    registrar.collections(...collections)
    registrar.operations(post)
    registrar.actions(tellBoard, lookAlike)
  },
})

interface AuditPage {
  audit_log: { changes: Record<string, unknown>; writes: { collection: string; after: Record<string, unknown> }[] }[]
}

describe("declarations of a plugin", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ plugins: [plugin] })
  })
  after(() => host.stop())

  it("decide what the audit log keeps of a collection and of an input", async () => {
    const text = "a private message"
    expect((await host.api("POST", "/v1/sample-messages", { id: "m1", text })).status).to.equal(200)
    const [entry] = (await host.api<AuditPage>("GET", "/v1/audit-log?operation=sample_messages.post")).body.audit_log
    const stored = new Map(entry?.writes.map(({ collection, after }) => [collection, after]))
    expect(stored.get("sample_full_messages")).to.include({ id: "m1", text })
    expect(stored.get("sample_size_messages")).to.have.all.keys("id", "room_id", "bytes")
    expect(stored.has("sample_none_messages")).to.equal(false)
    expect(entry?.changes["text"]).to.deep.equal({ bytes: Buffer.byteLength(JSON.stringify(text)) })
  })

  it("decide which results the journal lists as rows, and what a dry run shows as broadcast", async () => {
    const document = { name: "Sample", auth_mode: "none", source_kind: "third_party_webhook", state: "active" }
    const pipeline = [
      { id: "tell", type: "sample.tell" },
      { id: "look", type: "sample.look_alike" },
      { id: "save", type: "dataset.write", dataset_slug: "leads" },
    ]
    const response = await host.api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", { ...document, pipeline })
    const event = { email: "ada@example.com" }
    const dry = await host.api<{ effects: { rows: { step: string }[]; broadcasts: { step: string }[] } }>(
      "POST",
      `/v1/event-pipelines/${response.body.slug}/test`,
      { payload: event },
    )
    expect(dry.body.effects.broadcasts.map(({ step }) => step)).to.deep.equal(["tell"])
    expect(dry.body.effects.rows.map(({ step }) => step)).to.deep.equal(["save"])
    const { status, body } = await host.send<{ execution_id: string }>(response.body, event)
    expect(status, JSON.stringify(body)).to.equal(200)
    const entry = await host.invoke<{ rows: { step: string }[] }>("event_pipelines.get_execution", {
      slug: response.body.slug,
      id: body.execution_id,
    })
    expect(entry.rows.map(({ step }) => step)).to.deep.equal(["save"])
  })
})

describe("an action type that no compiler has read", () => {
  it("is refused where it says when it runs, or repeats, in an unknown word", async () => {
    const action = { type: "sample.act", summary: "Act.", config: z.strictObject({}), result: z.object({}), examples: [], run: () => ({}) }
    for (const [wrong, report] of [
      [{ timing: "comit" }, 'The action "sample.act" has timing "comit"; it is one of commit, deferred. Did you mean "commit"?'],
      [
        { timing: "commit", idempotency: "never" },
        'The action "sample.act" has idempotency "never"; it is one of exactly_once, idempotency_key.',
      ],
    ] as const) {
      const plugin = definePlugin({
        id: "sample",
        config: z.strictObject({}),
        register: (registrar) => registrar.actions({ ...action, ...wrong } as never),
      })
      const refusal = await testHost({ plugins: [plugin] }).then((host) => host.stop().then(() => "started"), String)
      expect(refusal).to.include(report)
    }
  })
})
