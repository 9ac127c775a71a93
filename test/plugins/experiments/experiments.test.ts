// Experiments over HTTP: the resource and its statuses, the ledger, people's feedback, and personas.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { Buckets } from "../../../plugins/data/buckets/index.ts"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { collectionNamed } from "../collection-named.ts"

interface Observation {
  readonly id: string
  readonly kind: string
  readonly variant_key: string
  readonly judge_slug: string
  readonly reason: string
  readonly value: number | null
  readonly details: Record<string, unknown>
}

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { readonly reason?: string; readonly fields?: readonly { readonly path: string }[] }
}

const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64")
const variants = [
  { key: "control", html: "<h1>Control</h1>" },
  { key: "short", html: "<h1>Short</h1>" },
]

describe("experiments", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const call = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) => host.api<T>(method, path, body)
  const page = async (title: string, publish = true) => {
    const { slug } = (await call<{ slug: string }>("POST", "/v1/pages", { title, variants })).body
    if (publish) await call("POST", `/v1/pages/${slug}/publish`)
    return slug
  }
  const experiment = async (name: string, more: object = {}) =>
    (
      await call<{ id: string; slug: string; revision: number }>("POST", "/v1/experiments", {
        name,
        variants: [{ key: "control" }, { key: "short" }],
        ...more,
      })
    ).body
  const observations = async (slug: string, query = "") =>
    (await call<{ observations: Observation[]; next_cursor: string }>("GET", `/v1/experiments/${slug}/observations${query}`)).body
  const feedback = (...items: object[]) =>
    call<{ items: { observation_id: string; experiment_slug: string }[] } & Refusal>("POST", "/v1/page-feedback", { items })

  it("takes the variants of its page, and settles what is measured when it starts", async () => {
    const slug = await page("Two headlines")
    const response = await call<{ slug: string; variants: unknown; status: string }>("POST", "/v1/experiments", {
      name: "Headlines",
      page: slug,
    })
    expect(response.body).to.deep.include({
      slug: "headlines",
      status: "draft",
      variants: [
        { key: "control", page_variant: "control" },
        { key: "short", page_variant: "short" },
      ],
    })
    const started = await call<{ status: string; started_at: string }>("POST", "/v1/experiments/headlines/start")
    expect(started.body.status).to.equal("running")
    expect((await call("POST", "/v1/experiments/headlines/start")).body).to.deep.equal(started.body)
    const refused = await call<Refusal>("PATCH", "/v1/experiments/headlines", { goal: { kind: "page_event", event: "cta_click" } })
    expect(refused.status).to.equal(400)
    expect(refused.body.details.reason).to.equal("wrong_status")
    const renamed = await call("PATCH", "/v1/experiments/headlines", { name: "Two headlines", expected_revision: 2 })
    expect(renamed.body).to.deep.include({ name: "Two headlines", revision: 3, goal: { kind: "lead" } })
    expect((await call("PATCH", "/v1/experiments/headlines", { name: "Three", expected_revision: 2 })).status).to.equal(409)
    expect((await call("GET", "/v1/experiments/headlines")).body).to.deep.equal(renamed.body)
  })

  for (const absent of ["plan", "allocation", "ended_at"] as const) {
    it(`takes back the answer of a read while it runs, if an earlier version stored no ${absent}`, async () => {
      const { slug, id } = await experiment(`Older ${absent}`, { page: await page(`Older ${absent}`) })
      await call("POST", `/v1/experiments/${slug}/start`)
      await host
        .get(UnitsOfWork)
        .run((work) => work.in(collectionNamed(host, "page_experiments"), host.organization.id).update(id, { $unset: { [absent]: true } }))
      const read = await call<Record<string, unknown>>("GET", `/v1/experiments/${slug}`)
      const { slug: _slug, ...fields } = read.body
      expect(await call("PATCH", `/v1/experiments/${slug}`, fields)).to.deep.include({ status: 200, body: read.body })
    })
  }

  it("restores a name while it runs, if an earlier version stored no plan", async () => {
    const { slug, id } = await experiment("Without a plan", { page: await page("Without a plan") })
    await call("POST", `/v1/experiments/${slug}/start`)
    await host
      .get(UnitsOfWork)
      .run((work) => work.in(collectionNamed(host, "page_experiments"), host.organization.id).update(id, { $unset: { plan: true } }))
    for (const name of ["First name", "Second name"]) await call("PATCH", `/v1/experiments/${slug}`, { name })
    const response = await call<{ versions: { id: string }[] }>("GET", `/v1/versions?resource=experiment&item_id=${id}`)
    const [, version] = response.body.versions
    expect(await call("POST", `/v1/versions/${version?.id}/restore`)).to.include({ status: 200 })
    expect((await call("GET", `/v1/experiments/${slug}`)).body).to.include({ name: "First name", status: "running" })
  })

  it("does not start without a published page that has its variants", async () => {
    const none = await experiment("No page")
    expect((await call<Refusal>("POST", `/v1/experiments/${none.slug}/start`)).body.details.reason).to.equal("variants_missing")
    const draft = await experiment("Draft page", { page: await page("Not out", false) })
    expect((await call<Refusal>("POST", `/v1/experiments/${draft.slug}/start`)).body.details.reason).to.equal("page_not_published")
    const lacking = await experiment("One too many", {
      page: await page("Out"),
      variants: [{ key: "control" }, { key: "short" }, { key: "third" }],
    })
    const refused = await call<Refusal>("POST", `/v1/experiments/${lacking.slug}/start`)
    expect(refused.body.message).to.include("third")
    expect((await call<{ status: string }>("GET", `/v1/experiments/${lacking.slug}`)).body.status).to.equal("draft")
  })

  it("refuses what it cannot be, naming the field", async () => {
    for (const [input, path] of [
      [{ name: "Twice", variants: [{ key: "a" }, { key: "a" }] }, "variants"],
      [{ name: "Goal", goal: { kind: "sale" } }, "goal"],
      [{ name: "Rail", guardrails: [{ metric: "speed", max_increase_percent: 1 }] }, "guardrails.0.metric"],
    ] as const) {
      const { status, body } = await call<Refusal>("POST", "/v1/experiments", input)
      expect(status).to.equal(400)
      expect(body.details.fields?.map(({ path }) => path).join()).to.include(path)
    }
    expect((await call<Refusal>("POST", "/v1/experiments", { name: "Lost", page: "no-such-page" })).status).to.equal(404)
  })

  it("records feedback word for word, all of it or none", async () => {
    const { slug } = await experiment("With feedback")
    await host.get(Buckets).open(host.organization.id).put("feedback/button.png", png)
    const text = "The button <b>isn't</b> visible 👀\n on a phone"
    const response = await feedback(
      { experiment_slug: slug, variant_key: "control", feedback: text, image_bucket_key: "feedback/button.png" },
      { experiment_slug: slug, variant_key: "short", feedback: "Better." },
    )
    expect(response.body.items.map(({ experiment_slug }) => experiment_slug)).to.deep.equal([slug, slug])
    const { observations: stored } = await observations(slug)
    expect(stored.map(({ id }) => id)).to.have.members(response.body.items.map(({ observation_id }) => observation_id))
    const observation = stored.find(({ variant_key }) => variant_key === "control")
    expect(observation).to.include({ kind: "defect", reason: text, value: null })
    expect(observation?.judge_slug).to.match(/^human:[0-9a-f-]{36}$/)
    expect(observation?.details).to.deep.equal({ image_bucket_key: "feedback/button.png" })
    expect((await host.broadcasts("experiments")).map(({ data }) => (data as { id: string }).id)).to.include.members(
      stored.map(({ id }) => id),
    )

    for (const [bad, path] of [
      [{ experiment_slug: slug, variant_key: "third", feedback: "?" }, "items.1.variant_key"],
      [{ experiment_slug: slug, variant_key: "short", feedback: "?", image_bucket_key: "feedback/none.png" }, "items.1.image_bucket_key"],
      [{ experiment_slug: slug, variant_key: "short", feedback: "?", image_bucket_key: "../../etc/passwd" }, "items.1.image_bucket_key"],
      [{ experiment_slug: slug, variant_key: "short", feedback: "?", image_bucket_key: "nope" }, "items.1.image_bucket_key"],
    ] as const) {
      const refused = await feedback({ experiment_slug: slug, variant_key: "control", feedback: "Not to be kept" }, bad)
      expect(refused.status).to.equal(400)
      expect(refused.body.details.fields?.[0]?.path).to.equal(path)
    }
    expect(
      (
        await feedback(
          { experiment_slug: slug, variant_key: "control", feedback: "Not to be kept" },
          { experiment_slug: "none", variant_key: "a", feedback: "?" },
        )
      ).status,
    ).to.equal(404)
    expect((await observations(slug)).observations).to.have.length(2)
  })

  it("corrects by a further observation, and changes none", async () => {
    const { slug } = await experiment("To be corrected")
    const [first] = (await feedback({ experiment_slug: slug, variant_key: "short", feedback: "Broken." })).body.items
    const before = await observations(slug)
    const corrected = await call<Observation>("POST", `/v1/experiments/${slug}/observations/${first?.observation_id}/corrections`, {
      reason: "Another page.",
    })
    expect(corrected.body).to.deep.include({
      kind: "defect",
      variant_key: "short",
      reason: "Another page.",
      details: { corrects: first?.observation_id, counts: false },
    })
    const after = await observations(slug)
    expect(after.observations).to.deep.equal([corrected.body, ...before.observations])
    for (const method of ["PUT", "PATCH", "DELETE"]) {
      expect((await call(method, `/v1/experiments/${slug}/observations/${first?.observation_id}`, {})).status).to.be.oneOf([404, 405])
    }
    const other = await experiment("Another")
    expect(
      (await call("POST", `/v1/experiments/${other.slug}/observations/${first?.observation_id}/corrections`, { reason: "?" })).status,
    ).to.equal(404)
  })

  it("lists the ledger by filter and page by page", async () => {
    const { slug } = await experiment("Listed")
    await feedback(
      ...Array.from({ length: 5 }, (_, place) => ({
        experiment_slug: slug,
        variant_key: place % 2 ? "short" : "control",
        feedback: `Number ${place}`,
      })),
    )
    expect((await observations(slug, "?variant_key=short")).observations.map(({ reason }) => reason).sort()).to.deep.equal([
      "Number 1",
      "Number 3",
    ])
    expect((await observations(slug, "?kind=comparison")).observations).to.deep.equal([])
    const first = await observations(slug, "?limit=3")
    const others = await observations(slug, `?limit=3&cursor=${first.next_cursor}`)
    expect([...first.observations, ...others.observations].map(({ reason }) => reason).sort()).to.deep.equal(
      [0, 1, 2, 3, 4].map((place) => `Number ${place}`),
    )
    expect(
      (await call<Refusal>("GET", `/v1/experiments/${slug}/observations?kind=comparison&cursor=${first.next_cursor}`)).status,
    ).to.equal(400)
  })

  it("lets guests read, and members write", async () => {
    const { body } = await call<{ secret: string }>("POST", "/v1/api-keys", { name: "Reader", role: "guest" })
    const { slug } = await experiment("Read by guests")
    expect((await host.api("GET", `/v1/experiments/${slug}`, undefined, { key: body.secret })).status).to.equal(200)
    expect((await host.api("PATCH", `/v1/experiments/${slug}`, { name: "No" }, { key: body.secret })).status).to.equal(403)
    expect(
      (
        await host.api(
          "POST",
          "/v1/page-feedback",
          { items: [{ experiment_slug: slug, variant_key: "control", feedback: "No" }] },
          { key: body.secret },
        )
      ).status,
    ).to.equal(403)
    expect((await observations(slug)).observations).to.deep.equal([])
  })

  it("archives, and keeps the ledger", async () => {
    const { slug } = await experiment("Archived")
    await feedback({ experiment_slug: slug, variant_key: "control", feedback: "Kept" })
    expect((await call<{ status: string }>("POST", `/v1/experiments/${slug}/archive`)).body.status).to.equal("archived")
    expect((await call<Refusal>("PATCH", `/v1/experiments/${slug}`, { name: "No" })).body.details.reason).to.equal("wrong_status")
    expect((await observations(slug)).observations).to.have.length(1)
  })

  it("keeps personas", async () => {
    const response = await call<{ slug: string; revision: number }>("POST", "/v1/personas", { name: "Busy founder", goals: ["Save time"] })
    expect(response.body).to.deep.include({ slug: "busy-founder", goals: ["Save time"], fears: [], description: "" })
    expect((await call<Refusal>("POST", "/v1/personas", { name: "Other", slug: "busy-founder" })).status).to.equal(409)
    expect((await call<{ slug: string }>("POST", "/v1/personas", { name: "Busy founder" })).body.slug).to.equal("busy-founder-2")
    const changed = await call("PATCH", "/v1/personas/busy-founder", { fears: ["Contracts"] })
    expect(changed.body).to.deep.include({ fears: ["Contracts"], goals: ["Save time"], revision: 2 })
    expect((await call("DELETE", "/v1/personas/busy-founder")).status).to.equal(200)
    expect((await call<Refusal>("GET", "/v1/personas/busy-founder")).status).to.equal(404)
    expect((await call<{ personas: { slug: string }[] }>("GET", "/v1/personas")).body.personas.map(({ slug }) => slug)).to.deep.equal([
      "busy-founder-2",
    ])
  })

  it("says what is not there, and what is wrong with feedback, in words that programs can read", async () => {
    const { slug } = await experiment("Refused")
    const corrections = `/v1/experiments/${slug}/observations/0190a000-0000-7000-8000-000000000001/corrections`
    const item = { experiment_slug: slug, variant_key: "control", feedback: "?" }
    for (const [method, path, body, reason] of [
      ["GET", "/v1/experiments/none", undefined, "experiment_not_found"],
      ["GET", "/v1/personas/none", undefined, "persona_not_found"],
      ["POST", corrections, { reason: "?" }, "observation_not_found"],
      ["POST", "/v1/page-feedback", { items: [{ ...item, image_bucket_key: "feedback/none.png" }] }, "image_not_found"],
      ["POST", "/v1/page-feedback", { items: [{ ...item, variant_key: "none" }] }, "variant_unknown"],
    ] as const) {
      expect((await call<Refusal>(method, path, body)).body.details.reason, path).to.equal(reason)
    }
  })

  it("takes nothing that a person says from a key that is nobody's", async () => {
    const { slug } = await experiment("Nobody's")
    const key = await host
      .get(UnitsOfWork)
      .run((work) =>
        host.get(ApiKeys).mint(work, host.organization.id, { name: "Service", kind: "api_key", role: "member", scopes: null, user: null }),
      )
    const items = [{ experiment_slug: slug, variant_key: "control", feedback: "Said by nobody" }]
    const refused = await host.api<Refusal>("POST", "/v1/page-feedback", { items }, { key: key.text })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "feedback_needs_user"])
    expect((await observations(slug)).observations).to.deep.equal([])
  })
})
