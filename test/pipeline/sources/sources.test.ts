// Bad events of each kind through every source: outside HTTP, `POST …/events`, `pipeline.send`, replay, page events and dry run.
// One fault has one cause, one journal entry and one reason for every source.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { answered, Bench, type Entry, type Made, post } from "../bench.ts"
import { onStoresInTurn } from "../stores.ts"

interface Refusal {
  readonly code: string
  readonly details: { readonly reason: string; readonly execution_id?: string; readonly fields?: unknown }
}

const document = {
  request_schema: { type: "object", required: ["n"], properties: { n: { type: "integer" } } },
  transform_js: `function transform(event) {
    if (event.boom) throw new Error("no such thing")
    if (event.forever) for (;;) {}
    return event.odd ? 42 : event
  }`,
  pipeline: [
    { id: "save", type: "dataset.write", dataset_slug: "kept", row: { n: "{{ event.n }}" } },
    { id: "bad", type: "live.broadcast", when: "event.fails", channel: "{{ event.channel }}" },
  ],
}

const faults = [
  { title: "fails its schema", payload: { no: 1 }, status: "rejected", cause: "schema_mismatch", answer: 400 },
  { title: "is not an object", payload: [1], status: "rejected", cause: "schema_mismatch", answer: 400 },
  { title: "makes its transform throw", payload: { n: 1, boom: true }, status: "failed", cause: "transform_threw", answer: 400 },
  {
    title: "makes its transform run for ever",
    payload: { n: 1, forever: true },
    status: "failed",
    cause: "transform_timeout",
    answer: 400,
  },
  { title: "makes its transform return a number", payload: { n: 1, odd: true }, status: "failed", cause: "transform_result", answer: 400 },
  {
    title: "makes an action fail",
    payload: { n: 1, fails: true, channel: "not a channel!" },
    status: "failed",
    cause: "action_failed",
    reason: "event_refused",
    answer: 400,
  },
] as const

onStoresInTurn("an event that", ({ start }) => {
  let host: TestHost
  let bench: Bench
  let outside: Made
  let page: Made
  before(async () => {
    // On a busy machine, the process would sometimes end the transform, with another message.
    host = await start({ env: { MILLRACE_JOBS_POLL_MS: "20", MILLRACE_SANDBOX_HARD_DEADLINE_MS: "10000" } })
    bench = new Bench(host)
    outside = await bench.make({ ...document, name: "Outside" })
    await bench.make({ ...document, name: "Inside", source_kind: "internal" })
    await bench.make({
      name: "Sender",
      source_kind: "internal",
      pipeline: [{ id: "pass", type: "pipeline.send", pipeline: "inside", retry: { max_attempts: 1 } }],
    })
    const response = await host.api<{ slug: string }>("POST", "/v1/pages", {
      title: "Shown",
      variants: [{ key: "control", html: "<h1>Hello</h1>" }],
    })
    await host.api("POST", `/v1/pages/${response.body.slug}/publish`)
    page = (await host.api<Made>("GET", `/v1/event-pipelines/page-events-${response.body.slug}`)).body
  })

  const inside = (slug: string, payload: unknown) =>
    host.api<{ execution_id: string; status: string; response: { status: number; body: Refusal } }>(
      "POST",
      `/v1/event-pipelines/${slug}/events`,
      { payload },
    )

  /** Returns an entry without fields unique to its execution. */
  const storyOf = ({ status, cause, error, schema_errors, payload_preview, rows, response }: Entry) => {
    const { execution_id: _, ...details } = (JSON.parse(response?.body ?? "{}") as Refusal).details
    return { status, cause, error, schema_errors, payload_preview, rows, answer: response?.status, details }
  }

  const sources: Record<string, (payload: unknown) => Promise<{ entry: Entry; answer?: { status: number; body: Refusal } }>> = {
    "from outside": async (payload) => {
      const { status, body } = await post(outside.inbound_url, payload)
      return { entry: await bench.newest("outside"), answer: { status, body } }
    },
    "by POST …/events": async (payload) => {
      const { body } = await inside("inside", payload)
      return { entry: await bench.entry("inside", body.execution_id), answer: body.response }
    },
    "by pipeline.send": async (payload) => {
      const before = await bench.entries("inside")
      const { body } = await inside("sender", payload)
      await bench.entryWhen("sender", body.execution_id, ({ status }) => status === "failed")
      const [newest, ...rest] = await bench.entries("inside")
      expect(rest).to.deep.equal(before)
      return { entry: await bench.entry("inside", newest?.id ?? "") }
    },
    "by replay": async (payload) => {
      await post(outside.inbound_url, payload)
      const origin = await bench.newest("outside")
      const { status, body } = await host.api<{ execution_id: string; response: { status: number; body: Refusal } }>(
        "POST",
        `/v1/event-pipelines/outside/executions/${origin.id}/replay`,
      )
      expect(status, JSON.stringify(body)).to.equal(200)
      return { entry: await bench.entry("outside", body.execution_id), answer: body.response }
    },
  }

  for (const { title, payload, status, cause, answer, ...more } of faults) {
    const reason = "reason" in more ? more.reason : cause
    it(`${title} is told of in one way, from every source`, async () => {
      const stories: unknown[] = []
      for (const [source, send] of Object.entries(sources)) {
        const message = await send(payload)
        const story = storyOf(message.entry)
        expect(story, source).to.deep.include({ status, cause, answer, rows: [] })
        expect(story.details.reason, source).to.equal(reason)
        if (message.answer) expect([message.answer.status, message.answer.body.details.reason], source).to.deep.equal([answer, reason])
        stories.push(story)
      }
      for (const story of stories) expect(story).to.deep.equal(stories[0])
      expect(await bench.rows("kept")).to.deep.equal([])
    })
  }

  it("is refused is told of by a dry run with the same reason, and without a trace", async () => {
    const books = await bench.books()
    for (const { payload, cause, status } of faults) {
      const { body } = await host.api<{
        code?: string
        details?: { reason?: string; cause?: string }
        schema_errors?: unknown[]
        steps?: { id: string; state: string }[]
        effects?: unknown
      }>("POST", "/v1/event-pipelines/outside/test", { payload })
      const nothing = { rows: [], sends: [], broadcasts: [], response: null }
      if (status === "rejected") {
        expect(body).to.deep.include({ steps: [], effects: nothing })
        expect(body.schema_errors).to.have.length(1)
      } else if (cause === "action_failed") {
        expect(body.effects).to.deep.equal(nothing)
        expect(body.steps?.map(({ id, state }) => `${id} ${state}`)).to.deep.equal(["save done", "bad failed"])
      } else expect([body.code, body.details]).to.deep.equal(["failed_precondition", { reason: "transform_failed", cause }])
    }
    expect(await bench.books()).to.deep.equal(books)
  })

  it("has no deduplication key that can be made is rejected, with an entry, from outside and from inside", async () => {
    const dedupe = { key: "{{ payload.long }}/{{ payload.long }}", window: "1h" }
    const { inbound_url } = await bench.make({ name: "Keyed", dedupe, pipeline: [] })
    await bench.make({ name: "Keyed In", source_kind: "internal", dedupe, pipeline: [] })
    const payload = { long: "x".repeat(900_000) }
    const out = await post(inbound_url, payload)
    const fed = await host.api<{ response: { status: number; body: Refusal }; execution_id: string }>(
      "POST",
      "/v1/event-pipelines/keyed-in/events",
      { payload },
    )
    expect([out.status, out.body.details.reason]).to.deep.equal([400, "dedupe_key"])
    expect([fed.status, fed.body.response.status, fed.body.response.body.details.reason]).to.deep.equal([200, 400, "dedupe_key"])
    for (const entry of [await bench.newest("keyed"), await bench.newest("keyed-in")])
      expect(entry).to.include({ status: "rejected", cause: "dedupe_key" })
  })

  const bad: [string, string | Uint8Array, string, number, string][] = [
    ["that is cut short", '{"events":', "application/json", 400, "malformed_body"],
    ["that is empty", "", "application/json", 400, "empty_body"],
    ["that is neither UTF-8 nor JSON", new Uint8Array([0x22, 0xff]), "application/json", 400, "malformed_body"],
    ["of a type that is not taken", "<a/>", "application/xml", 415, "unsupported_content_type"],
    ["that is too large", "x".repeat(1_200_000), "application/json", 413, "body_too_large"],
  ]
  for (const [title, body, type, status, reason] of bad) {
    it(`comes as a body ${title} is answered and journalled alike at a pipeline's endpoint and at a page's`, async () => {
      for (const { inbound_url, slug } of [outside, page]) {
        const answer = await answered(await fetch(inbound_url, { method: "POST", body: body as string, headers: { "content-type": type } }))
        const entry = await bench.newest(slug)
        // Events of a page are verified by their body, so an unreadable body is unverified.
        const unproven = slug === page.slug && reason !== "body_too_large"
        const expected = unproven ? [401, "unverified", entry.verdict.cause] : [status, reason, reason]
        expect([answer.status, answer.body.details.reason, entry.cause], slug).to.deep.equal(expected)
        expect([entry.status, entry.response?.status], slug).to.deep.equal(["rejected", expected[0]])
        expect(entry.payload_preview, slug).not.to.equal("")
      }
    })
  }
})

onStoresInTurn("events beyond the cap of rejections a minute", ({ start }) => {
  const cap = 3
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await start({ env: { MILLRACE_INBOUND_REJECTED_ENTRIES_PER_MINUTE: String(cap) } })
    // All within one minute: the cap resets with the minute.
    host.clock.set(Math.floor(Date.now() / 60_000) * 60_000)
    bench = new Bench(host)
  })

  /** Sends more rejections than the cap. Returns the entries once all are counted. */
  const flood = async (slug: string, send: () => Promise<unknown>) => {
    const before = (await bench.entries(slug)).length
    for (let n = 0; n < cap + 4; n++) await send()
    // Counts are written every second.
    host.clock.move(1_000)
    return until("all being counted", async () => {
      const entries = await bench.entries(slug)
      const fed = entries.slice(0, entries.length - before)
      return fed.reduce((sum, { count }) => sum + count, 0) === cap + 4 && fed
    })
  }

  it("are counted in one entry, from every source", async () => {
    const schema = { request_schema: { type: "object", required: ["n"] }, pipeline: [] }
    const { inbound_url } = await bench.make({ ...schema, name: "Web" })
    await bench.make({ ...schema, name: "In", source_kind: "internal" })
    const web = await flood("web", () => post(inbound_url, {}))
    expect(web).to.have.length(cap + 1)
    const ids = new Set<string>()
    const fed = await flood("in", async () => {
      const { body } = await host.api<{ execution_id: string }>("POST", "/v1/event-pipelines/in/events", { payload: {} })
      ids.add(body.execution_id)
    })
    expect(fed).to.have.length(cap + 1)
    expect(new Set(fed.map(({ id }) => id))).to.deep.equal(ids)
    for (const entries of [web, fed]) expect(new Set(entries.map(({ cause }) => cause))).to.deep.equal(new Set(["schema_mismatch"]))
  })

  it("are counted in one entry when they are replayed", async () => {
    const { inbound_url } = await bench.make({ name: "Again", pipeline: [] })
    const { body } = await post(inbound_url, {})
    const change = { request_schema: { type: "object", required: ["n"] } }
    expect((await host.api("PUT", "/v1/event-pipelines/again", change)).status).to.equal(200)
    const entries = await flood("again", () => host.api("POST", `/v1/event-pipelines/again/executions/${body.execution_id}/replay`))
    expect(entries).to.have.length(cap + 1)
  })
})
