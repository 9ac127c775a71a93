// Panels and tournaments in a service killed during them. The next start continues them, and requests no stored answer of a model
// again.
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { type Api, apiOf, freshFolder, type ServiceProcess, startService } from "../../crash/service-process.ts"
import { untilProcess as until } from "../../waiting.ts"
import { type ModelRequest, type ModelServer, modelServer, type Said } from "../models/model-server.ts"

interface Observation {
  readonly kind: string
  readonly variant_key: string
  readonly other_variant_key: string
  readonly judge_slug: string
  readonly value: number | null
  readonly details: { readonly draw?: number; readonly failed?: string; readonly seats?: readonly { shown_as_a: string; winner: string }[] }
}

interface PanelAnswer {
  readonly completed: boolean
  readonly started: boolean
  readonly ranking: { readonly failed_cells: readonly { persona_slug: string }[]; readonly ranking: readonly { variant_key: string }[] }
}

interface TournamentAnswer {
  readonly result: { readonly outcome: string; readonly leader_key: string; readonly skipped_pairs: number; readonly persisted: number }
}

/** A service with its folder. It can be killed and started again. */
class Killable {
  readonly #folder = freshFolder()
  readonly #env: Record<string, string>
  #service: ServiceProcess | undefined

  constructor(server: ModelServer, { embeds }: { embeds: boolean }) {
    const model = { base_url: server.url, prices: { input: 1, output: 1 } }
    const models = {
      judge: { ...model, model: "judge-1" },
      persona: { ...model, model: "persona-1" },
      ...(embeds ? { embedding: { ...model, model: "embed-1" } } : {}),
    }
    const settings = { models, experiments: { render_pages: false, sync_deadline_ms: 0 } }
    this.#env = { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) }
  }

  async start(): Promise<void> {
    this.#service = await startService({ dataDir: this.#folder.path, env: this.#env })
  }

  async kill(): Promise<void> {
    await this.#service?.kill()
  }

  async end(): Promise<void> {
    await this.kill()
    this.#folder.remove()
  }

  get api(): Api {
    return apiOf({ url: this.#service?.url ?? "" }, this.#folder.path)
  }

  /** Sends a POST with an Idempotency-Key. Returns undefined if the service died before its answer. */
  async post<T>(path: string, body: object, key: string): Promise<T | undefined> {
    const { admin_key } = JSON.parse(readFileSync(join(this.#folder.path, "bootstrap.json"), "utf8")) as { admin_key: string }
    const headers = { authorization: `Bearer ${admin_key}`, "content-type": "application/json", "idempotency-key": key }
    const answer = await fetch((this.#service?.url ?? "") + path, { method: "POST", headers, body: JSON.stringify(body) }).catch(
      () => undefined,
    )
    return answer && ((await answer.json()) as T)
  }

  async experiment(htmls: Record<string, string>): Promise<string> {
    const variants = Object.entries(htmls).map(([key, html]) => ({ key, html }))
    const name = Object.keys(htmls).join(" ")
    const { slug: page } = await this.api<{ slug: string }>("POST", "/v1/pages", { title: name, variants })
    return (await this.api<{ slug: string }>("POST", "/v1/experiments", { name, page })).slug
  }

  async ledger(slug: string, kind: string): Promise<Observation[]> {
    return (await this.api<{ observations: Observation[] }>("GET", `/v1/experiments/${slug}/observations?kind=${kind}&limit=200`))
      .observations
  }

  /** Number of paid model calls, with stored answers. */
  async paid(): Promise<number> {
    const { days } = await this.api<{ days: { calls: number }[] }>("GET", "/v1/models")
    return days.reduce((sum, { calls }) => sum + calls, 0)
  }
}

/** Returns the number of requests by content. */
function counts(requests: readonly ModelRequest[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const { system, text } of requests) times.set(`${system}\n${text}`, (times.get(`${system}\n${text}`) ?? 0) + 1)
  return times
}

const byMerit = ({ text }: ModelRequest): Said => {
  const [a = 0, b = 0] = [...text.matchAll(/merit (\d+)/g)].map(([, merit]) => Number(merit))
  return { json: { reasoning: `A has ${a}, B has ${b}.`, winner: a >= b ? "A" : "B", confidence: 0.9 } }
}

/** For all tests of the describe: each continues with the running service of the previous one. */
function killable(options: { embeds: boolean }): { readonly server: ModelServer; readonly service: Killable } {
  const created = {} as { server: ModelServer; service: Killable }
  before(async () => {
    created.server = await modelServer()
    created.service = new Killable(created.server, options)
    await created.service.start()
    for (const name of ["Founder", "Buyer"])
      await created.service.api("POST", "/v1/personas", { name, description: `A ${name.toLowerCase()}.` })
  })
  beforeEach(() => created.server.forget())
  after(async () => {
    await created.service?.end()
    await created.server?.close()
  })
  return created
}

describe("experiments: a service that is killed", () => {
  const under = killable({ embeds: true })

  it("goes on with a panel, and asks for no answer that it kept", async () => {
    const { server, service } = under
    server.answer(({ system, text }) => `I am ${system.includes("Founder") ? "the founder" : "the buyer"}; ${text}`)
    // The answer about the second page is stored, but cannot be embedded yet.
    server.embedNothing(([message = ""]) => message.includes("Two"))
    const slug = await service.experiment({ one: "<p>One</p>", two: "<p>Two</p>" })
    const key = randomUUID()
    await service.post(`/v1/experiments/${slug}/panel`, { draws: 2 }, key)
    await until("half of the cells", async () => (await service.ledger(slug, "panel")).length === 4)
    await until("the other half being measured", () => server.embedded.filter((text) => text.includes("Two")).length >= 4)
    expect(server.asked).to.have.length(8)
    await service.kill()
    server.embedNothing(() => false)
    await service.start()
    await until("the decision check", async () => (await service.ledger(slug, "decision_check")).length === 1)
    expect([...counts(server.asked).values()], "two draws of each persona and page").to.deep.equal([2, 2, 2, 2])
    const cells = await service.ledger(slug, "panel")
    expect(new Set(cells.map(({ judge_slug, variant_key, details }) => `${judge_slug} ${variant_key} ${details.draw}`)).size).to.equal(8)
    expect(cells.filter(({ value }) => value === null)).to.deep.equal([])
    const joined = await service.post<PanelAnswer>(`/v1/experiments/${slug}/panel`, { draws: 2 }, key)
    expect(joined).to.deep.include({ completed: true, started: false })
    expect(joined?.ranking.failed_cells).to.deep.equal([])
    expect(server.asked).to.have.length(8)
  })
})

describe("experiments: a service without embeddings that is killed", () => {
  const under = killable({ embeds: false })

  it("ends a panel whose model answers garbage to half of the questions with these as failed cells, and the rest as they were", async () => {
    const { server, service } = under
    let silent = true
    server.answer(({ system, text }) => {
      if (system.includes("Buyer")) return "Four out of five, I'd say."
      return silent && text.includes("Two") ? "silent" : { json: { answer: "Hm.", likelihood: text.includes("Two") ? 4 : 2 } }
    })
    const slug = await service.experiment({ one: "<p>One</p>", two: "<p>Two</p>" })
    const key = randomUUID()
    await service.post(`/v1/experiments/${slug}/panel`, { draws: 1 }, key)
    await until("a cell", async () => (await service.ledger(slug, "panel")).some(({ value }) => value !== null))
    await until("the silent one being asked", () =>
      server.asked.some(({ system, text }) => system.includes("Founder") && text.includes("Two")),
    )
    await service.kill()
    silent = false
    await service.start()
    await until("the decision check", async () => (await service.ledger(slug, "decision_check")).length === 1)
    const cells = await service.ledger(slug, "panel")
    const messages = cells.map(({ judge_slug, variant_key, value, details }) => [judge_slug, variant_key, value, details.failed ?? ""])
    expect(messages).to.have.deep.members([
      ["persona:founder", "one", 2, ""],
      ["persona:founder", "two", 4, ""],
      ["persona:buyer", "one", null, "model_malformed"],
      ["persona:buyer", "two", null, "model_malformed"],
    ])
    const founder = [...counts(server.asked.filter(({ system }) => system.includes("Founder")))]
    expect(founder.map(([content, times]) => [content.includes("Two"), times])).to.have.deep.members([
      [false, 1],
      [true, 2],
    ])
    const joined = await service.post<PanelAnswer>(`/v1/experiments/${slug}/panel`, { draws: 1 }, key)
    expect(joined?.ranking.failed_cells.map(({ persona_slug }) => persona_slug)).to.deep.equal(["buyer", "buyer"])
    expect(joined?.ranking.ranking.map(({ variant_key }) => variant_key)).to.deep.equal(["two", "one"])
  })

  it("goes on with a tournament, and asks for no verdict that it kept", async () => {
    const { server, service } = under
    // One seat of the fourth pair is judged, and the other is being requested.
    let silenced: ModelRequest | undefined
    server.answer((request, place) => {
      if (place !== 7) return byMerit(request)
      silenced = request
      return "silent"
    })
    const slug = await service.experiment({ plain: "<h1>merit 1</h1>", bold: "<h1>merit 9</h1>", fair: "<h1>merit 4</h1>" })
    const key = randomUUID()
    const paid = await service.paid()
    const remaining = service.post(`/v1/experiments/${slug}/tournament`, {}, key)
    await until("seven verdicts being kept", async () => (await service.paid()) === paid + 7)
    await until("the eighth being asked for", () => server.asked.length === 8)
    const before = await service.ledger(slug, "comparison")
    expect(before).to.have.length(3)
    await service.kill()
    expect(await remaining).to.equal(undefined)
    server.answer(byMerit)
    await service.start()
    const { result } = (await service.post<TournamentAnswer>(`/v1/experiments/${slug}/tournament`, {}, key)) as TournamentAnswer
    expect(result).to.deep.include({ outcome: "leader", leader_key: "bold", skipped_pairs: 0 })
    const observations = await service.ledger(slug, "comparison")
    expect(observations).to.deep.include.members(before)
    expect(result.persisted).to.equal(observations.length)
    expect(server.asked).to.have.length(observations.length * 2 + 1)
    const merits = { plain: 1, bold: 9, fair: 4 } as Record<string, number>
    const again = `${silenced?.system}\n${silenced?.text}`
    for (const [content, times] of counts(server.asked)) {
      const text = [...content.matchAll(/merit (\d+)/g)].map(([, merit]) => Number(merit)).join()
      const judged = observations.flatMap(({ details, variant_key, other_variant_key }) =>
        (details.seats ?? []).filter(({ shown_as_a: a }) => {
          const b = a === variant_key ? other_variant_key : variant_key
          return `${merits[a]},${merits[b]}` === text
        }),
      )
      expect(times, text).to.equal(judged.length + (content === again ? 1 : 0))
    }
    expect(await service.ledger(slug, "decision_check")).to.have.length(1)
  })

  it("ends a tournament honestly whose judge answers garbage half the time", async () => {
    const { server, service } = under
    const half = (request: ModelRequest, place: number): Said => (place % 4 < 2 ? "B, clearly." : byMerit(request))
    server.answer((request, place) => (place === 9 ? "silent" : half(request, place)))
    const slug = await service.experiment({ plain: "<h1>merit 2</h1>", bold: "<h1>merit 8</h1>" })
    const key = randomUUID()
    const remaining = service.post(`/v1/experiments/${slug}/tournament`, { max_comparisons: 20 }, key)
    await until("the silent one being asked", () => server.asked.length >= 10)
    const before = await service.ledger(slug, "comparison")
    await service.kill()
    await remaining
    server.answer(half)
    await service.start()
    const { result } = (await service.post<TournamentAnswer>(
      `/v1/experiments/${slug}/tournament`,
      { max_comparisons: 20 },
      key,
    )) as TournamentAnswer
    const observations = await service.ledger(slug, "comparison")
    expect(observations).to.deep.include.members(before)
    expect(result.persisted).to.equal(observations.length)
    expect(result.skipped_pairs).to.equal(observations.filter(({ value }) => value === null).length)
    // Only judged rounds count, and the better page won all of them.
    const judged = observations.filter(({ value }) => value !== null)
    expect(judged.length).to.be.greaterThan(0)
    expect(judged.every(({ variant_key, value }) => variant_key === "bold" && value === 1)).to.equal(true)
    for (const { value, details } of observations) expect(value === null).to.equal(details.seats?.some(({ winner }) => winner === ""))
  })
})
