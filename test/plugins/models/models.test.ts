// Model calls over their real protocols, with a loopback provider: requests, cached answers, costs and refusals.
import { expect } from "chai"
import { z } from "zod"
import { type TestHost, testHost } from "#core/testing"
import { Models, type Question } from "../../../plugins/agents/models/index.ts"
import { refusalOf } from "../../refusal.ts"
import { until } from "../../waiting.ts"
import { type ModelServer, modelServer } from "./model-server.ts"

const prices = { input: 300_000, output: 1_500_000 }
/** 100 input tokens and 20 output tokens. */
const costOfCall = 60
const Verdict = z.object({ reasoning: z.string(), winner: z.enum(["A", "B"]) })
const prompt = { name: "judge", version: 3, text: "Which page is better?" }
const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64")

const start = (server: ModelServer, models: object = {}, env: Record<string, string> = {}) => {
  const common = { base_url: server.url, prices }
  const settings = {
    models: {
      judge: { ...common, model: "judge-1", api_key: "sk-judge", images: true },
      persona: { ...common, model: "persona-1", protocol: "anthropic", api_key: "sk-persona" },
      embedding: { ...common, model: "embed-1", prices: { input: 100_000 } },
      ...models,
    },
  }
  return testHost({ capture: false, env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings), ...env } })
}

describe("models", () => {
  let server: ModelServer
  let host: TestHost
  let count = 0
  before(async () => {
    server = await modelServer()
    host = await start(server)
  })
  beforeEach(() => {
    server.forget()
    server.answer(() => "Fine.")
  })
  after(async () => {
    await host.stop()
    await server.close()
  })

  /** Returns a new question. */
  const question = (more: Partial<Question> = {}): Question => {
    count += 1
    return { purpose: "judge", prompt, input: `question ${count}`, ...more }
  }
  const models = () => host.get(Models)
  const organization = () => host.organization.id
  const today = async () =>
    (await host.api<{ days: { millicents: number; calls: number }[] }>("GET", "/v1/models")).body.days[0] ?? { millicents: 0, calls: 0 }

  it("asks by the OpenAI protocol, with instructions apart from what they are about, and the key", async () => {
    const answer = await models().text(organization(), question({ input: "A page", images: [png] }))
    expect(answer).to.deep.equal({
      value: "Fine.",
      madeBy: "judge-1@judge-v3",
      costMillicents: costOfCall,
      paidMillicents: costOfCall,
      kept: false,
    })
    expect(server.asked).to.have.length(1)
    expect(server.asked[0]).to.include({
      protocol: "openai",
      model: "judge-1",
      system: prompt.text,
      text: "A page",
      images: 1,
      temperature: 0,
    })
    expect(server.asked[0]?.headers.authorization).to.equal("Bearer sk-judge")
  })

  it("asks by Anthropic's protocol, and sends no image to a model that sees none", async () => {
    await models().text(organization(), question({ purpose: "persona", images: [png] }))
    expect(server.asked[0]).to.include({ protocol: "anthropic", model: "persona-1", system: prompt.text, images: 0 })
    expect(server.asked[0]?.headers["x-api-key"]).to.equal("sk-persona")
  })

  for (const purpose of ["judge", "persona"] as const) {
    it(`holds an answer against its schema (${purpose})`, async () => {
      server.answer(() => ({ json: { reasoning: "Clearer.", winner: "B" } }))
      const { value } = await models().object(organization(), { ...question({ purpose }), schema: Verdict })
      expect(value).to.deep.equal({ reasoning: "Clearer.", winner: "B" })
      expect(server.asked[0]?.schema).to.not.equal(undefined)
    })
  }

  it("keeps an answer to the same question, and asks again for another seat, version, text of the prompt, image or input", async () => {
    const request = question({ images: [png] })
    const first = await models().text(organization(), request)
    server.answer(() => "Something else.")
    expect(await models().text(organization(), request)).to.deep.equal({ ...first, costMillicents: 0, kept: true })
    expect(server.asked).to.have.length(1)
    for (const other of [
      { seat: "2" },
      { prompt: { ...prompt, version: 4 } },
      { prompt: { ...prompt, text: "Which page is clearer?" } },
      { images: [png, png] },
      { input: "Another" },
    ]) {
      expect((await models().text(organization(), { ...request, ...other })).value).to.equal("Something else.")
    }
    expect(server.asked).to.have.length(6)
  })

  it("answers the repeat of a call as the call was, though it asks for something else, and pays once", async () => {
    const request = question({ callId: "0190a000-0000-7000-8000-0000000000c1" })
    const first = await models().text(organization(), request)
    expect(await models().text(organization(), { ...request, input: "More by now" })).to.deep.equal({
      ...first,
      costMillicents: 0,
      kept: true,
    })
    expect((await models().text(organization(), { ...request, callId: "0190a000-0000-7000-8000-0000000000c2" })).kept).to.equal(false)
    expect(server.asked).to.have.length(2)
  })

  it("keeps an answer of one form for no other", async () => {
    const request = question()
    server.answer(() => ({ json: { reasoning: "Clearer.", winner: "B" } }))
    await models().object(organization(), { ...request, schema: Verdict })
    server.answer(() => ({ json: { likelihood: 4 } }))
    const { value } = await models().object(organization(), { ...request, schema: z.object({ likelihood: z.int() }) })
    expect(value).to.deep.equal({ likelihood: 4 })
  })

  it("keeps nothing of one organization for another", async () => {
    const request = question()
    await models().text(organization(), request)
    const other = "0190a000-0000-7000-8000-00000000000b"
    expect((await models().text(other, request)).kept).to.equal(false)
    expect(server.asked).to.have.length(2)
  })

  it("counts what was paid, in the record of the day and in metrics", async () => {
    const before = await today()
    await models().text(organization(), question())
    const after = await today()
    expect(after.millicents - before.millicents).to.be.closeTo(costOfCall, 1e-6)
    expect(after.calls - before.calls).to.equal(1)
    const metrics = await (await fetch(`${host.url}/metrics`)).text()
    expect(metrics).to.match(/millrace_model_cost_millicents_total\{purpose="judge",model="judge-1"\} \d+/)
    expect(metrics).to.match(/millrace_model_tokens_total\{purpose="judge",model="judge-1",direction="output"\} \d+/)
  })

  it("tries again after 429 and 5xx, when the provider says so", async () => {
    server.answer((_, place) =>
      place === 0 ? { status: 429, retryAfterMs: 1 } : place === 1 ? { status: 503, retryAfterMs: 1 } : "Third.",
    )
    expect((await models().text(organization(), question())).value).to.equal("Third.")
    expect(server.asked).to.have.length(3)
  })

  it("says what a provider did that never answers well, without its text", async () => {
    server.answer(() => ({ status: 500, retryAfterMs: 1 }))
    const error = await refusalOf(models().text(organization(), question()))
    expect(error).to.include({ code: "unavailable" })
    expect(error.details.reason).to.equal("model_unavailable")
    expect(error.message).to.include("500").and.not.include("sk-secret")
    expect(server.asked).to.have.length(3)
    server.answer(() => ({ status: 401 }))
    const rejected = await refusalOf(models().text(organization(), question()))
    expect(rejected.details).to.deep.include({ reason: "model_rejected", status: 401 })
    expect(rejected.message).to.not.include("sk-secret")
    expect(server.asked).to.have.length(4)
    expect(host.logged.join("\n")).to.not.include("sk-judge")
  })

  it("takes neither a malformed answer nor a refusal for one, and pays for both", async () => {
    const before = await today()
    server.answer(() => "The winner is B.")
    const malformed = await refusalOf(models().object(organization(), { ...question(), schema: Verdict }))
    expect(malformed.details.reason).to.equal("model_malformed")
    server.answer(() => ({ json: { reasoning: "Better.", winner: "C" } }))
    expect((await refusalOf(models().object(organization(), { ...question(), schema: Verdict }))).details.reason).to.equal(
      "model_malformed",
    )
    server.answer(() => ({ declines: "I would rather not." }))
    const declined = await refusalOf(models().object(organization(), { ...question(), schema: Verdict }))
    expect(declined.details.reason).to.equal("model_declined")
    expect((await refusalOf(models().text(organization(), question({ purpose: "persona" })))).details.reason).to.equal("model_declined")
    expect((await today()).calls - before.calls).to.equal(4)
  })

  it("ends with its caller", async () => {
    server.answer(() => "silent")
    const abortController = new AbortController()
    const request = models().text(organization(), question({ signal: abortController.signal }))
    await until("the question being asked", () => server.asked.length > 0)
    abortController.abort()
    expect(await refusalOf(request)).to.include({ code: "canceled" })
  })

  it("gives vectors, and asks for the same texts once", async () => {
    server.embedBy((text) => [text.length, 0.5])
    const first = await models().embed(organization(), ["one", "three"])
    expect(first.value).to.deep.equal([
      [3, 0.5],
      [5, 0.5],
    ])
    expect(first.costMillicents).to.equal(10)
    expect((await models().embed(organization(), ["one", "three"])).kept).to.equal(true)
    expect(server.embedded).to.deep.equal(["one", "three"])
  })

  it("shows which models there are, and no key", async () => {
    const { body } = await host.api<{ models: unknown[] }>("GET", "/v1/models")
    expect(body.models).to.deep.equal([
      { purpose: "judge", model: "judge-1", images: true, setting: "plugins.settings.models.judge" },
      { purpose: "persona", model: "persona-1", images: false, setting: "plugins.settings.models.persona" },
      { purpose: "digest", model: "", images: false, setting: "plugins.settings.models.digest" },
      { purpose: "agent", model: "", images: false, setting: "plugins.settings.models.agent" },
      { purpose: "embedding", model: "embed-1", images: false, setting: "plugins.settings.models.embedding" },
    ])
    expect(JSON.stringify(body)).to.not.include("sk-")
  })

  it("names the setting where no model is configured, and asks nobody", async () => {
    const error = await refusalOf(models().text(organization(), question({ purpose: "digest" })))
    expect(error).to.include({ code: "failed_precondition" })
    expect(error.details).to.deep.include({ reason: "model_not_configured", setting: "plugins.settings.models.digest" })
    expect(server.asked).to.deep.equal([])
  })
})

describe("a model that the organization connects itself", () => {
  it("is called through the connection, whose key nobody sees", async () => {
    const server = await modelServer()
    const judge = { integration: "our-models", model: "judge-2", prices, base_url: undefined }
    const host = await start(server, { judge }, { MILLRACE_OUTGOING_ALLOW_HOSTS: "127.0.0.1" })
    try {
      const ask = () => host.get(Models).object(host.organization.id, { purpose: "judge", prompt, input: "A page", schema: Verdict })
      expect((await refusalOf(ask())).details.reason).to.equal("integration_not_found")
      const credentials = { base_url: server.url, headers: { authorization: "Bearer sk-ours" } }
      await host.api("POST", "/v1/integrations-connect", { app: "http", name: "Our models", credentials, share_with_org: true })
      server.answer(() => ({ json: { reasoning: "Clearer.", winner: "A" } }))
      expect((await ask()).value).to.deep.equal({ reasoning: "Clearer.", winner: "A" })
      expect(server.asked[0]).to.include({ model: "judge-2", text: "A page" })
      expect(server.asked[0]?.headers.authorization).to.equal("Bearer sk-ours")
    } finally {
      await host.stop()
      await server.close()
    }
  })
})

describe("budgets of models", () => {
  let server: ModelServer
  before(async () => {
    server = await modelServer()
  })
  after(() => server.close())

  it("refuse a call that may cost too much before it is made", async () => {
    const host = await start(server, { max_call_millicents: 10 })
    try {
      const error = await refusalOf(host.get(Models).text(host.organization.id, { purpose: "judge", prompt, input: "x".repeat(1_000) }))
      expect(error.details.reason).to.equal("model_call_budget")
      expect(server.asked).to.deep.equal([])
    } finally {
      await host.stop()
    }
  })

  it("hold for a day, also for calls at the same instant", async () => {
    // An estimate is 15.2 millicents, a call costs 60: two of ten fit in at once, and then no more.
    const host = await start(server, { max_day_millicents: 35 })
    try {
      const ask = (input: string) => host.get(Models).text(host.organization.id, { purpose: "judge", prompt, input, maxOutputTokens: 5 })
      const ended = await Promise.allSettled(Array.from({ length: 10 }, (_, place) => ask(`question ${place}`)))
      const refused = ended.flatMap((outcome) =>
        outcome.status === "rejected" ? [(outcome.reason as { details: { reason: string } }).details.reason] : [],
      )
      expect(refused).to.deep.equal(Array.from({ length: refused.length }, () => "model_day_budget"))
      expect(refused.length).to.be.within(8, 9)
      expect(server.asked.length).to.equal(10 - refused.length)
      expect((await refusalOf(ask("one more"))).details.reason).to.equal("model_day_budget")
    } finally {
      await host.stop()
    }
  })
})

describe("models on a busy node", () => {
  it("end at their own deadline, and are refused beyond those that may wait", async () => {
    const server = await modelServer()
    server.answer(() => "silent")
    const judge = { base_url: server.url, prices, model: "judge-1", api_key: "sk-judge" }
    const host = await start(server, { judge, timeout_ms: 1_000, concurrency: 1, max_waiting: 1 })
    try {
      const ask = (input: string) => refusalOf(host.get(Models).text(host.organization.id, { purpose: "judge", prompt, input }))
      // Enough calls to exceed the queue, although on a busy machine later calls may find free places.
      const inputs = Array.from({ length: 8 }, (_, place) => `question ${place}`)
      const ended = await Promise.all(inputs.map(ask))
      const isFull = ended.map(({ details }) => details.reason === "model_queue_full")
      for (const [place, { code, details, retryAfterS }] of ended.entries()) {
        if (!isFull[place]) expect([code, details.reason]).to.deep.equal(["deadline_exceeded", "model_timeout"])
        else expect([code, (retryAfterS ?? 0) > 0]).to.deep.equal(["resource_exhausted", true])
      }
      const accepted = inputs.filter((_, place) => !isFull[place])
      expect(accepted.length, "one that is asked, and one that waits").to.be.within(2, inputs.length - 1)
      expect(server.asked.map(({ text }) => text)).to.have.members(accepted)
    } finally {
      await host.stop()
      await server.close()
    }
  })
})
