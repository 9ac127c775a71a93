// Budgets across two nodes: concurrent calls on both never exceed a limit together.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { ModelAccounts, Models } from "../../../plugins/agents/models/index.ts"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { untilProcess as until } from "../../waiting.ts"
import { type ModelServer, modelServer } from "./model-server.ts"

const onMongo = mongoAvailable ? describe : describe.skip
const prices = { input: 1_000_000, output: 1_000_000 }
const prompt = { name: "writer", version: 1, text: "Write." }

onMongo("budgets of models on two nodes (mongodb)", () => {
  let server: ModelServer
  const nodes: TestHost[] = []
  before(async () => {
    server = await modelServer()
    const models = { default: { base_url: server.url, model: "m-1", prices }, max_retries: 0, concurrency: 16, max_day_millicents: 6_000 }
    const env = { MILLRACE_STORAGE_URL: await lendDatabaseToFile(), MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ models }) }
    const first = await testHost({ env, capture: false })
    nodes.push(first, await testHost({ env, capture: false, dataDir: first.dataDir }))
  })
  after(async () => {
    for (const node of nodes.reverse()) await node.stop()
    await server.close()
  })

  const organization = () => (nodes[0] as TestHost).organization.id
  const workstream = async (slug: string, token_budget_millicents: number) => {
    const response = await nodes[0]?.api<{ workstream: { id: string } }>("POST", "/v1/workstreams", {
      title: slug,
      slug,
      token_budget_millicents,
    })
    return response?.body.workstream.id ?? ""
  }
  const spentOf = async (slug: string) =>
    (await nodes[1]?.api<{ workstream: { spent_millicents: number } }>("GET", `/v1/workstreams/${slug}`))?.body.workstream.spent_millicents
  /** Starts calls on both nodes, answered once the budget is full. Returns the reasons of refused calls. */
  let races = 0
  const race = async (count: number, fit: number, id: string, maxOutputTokens: number) => {
    server.forget()
    const input = `${id} ${++races}`
    let answer: () => void = () => undefined
    server.hold(new Promise((resolve) => (answer = resolve)))
    let refused = 0
    const calls = Array.from({ length: count }, async (_, n) => {
      const node = nodes[n % 2] as TestHost
      const accounts = node.get(ModelAccounts).find(({ kind }) => kind === "workstream")
      const account = accounts?.open(organization(), id) ?? expect.fail("no accounts")
      const question = { purpose: "agent" as const, prompt, input: `${input} ${n}`, maxOutputTokens, account }
      try {
        await node.get(Models).text(organization(), question)
        return undefined
      } catch (error) {
        refused++
        return (error as { details: { reason: string } }).details.reason
      }
    })
    await until("every call being asked or refused", () => server.asked.length + refused === count)
    expect(server.asked).to.have.length(fit)
    answer()
    return (await Promise.all(calls)).filter((reason) => reason !== undefined)
  }

  it("hold for a workstream", async () => {
    // An estimate is a little above 500 millicents.
    const id = await workstream("tight", 1_700)
    const refused = await race(20, 3, id, 500)
    expect(refused).to.deep.equal(Array(17).fill("workstream_budget_spent"))
    expect(await spentOf("tight")).to.equal(3 * 120)
    // The reservation beyond the cost is free again: 1,340 are left.
    expect(await race(6, 2, id, 500)).to.have.length(4)
    expect(await spentOf("tight")).to.equal(5 * 120)
  })

  it("hold for an organization's day", async () => {
    const id = await workstream("wide", 1_000_000)
    expect(await race(24, 10, id, 500)).to.deep.equal(Array(14).fill("model_day_budget"))
    expect(await spentOf("wide")).to.equal(10 * 120)
  })

  it("are charged what a call costs beyond its estimate, and refuse the next", async () => {
    const id = await workstream("surplus", 130)
    // Estimated at about 35, it costs 120.
    expect(await race(10, 3, id, 20)).to.deep.equal(Array(7).fill("workstream_budget_spent"))
    expect(await spentOf("surplus")).to.equal(3 * 120)
    expect(await race(2, 0, id, 20)).to.deep.equal(Array(2).fill("workstream_budget_spent"))
  })
})
