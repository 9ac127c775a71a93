// Decisions over HTTP: their effects on the ledger and the page, allowed deciders, and refusals.
import { createHash } from "node:crypto"
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores, type StartHost } from "../../pipeline/stores.ts"
import { Traffic } from "./live-traffic.ts"

interface Observation {
  readonly id: string
  readonly kind: string
  readonly variant_key: string
  readonly judge_slug: string
  readonly reason: string
  readonly value: number | null
  readonly details: Record<string, unknown> & {
    readonly evidence: { readonly kind: string; readonly count: number; readonly digest: string }[]
    readonly before: Record<string, number>
    readonly after: Record<string, number>
  }
}

interface Stopping {
  readonly visitors: number
  readonly fixed_horizon_visitors: number
  readonly visitors_saved: number
  readonly days_saved: number
  readonly millicents_saved: number | null
  readonly baseline_rate: number
}

interface Decided {
  readonly experiment: { readonly status: string; readonly ended_at: string; readonly revision: number; readonly decision: object }
  readonly observation_id: string
  readonly warnings: string[]
  readonly weights_changed: boolean
  readonly stopping: Stopping
}

interface Refusal {
  readonly code: string
  readonly details: { readonly reason?: string; readonly status?: string; readonly fields?: readonly { readonly path: string }[] }
}

const dayMs = 86_400_000

async function trafficOn(start: StartHost): Promise<Traffic> {
  return new Traffic(await start({ capture: true, env: Traffic.settings() }))
}

onBothStores("decisions", ({ start }) => {
  let traffic: Traffic
  before(async () => {
    traffic = await trafficOn(start)
  })

  const decide = <T = Decided>(slug: string, body: object, options: { key?: string; headers?: Record<string, string> } = {}) =>
    traffic.host.api<T>("POST", `/v1/experiments/${slug}/decide`, body, options)
  const ledger = async (slug: string, query = "") =>
    (await traffic.call<{ observations: Observation[] }>("GET", `/v1/experiments/${slug}/observations?limit=200${query}`)).observations
  const weights = async (slug: string) =>
    (await traffic.call<{ variants: { key: string; weight: number }[] }>("GET", `/v1/pages/${slug}`)).variants.map(({ weight }) => weight)

  it("end an experiment, give the chosen variant all visitors, and keep what was known", async () => {
    const plan = { minimum_effect_percent: 20, cost_per_visitor_millicents: 50_000 }
    const { page, slug } = await traffic.running("Decided", { plan })
    await traffic.write([...traffic.rowsOf(page, "a", { n: 300, leads: 30 }), ...traffic.rowsOf(page, "b", { n: 310, leads: 93 })])
    traffic.host.clock.move(8 * dayMs)
    await traffic.counted()
    const { status, body } = await decide(slug, { variant_key: "b", rationale: "Three times as many ask.", give_all_visitors: true })
    expect([status, body.warnings, body.weights_changed]).to.deep.equal([200, [], true])
    expect(body.experiment).to.deep.include({ status: "decided" })
    expect(body.experiment.decision).to.include({
      variant_key: "b",
      reason: "Three times as many ask.",
      decided_at: body.experiment.ended_at,
    })
    expect(await weights(page.slug)).to.deep.equal([0, 2])

    // By hand: (1.95996 + 0.84162)^2 * (.1 * .9 + .12 * .88) / .5 / .02^2.
    expect(body.stopping).to.include({ visitors: 610, baseline_rate: 0.1, fixed_horizon_visitors: 7_677 })
    expect(body.stopping.visitors_saved).to.equal(7_677 - 610)
    expect(body.stopping.millicents_saved).to.equal((7_677 - 610) * 50_000)
    expect(body.stopping.days_saved).to.be.closeTo((8 * 7_677) / 610 - 8, 0.1)

    const observations = await ledger(slug)
    const decision = observations.find(({ id }) => id === body.observation_id)
    expect(decision).to.deep.include({ kind: "decision", variant_key: "b", reason: "Three times as many ask." })
    expect(decision?.judge_slug).to.match(/^human:[0-9a-f-]{36}$/)
    const check = observations.find(({ kind }) => kind === "decision_check")
    expect(check).to.deep.include({ variant_key: "b", judge_slug: "live:conversion" })
    expect(check?.id).to.equal(decision?.details["check_id"])
    const recorded = observations.filter(({ details }) => details["occasion"] === "decision")
    expect(recorded.map(({ judge_slug, variant_key }) => `${judge_slug} ${variant_key}`)).to.have.members([
      "live:conversion a",
      "live:conversion b",
      "live:sample_ratio ",
    ])
    const [change] = observations.filter(({ details }) => details.after !== undefined)
    expect([change?.kind, change?.details.before, change?.details.after]).to.deep.equal(["live", { a: 1, b: 1 }, { a: 0, b: 2 }])

    // The digests cover the callers' form.
    const existing = observations.filter(({ id }) => id !== decision?.id && id !== change?.id)
    for (const { kind, count, digest } of decision?.details.evidence ?? []) {
      const own = existing
        .filter((observation) => observation.kind === kind)
        .sort((observation, right) => (observation.id < right.id ? -1 : 1))
      expect([kind, own.length, digestOf(own)]).to.deep.equal([kind, count, digest])
    }
    expect(decision?.details.evidence.map(({ kind }) => kind)).to.have.members(["live", "decision_check"])
  })

  it("are answered as before where they are repeated, and refused where they are others", async () => {
    const { page, slug } = await traffic.running("Repeated")
    const choice = { variant_key: "a", rationale: "Nothing was gained.", expected_revision: 2 }
    const first = await decide(slug, choice)
    const count = (await ledger(slug)).length
    expect((await decide(slug, choice)).body).to.deep.equal(first.body)
    expect(first.body.warnings.join()).to.include("does not tell yet")
    expect(first.body.weights_changed).to.equal(false)
    const other = await decide<Refusal>(slug, { ...choice, variant_key: "b" })
    expect([other.status, other.body.details.reason]).to.deep.equal([409, "revision_mismatch"])
    const { expected_revision: _, ...bare } = choice
    const late = await decide<Refusal>(slug, { ...bare, variant_key: "b" })
    expect([late.status, late.body.details.reason, late.body.details.status]).to.deep.equal([400, "wrong_status", "decided"])
    expect(await ledger(slug)).to.have.length(count)
    expect(await weights(page.slug)).to.deep.equal([1, 1])
  })

  it("may be for none, and are refused with a reason where they cannot be", async () => {
    const { slug } = await traffic.running("None")
    const draft = await traffic.call<{ slug: string }>("POST", "/v1/experiments", { name: "Draft", variants: [{ key: "a" }, { key: "b" }] })
    for (const [name, body, status, reason] of [
      [slug, { variant_key: "c", rationale: "?" }, 400, "variant_unknown"],
      [slug, { rationale: "?", give_all_visitors: true }, 400, "variant_unknown"],
      [slug, { variant_key: "a", rationale: "?", expected_revision: 1 }, 409, "revision_mismatch"],
      [slug, { variant_key: "a", rationale: " " }, 400, "invalid_fields"],
      [draft.slug, { variant_key: "a", rationale: "?" }, 400, "wrong_status"],
      ["no-such", { rationale: "?" }, 404, "experiment_not_found"],
    ] as const) {
      const refused = await decide<Refusal>(name, body)
      expect([refused.status, refused.body.details.reason], JSON.stringify(body)).to.deep.equal([status, reason])
    }
    expect(await ledger(slug)).to.deep.equal([])
    const { body } = await decide(slug, { rationale: "The offer was withdrawn." })
    expect(body.experiment.decision).to.include({ variant_key: "" })
    expect((await traffic.host.api<Refusal>("POST", `/v1/experiments/${slug}/start`)).body.details.reason).to.equal("wrong_status")
  })

  it("are a person's, and an admin's, of the organization", async () => {
    const { page, slug } = await traffic.running("Guarded")
    const key = async (role: string) => (await traffic.call<{ secret: string }>("POST", "/v1/api-keys", { name: role, role })).secret
    for (const role of ["guest", "member"]) {
      const refused = await decide<Refusal>(slug, { variant_key: "a", rationale: "?" }, { key: await key(role) })
      expect([refused.status, refused.body.code], role).to.deep.equal([403, "permission_denied"])
    }
    expect((await traffic.host.api("GET", `/v1/experiments/${slug}/live`, undefined, { key: await key("guest") })).status).to.equal(200)
    const service = await traffic.host.get(UnitsOfWork).run((work) =>
      traffic.host.get(ApiKeys).mint(work, traffic.host.organization.id, {
        name: "Service",
        kind: "api_key",
        role: "admin",
        scopes: null,
        user: null,
      }),
    )
    const nobody = await decide<Refusal>(slug, { variant_key: "a", rationale: "?" }, { key: service.text })
    expect([nobody.status, nobody.body.details.reason]).to.deep.equal([400, "decision_needs_user"])
    const elsewhere = await traffic.analytics.another()
    const headers = { "x-organization-id": elsewhere.organization.id }
    expect((await decide<Refusal>(slug, { variant_key: "a", rationale: "?" }, { headers })).status).to.equal(404)
    expect((await traffic.host.api("GET", `/v1/experiments/${slug}/live`, undefined, { headers })).status).to.equal(404)
    expect((await elsewhere.api<Refusal>("POST", "/v1/experiments", { name: "Theirs", page: page.slug })).status).to.equal(404)
    expect(await ledger(slug)).to.deep.equal([])
    expect((await traffic.call<{ status: string }>("GET", `/v1/experiments/${slug}`)).status).to.equal("running")
  })
})

function digestOf(observations: readonly object[]): string {
  const all = createHash("sha256")
  for (const observation of observations)
    all.update(
      createHash("sha256")
        .update(JSON.stringify(ordered(observation)))
        .digest("hex"),
    )
  return all.digest("hex")
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, inner]) => [name, ordered(inner)]),
  )
}
