// Model calls of a killed node: their estimates are spent, once.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { ModelAccounts, Models, type Question } from "../../../plugins/agents/models/index.ts"
import { until } from "../../waiting.ts"
import { type ModelServer, modelServer } from "./model-server.ts"

const prices = { input: 300_000, output: 1_500_000 }
/** 100 input tokens and 20 output tokens. */
const costOfCall = 60
const prompt = { name: "judge", version: 3, text: "Which page is better?" }

describe("calls of models that a killed node took along", () => {
  let server: ModelServer
  let host: TestHost
  let count = 0
  before(async () => {
    server = await modelServer()
    const models = { judge: { base_url: server.url, prices, model: "judge-1" } }
    host = await testHost({ capture: false, env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ models }) } })
  })
  after(async () => {
    await host.stop()
    await server.close()
  })

  /** A new question each time. */
  const question = (more: Partial<Question> = {}): Question => {
    count += 1
    return { purpose: "judge", prompt, input: `question ${count}`, ...more }
  }
  const models = () => host.get(Models)
  const organization = () => host.organization.id
  const today = async () =>
    (await host.api<{ days: { millicents: number; calls: number }[] }>("GET", "/v1/models")).body.days[0] ?? { millicents: 0, calls: 0 }

  /** A call without an answer. Its reservation stays, as after a killed node. */
  const lose = async (more: Partial<Question> = {}) => {
    server.answer(() => "silent")
    const requestCount = server.asked.length
    const input = question({ maxOutputTokens: 100, ...more })
    const lost = models()
      .text(organization(), input)
      .catch(() => undefined)
    await until("the call", () => server.asked.length > requestCount)
    server.answer(() => "Fine.")
    return { lost, given: input, estimate: models().estimate(input) }
  }

  it("are booked by their estimate when they are repeated", async () => {
    const before = await today()
    const { given: input, estimate } = await lose({ callId: "lost-call" })
    await models().text(organization(), input)
    const after = await today()
    expect(after.millicents - before.millicents).to.be.closeTo(estimate + costOfCall, 0.001)
    expect(after.calls - before.calls).to.equal(2)
  })

  const accountOfNew = async (slug: string) => {
    const fields = { title: slug, slug, token_budget_millicents: 100_000 }
    const response = await host.api<{ workstream: { id: string } }>("POST", "/v1/workstreams", fields)
    const accounts = host.get(ModelAccounts).find(({ kind }) => kind === "workstream")
    return accounts?.open(organization(), response.body.workstream.id) ?? expect.fail("no accounts")
  }
  const spentOn = async (slug: string) =>
    (await host.api<{ workstream: { spent_millicents: number } }>("GET", `/v1/workstreams/${slug}`)).body.workstream.spent_millicents

  it("are charged to their workstream too", async () => {
    const { given: input, estimate } = await lose({ callId: "lost-call-of-workstream", account: await accountOfNew("lost") })
    await models().text(organization(), input)
    expect(await spentOn("lost")).to.equal(Math.ceil(estimate) + costOfCall)
  })

  it("are booked after their time limit if no other call follows, each rounded by itself", async () => {
    const account = await accountOfNew("abandoned")
    const before = await today()
    const { estimate } = await lose({ account, input: "abandoned 001" })
    expect(estimate).to.be.closeTo(155.1, 0.001)
    await lose({ account, input: "abandoned 002" })
    expect(await spentOn("abandoned")).to.equal(0)
    host.clock.move(200_000)
    await until("the calls being booked", async () => (await spentOn("abandoned")) > 0)
    expect(await spentOn("abandoned")).to.equal(2 * 156)
    const after = await today()
    expect(after.millicents - before.millicents).to.be.closeTo(2 * estimate, 0.001)
    expect(after.calls - before.calls).to.equal(2)
  })

  /** A call whose answer arrives once `answer` is called. */
  const hold = async (more: Partial<Question>) => {
    const { promise, resolve: answer } = Promise.withResolvers<void>()
    server.hold(promise)
    const requestCount = server.asked.length
    const input = question({ maxOutputTokens: 100, ...more })
    const pending = models().text(organization(), input)
    await until("the call", () => server.asked.length > requestCount)
    server.hold(Promise.resolve())
    return { held: pending, given: input, answer }
  }

  it("are counted by their cost alone if they end after they were booked", async () => {
    const before = await today()
    const { held, answer } = await hold({ account: await accountOfNew("late") })
    host.clock.move(200_000)
    await until("the call being booked", async () => (await spentOn("late")) > 0)
    answer()
    await held
    expect(await spentOn("late")).to.equal(costOfCall)
    const after = await today()
    expect(after.millicents - before.millicents).to.be.closeTo(costOfCall, 0.001)
    expect(after.calls - before.calls).to.equal(1)
  })

  it("are counted by their cost alone if they end after their repeat", async () => {
    const before = await today()
    const { held, given: input, answer } = await hold({ callId: "overtaken", account: await accountOfNew("overtaken") })
    await models().text(organization(), input)
    expect(await spentOn("overtaken")).to.equal(Math.ceil(models().estimate(input)) + costOfCall)
    answer()
    await held
    expect(await spentOn("overtaken")).to.equal(2 * costOfCall)
    const after = await today()
    expect(after.millicents - before.millicents).to.be.closeTo(2 * costOfCall, 0.001)
    expect(after.calls - before.calls).to.equal(2)
  })

  it("are shown and booked once their time limit has passed", async () => {
    const before = await today()
    const { estimate } = await lose()
    expect((await today()).millicents).to.equal(before.millicents)
    host.clock.move(200_000)
    expect((await today()).millicents - before.millicents).to.be.closeTo(estimate, 0.001)
    await models().text(organization(), question())
    const after = await today()
    expect(after.millicents - before.millicents).to.be.closeTo(estimate + costOfCall, 0.001)
  })
})
