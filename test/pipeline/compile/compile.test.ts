// The compiler: from a document to a graph, or to all findings at once with their places.
import { expect } from "chai"
import fc from "fast-check"
import { AppError } from "../../../core/kernel/errors.ts"
import { compile, compileText } from "../../../core/pipeline/compile.ts"
import { documentSchema } from "../../../core/pipeline/document-schema.ts"
import type { Graph } from "../../../core/pipeline/graph.ts"
import { leastProcessorMs } from "../../slowness.ts"
import { actions, authModes, environment, scope } from "../doubles.ts"

const example = `
name: Website lead
state: active
source_kind: browser_form
auth_mode: authenticated_viewer
auth_config: { audience: public_and_viewers }
request_schema:
  type: object
  required: [email]
  properties: { email: { type: string, format: email }, name: { type: string, maxLength: 200 } }
transform_js: |
  function transform(event) {
    return { email: event.email.trim().toLowerCase(), name: event.name, budget: Number(event.budget) || 0 }
  }
pipeline:
  - id: save
    type: dataset.write
    dataset_slug: leads
    key: email                       # upsert by this column
  - id: tell_sales
    type: email.send
    when: event.budget >= 1000
    to: sales@acme.test
    heading: New lead from {{ event.name }}
    fields: { Name: "{{ event.name }}", Email: "{{ event.email }}" }
    button: { label: Open the page, url: "{{ envelope.page_url }}" }
    retry: { max_attempts: 5, initial_delay_ms: 500 }
    on_error: continue
  - type: live.broadcast
    channel: leads
    data: { email: "{{ event.email }}" }
  - type: respond
    status: 201
    body: { ok: true, row_id: "{{ steps.save.row_id }}" }
`

async function graphOf(pipeline: unknown, more: Record<string, unknown> = {}): Promise<Graph> {
  const compilation = await compile({ name: "x", auth_mode: "none", pipeline, ...more }, environment)
  if (!compilation.ok) throw new Error(compilation.findings.map((finding) => `${finding.pointer} ${finding.message}`).join("\n"))
  return compilation.graph
}

async function errorsOf(pipeline: unknown, more: Record<string, unknown> = {}) {
  const { findings } = await compile({ name: "x", auth_mode: "none", pipeline, ...more }, environment)
  return findings.filter((finding) => finding.level === "error")
}

const ids = (steps: readonly { id: string }[]) => steps.map((step) => step.id)
const mail = { type: "email.send", to: "a@b.test", heading: "Hi" }
const save = { type: "dataset.write", dataset_slug: "leads", key: "email" }

describe("compile", () => {
  it("takes the documented example as it stands", async () => {
    const { compilation } = await compileText(example, environment)
    expect(compilation.findings).to.deep.equal([])
    if (!compilation.ok) throw new Error("did not compile")
    const { graph } = compilation
    expect(ids(graph.immediate)).to.deep.equal(["save", "live_broadcast_1", "respond_1"])
    expect(ids(graph.deferred)).to.deep.equal(["tell_sales"])
    expect(graph.byId.get("respond_1")?.needs).to.deep.equal(["live_broadcast_1"])
    expect(graph.byId.get("tell_sales")).to.deep.include({ needs: ["save"], onError: "continue", deferred: true })
    expect(graph.byId.get("tell_sales")?.retry).to.include({ max_attempts: 5, initial_delay_ms: 500 })
    expect(graph.writesTo).to.deep.equal(["leads"])
    expect(graph.upserts).to.deep.equal([{ dataset: "leads", key: "email" }])
    expect(graph.reads).to.deep.equal({ payload: false, query: false, headers: false })
    expect(graph.byId.get("tell_sales")?.when?.(scope)).to.equal(true)
    expect(graph.byId.get("tell_sales")?.config(scope)).to.deep.equal({
      to: "sales@acme.test",
      heading: "New lead from Ada",
      fields: { Name: "Ada", Email: "ada@acme.test" },
      button: { label: "Open the page", url: "https://acme.test/p" },
    })
    expect(graph.byId.get("respond_1")?.config(scope)).to.deep.equal({ status: 201, body: { ok: true, row_id: "r1" } })
    const constant = graph.byId.get("save")?.config(scope)
    expect(constant).to.deep.equal({ dataset_slug: "leads", key: "email" })
    expect(graph.byId.get("save")?.config(scope)).to.equal(constant)
  })

  it("reports twelve different mistakes at once, each on its line", async () => {
    const text = `name: Twelve
stat: active
auth_mode: hmac_sha265
request_schema: { type: objekt }
transform_js: |
  function transform(event) {
    return {
  }
pipeline:
  - { id: save, type: dataset.wirte, dataset_slug: leads }
  - { id: mail, type: email.send, to: a@b.test, headng: x, heading: y }
  - { id: mail, type: respond, body: {} }
  - type: http.request
    url: https://a.test
    method: PATCH
  - type: live.broadcast
    channel: leads
    needs: [sav]
    data: "{{ event.a b }}"
  - type: live.broadcast
    channel: leads
    data: "{{ steps.sve.row_id }}"
    on_error: recover
`
    const { compilation } = await compileText(text, environment)
    expect(compilation.ok).to.equal(false)
    const rules = compilation.findings.map((finding) => `${finding.line} ${finding.rule}`).sort()
    expect(rules).to.deep.equal(
      [
        ...["2 unknown-field", "3 unknown-auth-mode", "4 invalid-schema", "7 invalid-transform", "10 unknown-action", "11 unknown-field"],
        ...["12 duplicate-id", "15 invalid-field", "18 unknown-need", "19 invalid-template", "22 reads-non-ancestor", "23 unknown-handler"],
      ].sort(),
    )
    const message = compilation.findings.map((finding) => finding.message).join("\n")
    for (const meant of ["state", "hmac_sha256", "dataset.write", "heading", "save"]) expect(message).to.include(`Did you mean "${meant}"?`)
  })

  it("warns of formats and keywords of a request schema that were misspelt, and of no annotation", async () => {
    const text = `name: Schema
auth_mode: none
request_schema:
  type: object
  requierd: [a]
  x-requird: true
  note: for people
  example: { minimun: 3 }
  properties:
    a: { type: integer, minimun: 3 }
    minimun: { anyOf: [{ type: string, format: emial }, { format: our-own-format }] }
    c: { const: { format: emial }, format: email }
`
    const { compilation } = await compileText(text, environment)
    expect(compilation.ok).to.equal(true)
    expect(compilation.findings.map(({ line, rule, level, pointer }) => `${line} ${level} ${rule} ${pointer}`)).to.deep.equal([
      "5 warning unknown-keyword /request_schema/requierd",
      "10 warning unknown-keyword /request_schema/properties/a/minimun",
      "11 warning unknown-format /request_schema/properties/minimun/anyOf/0/format",
      "11 warning unknown-format /request_schema/properties/minimun/anyOf/1/format",
    ])
    const said = compilation.findings.map(({ message }) => message).join("\n")
    for (const meant of ["required", "minimum", "email"]) expect(said).to.include(`Did you mean "${meant}"?`)
  })

  it("says of a dedupe key that reads what it cannot only that, not that no signature covers it", async () => {
    for (const [key, rules] of [
      ["{{ event.id }}", ["template-never-resolves"]],
      ["{{ paylod.id }}", ["template-never-resolves"]],
      ["{{ query.id }}{{ event.id }}", ["dedupe-key-not-signed", "template-never-resolves"]],
    ] as const) {
      const { findings } = await compile({ name: "Key", auth_mode: "hmac_sha256", dedupe: { key } }, environment)
      expect(findings.map(({ rule }) => rule).sort(), key).to.deep.equal(rules)
    }
  })

  it("stops at the limit of steps, before compiling them", async () => {
    const step = { type: "live.broadcast", channel: "leads", data: "{{ event.a b }}" }
    const of = (count: number) =>
      compile({ name: "Many", stat: "active", auth_mode: "none", pipeline: Array(count).fill(step) }, environment)
    const took = await leastProcessorMs(1_000, async () =>
      expect((await of(3_000)).findings.map(({ rule, pointer }) => [rule, pointer])).to.deep.equal([
        ["unknown-field", "/stat"],
        ["invalid-field", "/pipeline"],
      ]),
    )
    expect(took).to.be.below(1_000)
    expect((await of(100)).findings.filter(({ rule }) => rule === "invalid-template")).to.have.length(100)
  })

  it("finds what else is wrong with a step or handler whose id is taken", async () => {
    const text = `name: Twice
auth_mode: none
pipeline:
  - id: save
    type: dataset.write
    dataset_slug: leads
    key: email
  - id: save
    type: email.send
    to: a@example.com
    headin: Hi
    needs: [sav]
    on_error: nobody
    when: "steps.later.ok"
  - { id: later, type: live.broadcast, channel: c, on_error: later }
handlers:
  later: { type: live.broadcast, channel: x, needs: [save] }
`
    const { compilation } = await compileText(text, environment)
    const rules = compilation.findings.map(({ line, rule }) => `${line} ${rule}`)
    expect(compilation.ok).to.equal(false)
    expect(rules).to.include.members([
      ...["8 duplicate-id", "11 unknown-field", "12 unknown-need", "13 unknown-handler", "14 reads-non-ancestor"],
      ...["17 duplicate-id", "17 invalid-field"],
    ])
    // The handler exists and is used, regardless of its id.
    expect(rules.filter((value) => /1[57] (unknown|unused)-handler/.test(value))).to.deep.equal([])
  })

  it("gives the same digest for the same document, however spelled, and another for another", async () => {
    const first = await graphOf([save, mail])
    expect((await graphOf([{ key: "email", dataset_slug: "leads", type: "dataset.write" }, mail])).digest).to.equal(first.digest)
    expect((await graphOf([save, mail], { state: "proposed" })).digest).to.equal(first.digest)
    expect((await graphOf([mail, save])).digest).not.to.equal(first.digest)
    const secret = (value: string) => graphOf([], { auth_mode: "hmac_sha256", auth_config: { secret: value } })
    expect((await secret("one")).digest).to.equal((await secret("two")).digest)
  })

  it("defers what needs or reads a deferred step, and nothing for the list's order alone", async () => {
    const graph = await graphOf([
      { ...mail, id: "m" },
      { ...save, id: "after" },
      { ...save, id: "behind", needs: ["m"] },
      { id: "told", type: "live.broadcast", channel: "c", data: "{{ steps.m.message_id }}" },
      { ...mail, id: "awaited", await: true },
      { id: "last", type: "live.broadcast", channel: "c", data: "{{ steps.awaited.message_id }}" },
    ])
    expect(ids(graph.immediate)).to.deep.equal(["after", "awaited", "last"])
    expect(ids(graph.deferred)).to.deep.equal(["m", "behind", "told"])
    expect(graph.byId.get("m")?.needs).to.deep.equal([])
    expect(graph.byId.get("awaited")?.retry.max_attempts).to.equal(1)
    expect(
      await errorsOf([
        { ...mail, id: "m" },
        { type: "respond", body: "{{ steps.m.message_id }}" },
      ]),
    ).to.have.length(1)
  })

  it("prints the circle of circular needs", async () => {
    const errors = await errorsOf([
      { ...save, id: "a", needs: ["c"] },
      { ...save, id: "b", needs: ["a"] },
      { ...save, id: "c", needs: ["b"] },
    ])
    expect(errors).to.have.length(1)
    expect(errors[0]?.message).to.include("a -> c -> b -> a")
    expect((await errorsOf([{ ...save, id: "a", needs: ["a"] }]))[0]?.message).to.include("a -> a")
  })

  it("lets a handler read what its step could, and runs it on that step's side", async () => {
    const handlers = { tell: { type: "live.broadcast", channel: "c", data: "{{ steps.first.row_id }}" } }
    const graph = await graphOf(
      [
        { ...save, id: "first" },
        { ...mail, id: "m", on_error: "tell" },
      ],
      { handlers },
    )
    expect(graph.handlers.get("tell")).to.include({ deferred: true })
    expect(graph.byId.get("m")?.onError).to.deep.equal({ handler: "tell" })
    expect(
      await errorsOf(
        [
          { ...save, id: "m", on_error: "tell" },
          { ...save, id: "first" },
        ],
        { handlers },
      ),
    ).to.have.length(1)
  })

  it("names field and kind, never the value, when a rendered value does not fit", async () => {
    const graph = await graphOf([{ ...mail, to: "{{ event.name }}", button: { label: "{{ event.tags }}", url: "https://a.test" } }])
    const run = () => graph.byId.get("email_send_1")?.config({ ...scope, event: { name: "sk_live_123", tags: [] } })
    expect(run)
      .to.throw(AppError, /"to" rendered to a string, which is not valid/)
      .with.nested.property("details.reason", "invalid_rendered_value")
    expect(run).not.to.throw(/sk_live/)
    const failing = await graphOf([{ type: "respond", body: { at: "{{ 'now' | date: '%s' }}" } }])
    expect(() => failing.byId.get("respond_1")?.config(scope))
      .to.throw(AppError, /"body" cannot be rendered/)
      .with.nested.property("details.reason", "template_failed")
  })

  it("leaves out acknowledged warnings, by the id of the rule or one that it had before", async () => {
    const pipeline = [
      { type: "respond", body: 1 },
      { type: "respond", body: 2 },
    ]
    const rulesFound = async (more: object) =>
      (await compile({ name: "x", auth_mode: "none", pipeline, ...more }, environment)).findings.map(({ rule }) => rule)
    expect(await rulesFound({})).to.deep.equal(["multiple-responds"])
    for (const rule of ["multiple-responds", "several-responds"])
      expect(await rulesFound({ acknowledged_warnings: [rule] })).to.deep.equal([])
  })

  it("takes conditions that are true or false and lists of at most a thousand", async () => {
    const graph = await graphOf([{ ...save, when: "event.a", for_each: "event.list", row: { x: "{{ item.x }}" } }])
    const step = graph.byId.get("dataset_write_1")
    const compileWith = (event: Record<string, never[] | boolean | string | number[]>) => ({ ...scope, event })
    expect(step?.when?.(compileWith({ a: true }))).to.equal(true)
    expect(step?.when?.(compileWith({}))).to.equal(false)
    expect(() => step?.when?.(compileWith({ a: "yes" }))).to.throw(AppError, /true or false; it gave a string/)
    expect(step?.forEach?.(compileWith({}))).to.deep.equal([])
    expect(() => step?.forEach?.(compileWith({ list: "x" }))).to.throw(AppError, /must give a list/)
    expect(() => step?.forEach?.(compileWith({ list: Array(1_001).fill(1) })))
      .to.throw(AppError, /1001 elements/)
      .with.nested.property("details.reason", "invalid_expression_value")
    expect(step?.config({ ...scope, item: { x: 5 } })).to.deep.equal({ dataset_slug: "leads", key: "email", row: { x: 5 } })
  })

  it("compiles the dedupe key, which sees the request and not the transform's event", async () => {
    const graph = await graphOf([], { dedupe: { key: "{{ headers.x-id }}-{{ payload.id }}", window: "2h" } })
    expect(graph.dedupe?.windowMs).to.equal(7_200_000)
    expect(graph.dedupe?.key({ ...scope, headers: { "x-id": 7 } })).to.equal("7-evt_1")
    expect(graph.reads).to.deep.equal({ payload: true, query: false, headers: true })
    for (const key of ["{{ event.id }}", "{{ steps.a.b }}", "{{ envelope.session_id }}"]) {
      expect((await errorsOf([], { dedupe: { key } }))[0]?.rule, key).to.equal("template-never-resolves")
    }
    expect((await errorsOf([{ ...save, row: { a: "{{ headers.x }}" } }]))[0]?.rule).to.equal("template-never-resolves")
  })

  it("gives readable messages where a field has alternatives", async () => {
    const [wrong] = await errorsOf([{ type: "respond", status: "soon", body: {} }])
    expect(wrong?.message).to.match(/Expected a number, found a string, or a template/)
    expect((await errorsOf([{ type: "email.send", to: "nobody", heading: "x" }]))[0]?.pointer).to.equal("/pipeline/0/to")
    expect((await errorsOf([{ type: "email.send", to: ["a@b.test", "nobody"], heading: "x" }]))[0]?.pointer).to.equal("/pipeline/0/to/1")
    expect((await errorsOf([{ type: "email.send", to: "a@b.test" }]))[0]?.message).to.match(/"heading" is missing/)
  })

  it("never throws, for any JSON", async () => {
    const key = fc.constantFrom(
      "name",
      "pipeline",
      "handlers",
      "type",
      "id",
      "needs",
      "when",
      "dedupe",
      "key",
      "auth_config",
      "to",
      "retry",
      "on_error",
    )
    const leaf = fc.oneof(fc.constantFrom("email.send", "respond", "a", "{{ event.a }}", "{{ x", "fail"), fc.jsonValue({ maxDepth: 1 }))
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ maxDepth: 4, depthSize: "small" }, leaf, fc.dictionary(key, tie("tree")), fc.array(tie("tree"), { maxLength: 4 })),
    }))
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, tree, { maxKeys: 8 }), async (input) => {
        const compilation = await compile(input, environment)
        expect(compilation.ok || compilation.findings.some((finding) => finding.level === "error")).to.equal(true)
      }),
      { numRuns: 400 },
    )
    for (const input of [null, undefined, 1, [], "x", JSON.parse('{"name":"x","__proto__":{}}')]) {
      expect((await compile(input, environment)).ok).to.equal(false)
    }
  })

  it("orders every graph so that needs come first, on the right side of the reply", async () => {
    const needs = fc.array(fc.array(fc.nat({ max: 7 }), { maxLength: 3 }), { minLength: 8, maxLength: 8 })
    const kinds = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(needs, kinds, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), async (expected, mails, implicit) => {
        const pipeline = expected.map((list, index) => ({
          ...(mails[index] ? mail : save),
          id: `s${index}`,
          ...(!implicit[index] && { needs: [...new Set(list.filter((need) => need < index))].map((need) => `s${need}`) }),
        }))
        const graph = await graphOf(pipeline)
        const run = ids([...graph.immediate, ...graph.deferred])
        expect([...run].sort()).to.deep.equal(pipeline.map((step) => step.id))
        for (const step of graph.byId.values()) {
          for (const need of step.needs) {
            expect(run.indexOf(need)).to.be.below(run.indexOf(step.id))
            if (!step.deferred) expect(graph.byId.get(need)?.deferred).to.equal(false)
          }
        }
      }),
      { numRuns: 200 },
    )
  })

  it("describes documents to editors: every action and mode by its name, nothing unknown let in", () => {
    const schema = documentSchema(actions, authModes) as {
      $defs: Record<string, { properties?: Record<string, unknown>; additionalProperties?: unknown }>
    }
    const text = JSON.stringify(schema)
    const write = schema.$defs["action.dataset.write"]
    expect(Object.keys(write?.properties ?? {})).to.include.members(["type", "id", "needs", "dataset_slug", "key", "row"])
    expect(write?.additionalProperties).to.equal(false)
    for (const [, reference] of text.matchAll(/"\$ref":"#\/([^"]*)"/g)) {
      const target = reference?.split("/").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], schema)
      expect(target, reference).to.be.an("object")
    }
  })
})
