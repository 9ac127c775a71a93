// Tournaments over HTTP, against judges of known bias.
import { randomUUID } from "node:crypto"
import { expect } from "chai"
import { Store, type UnitOfWork, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { RunCollection } from "../../../plugins/pages/experiments/runs.ts"
import { TournamentToken } from "../../../plugins/pages/experiments/tournament/tournament.ts"
import { until } from "../../waiting.ts"
import { type ModelRequest, type ModelServer, modelServer, type Said } from "../models/model-server.ts"

interface Result {
  readonly outcome: string
  readonly leader_key: string
  readonly comparisons: {
    readonly shown_as_a: string
    readonly winner_key: string
    readonly loser_key: string
    readonly reasoning: string
  }[]
  readonly ranking: { readonly key: string; readonly rank: number; readonly represents: string[] }[]
  readonly merges: { readonly merged_key: string; readonly representative_key: string }[]
  readonly skipped_pairs: number
  readonly persisted: number
  readonly judge_slug: string
  readonly flip_rate: number
  readonly position_effect: { readonly share_of_first: number }
  readonly comparisons_to_decision: number
  readonly note: string
}

interface Answer {
  readonly result: Result
  readonly missing_variant_keys: string[]
  readonly variants_without_page: string[]
  readonly details: { readonly reason?: string }
}

/** A judge's choice between two pages: the greater number in "merit N". */
const byMerit = ({ text }: ModelRequest): Said => {
  const [a = 0, b = 0] = [...text.matchAll(/merit (\d+)/g)].map(([, merit]) => Number(merit))
  return { json: { reasoning: `A has ${a}, B has ${b}.`, winner: a >= b ? "A" : "B", confidence: 0.9 } }
}

describe("tournaments", () => {
  let server: ModelServer
  let host: TestHost
  let count = 0
  before(async () => {
    server = await modelServer()
    const judge = { base_url: server.url, model: "judge-1", prices: { input: 100_000, output: 100_000 } }
    host = await testHost({
      capture: false,
      env: {
        // The end of the test does not wait for a silent judge.
        MILLRACE_SERVER_DRAIN_MS: "1",
        MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ models: { judge }, experiments: { render_pages: false } }),
      },
    })
  })
  beforeEach(() => server.forget())
  after(async () => {
    await host.stop()
    await server.close()
  })

  const experiment = async (merits: Record<string, number | string>) => {
    count += 1
    const variants = Object.entries(merits).map(([key, merit]) => ({
      key,
      html: typeof merit === "string" ? merit : `<h1>Offer ${count} with merit ${merit}</h1>`,
    }))
    const page = (await host.api<{ slug: string }>("POST", "/v1/pages", { title: `Page ${count}`, variants })).body.slug
    return (await host.api<{ slug: string }>("POST", "/v1/experiments", { name: `Experiment ${count}`, page })).body.slug
  }
  const tournament = (slug: string, body: object = {}, key?: string) =>
    host.api<Answer>("POST", `/v1/experiments/${slug}/tournament`, body, key === undefined ? {} : { headers: { "Idempotency-Key": key } })
  const comparisons = async (slug: string) =>
    (
      await host.api<{ observations: { value: number | null; variant_key: string; judge_slug: string }[] }>(
        "GET",
        `/v1/experiments/${slug}/observations?kind=comparison&limit=200`,
      )
    ).body.observations

  it("finds the leader by verdicts that survive the swap, and stops when it is clear", async () => {
    server.answer(byMerit)
    const slug = await experiment({ plain: 1, bold: 9, fair: 4 })
    const { body } = await tournament(slug)
    const { result } = body
    expect(result).to.deep.include({
      outcome: "leader",
      leader_key: "bold",
      skipped_pairs: 0,
      flip_rate: 0,
      judge_slug: "model:judge-1@judge-v1",
      merges: [],
    })
    expect(result.ranking.map(({ key }) => key)).to.deep.equal(["bold", "fair", "plain"])
    expect(result.ranking.map(({ rank }) => rank)).to.deep.equal([1, 2, 2])
    expect(result.position_effect.share_of_first).to.equal(0.5)
    expect(result.persisted).to.equal(result.comparisons.length)
    expect(server.asked).to.have.length(2 * result.comparisons.length)
    const stored = await comparisons(slug)
    expect(stored).to.have.length(result.persisted)
    expect(stored.every(({ value, judge_slug }) => value === 1 && judge_slug === "model:judge-1@judge-v1")).to.equal(true)
    // Sent after the commit, so the answer may be earlier.
    await until("news of it", async () => {
      const news = (await host.broadcasts("experiments")).map(({ event }) => event)
      return ["observation", "tournament_finished"].every((expected) => news.includes(expected))
    })
  })

  it("judges by each tournament's own criteria, also pages that were judged by others", async () => {
    server.answer(({ system, text }) => {
      const [a = 0, b = 0] = [...text.matchAll(/merit (\d+)/g)].map(([, merit]) => Number(merit))
      const wins = system.includes("shorter") ? a < b : a > b
      return { json: { reasoning: system.includes("shorter") ? "Shorter." : "Longer.", winner: wins ? "A" : "B", confidence: 1 } }
    })
    const slug = await experiment({ one: 1, two: 7 })
    const leaderBy = async (criteria: string) => (await tournament(slug, { criteria })).body.result
    const longer = await leaderBy("Which page is longer?")
    const requestCount = server.asked.length
    const shorter = await leaderBy("Which page is shorter?")
    expect([longer.leader_key, shorter.leader_key]).to.deep.equal(["two", "one"])
    expect(shorter.comparisons.map(({ reasoning }) => reasoning)).to.not.include("Longer.")
    expect(server.asked.length).to.equal(requestCount * 2)
  })

  it("shows a judge two pages and nothing that tells which they are, each in both seats", async () => {
    server.answer(byMerit)
    const slug = await experiment({ "secret-key-one": 1, "secret-key-two": 2 })
    await tournament(slug, { max_comparisons: 1 })
    expect(server.asked).to.have.length(2)
    expect(JSON.stringify(server.asked)).to.not.include("secret-key")
    expect(server.asked.map(({ temperature }) => temperature)).to.deep.equal([0, 0])
    const merits = server.asked.map(({ text }) => [...text.matchAll(/merit (\d)/g)].map(([, merit]) => merit).join())
    expect(merits).to.have.members(["1,2", "2,1"])
  })

  it("counts pairs in `max_comparisons` and on the ledger", async () => {
    server.answer(() => ({ json: { reasoning: "The first one.", winner: "A", confidence: 1 } }))
    const slug = await experiment({ one: 1, two: 2, three: 3 })
    const { result } = (await tournament(slug, { max_comparisons: 3 })).body
    expect([result.persisted, result.comparisons.length, server.asked.length]).to.deep.equal([3, 3, 6])
    expect(await comparisons(slug)).to.have.length(3)
  })

  it("takes a judge that always names the first page for undecided, and says so", async () => {
    server.answer(() => ({ json: { reasoning: "The first one.", winner: "A", confidence: 1 } }))
    const slug = await experiment({ one: 1, two: 2 })
    const { result } = (await tournament(slug, { max_comparisons: 10 })).body
    expect(result).to.deep.include({ outcome: "undecided", leader_key: "", flip_rate: 1 })
    expect(result.position_effect.share_of_first).to.equal(1)
    expect(result.ranking.map(({ rank }) => rank)).to.deep.equal([1, 1])
    expect(result.comparisons_to_decision).to.be.greaterThan(10)
    expect(result.comparisons[0]).to.include({ winner_key: "", loser_key: "" })
    expect((await comparisons(slug)).map(({ value }) => value)).to.deep.equal(Array.from({ length: 10 }, () => 0.5))
  })

  it("counts nothing for a judge that declines or answers garbage, and ends", async () => {
    server.answer((_, place) => (place % 2 ? "Hard to say." : { declines: "No." }))
    const slug = await experiment({ one: 1, two: 2 })
    const { result } = (await tournament(slug, { max_comparisons: 40 })).body
    expect(result).to.deep.include({ outcome: "undecided", comparisons: [], persisted: 6 })
    expect(result.skipped_pairs).to.equal(6)
    expect(result.note).to.include("6 times in a row")
    expect((await comparisons(slug)).map(({ value }) => value)).to.deep.equal(Array.from({ length: 6 }, () => null))
  })

  it("answers its call also where its job fails permanently, with what was judged until then", async () => {
    server.answer((request, place) => (place < 2 ? byMerit(request) : "silent"))
    const slug = await experiment({ one: 1, two: 2 })
    const called = tournament(slug, { max_comparisons: 40 })
    await until("the second round", () => server.asked.length > 2)
    const runs = host.get(Store).open(RunCollection, host.organization.id)
    const run = await runs.first({ status: "running" })
    const rule = { alpha: 0.05, equalMargin: 0 }
    const failing = (work: UnitOfWork) =>
      host.get(TournamentToken).failed(work, host.organization.id, run?.id ?? "", rule, new Error("Out of memory at 0x2a"))
    await host.get(UnitsOfWork).run(failing)
    const { result } = (await called).body
    expect(result).to.deep.include({ outcome: "undecided", persisted: 1, note: "It ended before its time: The service failed." })
    expect(result.ranking[0]?.key).to.equal("two")
  })

  it("judges copies of a page once", async () => {
    server.answer(byMerit)
    const html = "<h1>Save an hour a day</h1><p>It reads your invoices and books them, merit 1</p>"
    const slug = await experiment({ first: html, copy: html.replace("<h1>", "<h1 class='x'>"), other: 5 })
    const { result } = (await tournament(slug)).body
    expect(result.merges).to.deep.equal([{ merged_key: "copy", method: "shingles", representative_key: "first", similarity: 1 }])
    expect(result.ranking.find(({ key }) => key === "first")?.represents).to.deep.equal(["first", "copy"])
    expect(result.ranking.map(({ key }) => key)).to.not.include("copy")
  })

  it("gives a repeat with the same key the same run, and asks nothing again", async () => {
    server.answer(byMerit)
    const slug = await experiment({ one: 1, two: 7 })
    const key = randomUUID()
    const [first, second] = await Promise.all([tournament(slug, {}, key), tournament(slug, {}, key)])
    expect(second.body).to.deep.equal(first.body)
    const requestCount = server.asked.length
    expect((await tournament(slug, {}, key)).body).to.deep.equal(first.body)
    expect(server.asked.length).to.equal(requestCount)
    expect((await tournament(slug, { max_comparisons: 4 }, key)).body.details.reason).to.equal("idempotency_key_reused")
  })

  it("names what it leaves out, and needs two variants", async () => {
    server.answer(byMerit)
    const slug = await experiment({ one: 1, two: 2 })
    await host.api("PATCH", `/v1/experiments/${slug}`, { variants: [{ key: "one" }, { key: "two" }, { key: "gone" }] })
    const { body } = await tournament(slug, { max_comparisons: 2, variant_keys: ["one", "two", "gone", "never"] })
    expect(body).to.deep.include({ missing_variant_keys: ["never"], variants_without_page: ["gone"] })
    expect((await tournament(slug, { variant_keys: ["one", "gone"] })).body.details.reason).to.equal("variants_missing")
  })
})
