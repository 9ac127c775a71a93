// Knowledge with a loopback embedding model: items are found by meaning as well, by words alone while the model is silent, and by
// meaning again afterwards.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"
import { KnowledgeBench } from "./bench.ts"

/** The topic of a text: vehicles, food, or neither. */
function about(text: string): number[] {
  const has = (pattern: RegExp) => (pattern.test(text) ? 1 : 0)
  return [has(/car|automobile|truck/i), has(/bread|bakery|loaf/i), 0.1]
}

describe("knowledge with an embedding model", () => {
  let server: ModelServer
  let host: TestHost
  let bench: KnowledgeBench
  before(async () => {
    server = await modelServer()
    server.embedBy(about)
    const models = { embedding: { base_url: server.url, model: "embed-1", prices: { input: 0 } }, max_retries: 0 }
    const env = { MILLRACE_JOBS_POLL_MS: "50", MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ models }) }
    host = await testHost({ capture: false, env })
    bench = new KnowledgeBench(host)
  })
  after(async () => {
    await host.stop()
    await server.close()
  })

  it("joins words and meaning, and explains both", async () => {
    const car = await bench.create({ title: "Fleet", content: "Each car is washed weekly." })
    const bread = await bench.create({ title: "Kitchen", content: "The loaf is baked daily." })
    const wash = await bench.create({ title: "Rules", content: "Hands are washed weekly." })
    await bench.find("automobile", 3)
    const matches = await bench.search("automobile washed", "&explain=true")
    expect(matches.map(({ id }) => id)).to.deep.equal([car.id, wash.id, bread.id])
    const [first, second, third] = matches.map(({ explanation }) => explanation)
    expect(first?.words?.each.map(({ word }) => word)).to.deep.equal(["washed"])
    expect(first?.meaning).to.include({ rank: 1 })
    expect(first?.meaning?.similarity).to.be.closeTo(1, 0.02)
    expect(second?.words?.rank).to.be.oneOf([1, 2])
    expect(third?.words).to.equal(null)
    // Sum of reciprocal ranks.
    const reciprocal = (rank: number | undefined) => (rank === undefined ? 0 : 1 / (60 + rank))
    expect(first?.score).to.be.closeTo(reciprocal(first?.words?.rank) + reciprocal(first?.meaning?.rank), 1e-9)
  })

  it("finds by words while the model does not answer, and by meaning once it does", async () => {
    server.embedNothing((texts) => texts.some((text) => text.includes("bakery") || text === "truck"), "cut")
    const { id } = await bench.create({ title: "Hours", category: "shops", content: "The bakery opens at six." })
    const matches = await bench.find("opens", 1, "&category=shops&explain=true")
    expect([matches[0]?.id, matches[0]?.explanation?.meaning]).to.deep.equal([id, null])
    expect(await bench.search("truck", "&category=shops")).to.deep.equal([])
    server.embedNothing(() => false)
    await host.clock.move(300_000)
    await until("the item having a vector", async () => (await bench.search("loaf", "&category=shops")).length === 1)
  })
})
