// Accuracy of device, browser family and in-app container. The fixture is split in two halves by hash: rules may be fitted to one
// half, and the other half measures their real quality.
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { UserAgents } from "../../../core/contract/envelope.ts"
import { registerPlugin } from "../../../core/contract/registrar.ts"
import { Container } from "../../../core/kernel/di.ts"
import { Registry } from "../../../core/kernel/registry.ts"
import plugin from "../../../plugins/pages/user-agents/index.ts"
import { readUserAgents, userAgentAccuracy } from "../../bench/user-agents.ts"
import { leastProcessorMs } from "../../slowness.ts"

const services = new Container()
registerPlugin(plugin, {}, services, new Registry())
const classifyUserAgent = services.get(UserAgents)

const goals = { device_type: 0.93, browser: 0.955, in_app: 0.95 } as const
const fixture = readUserAgents(new URL("../../fixtures/user-agents.json", import.meta.url))
const isHeldOut = (ua: string) => (createHash("sha256").update(ua).digest()[0] ?? 0) % 2 === 1

describe("user agents", () => {
  for (const [half, agents] of [
    ["for fitting", fixture.filter(({ ua }) => !isHeldOut(ua))],
    ["held out", fixture.filter(({ ua }) => isHeldOut(ua))],
  ] as const) {
    it(`are classified right, by the half ${half}`, () => {
      expect(agents.length).to.be.at.least(200)
      const accuracy = userAgentAccuracy(agents)
      for (const name of ["device_type", "browser", "in_app"] as const) {
        const { share, misses } = accuracy[name]
        expect(share, `${name}: ${JSON.stringify(misses.slice(0, 3))}`).to.be.at.least(goals[name])
      }
    })
  }

  it("come with every value that the specification names, and none besides", () => {
    const matches = fixture.map(({ ua }) => classifyUserAgent(ua))
    expect([...new Set(matches.map(({ device_type }) => device_type))].sort()).to.deep.equal(["", "desktop", "mobile", "tablet"])
    expect([...new Set(matches.map(({ browser }) => browser))].sort()).to.deep.equal([
      "",
      "chrome",
      "edge",
      "firefox",
      "opera",
      "other",
      "safari",
      "samsung",
    ])
    for (const { in_app } of matches) expect(in_app).to.match(/^[a-z0-9-]*$/)
  })

  it("take no longer when they are long or made to be slow", async () => {
    const slow = [
      "Android ".repeat(5_000),
      `Mozilla/5.0 (iPhone) ${"Version/1 ".repeat(5_000)}`,
      "(".repeat(50_000),
      "TAB ".repeat(20_000),
      "a".repeat(1_000_000),
    ]
    for (const agent of slow) expect(await leastProcessorMs(100, () => classifyUserAgent(agent))).to.be.below(100)
  })

  it("are read from lists in the forms that people keep them in, and not from other text", () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-agents-"))
    const read = (name: string, text: string) => {
      const file = join(folder, name)
      writeFileSync(file, text)
      return readUserAgents(file)
    }
    const whole = [{ ua: 'a "b"', device_type: "mobile", browser: "safari", in_app: "messenger" }]
    const object = { user_agent: 'a "b"', device: "Smartphone", family: "Mobile Safari", in_app: "Facebook Messenger" }
    try {
      expect(read("list.json", JSON.stringify([object]))).to.deep.equal(whole)
      expect(read("held.json", JSON.stringify({ version: 1, agents: [object] }))).to.deep.equal(whole)
      expect(read("lines.jsonl", `${JSON.stringify(object)}\n${JSON.stringify({ ua: "c", in_app: false })}\n`)).to.deep.equal([
        ...whole,
        { ua: "c", in_app: false },
      ])
      const table = 'User-Agent,Device Type,Browser\r\n"a ""b""",tv,\nc,,Yandex Browser\nd,"",\n'
      const labelled = read("table.csv", table)
      expect(labelled, "an empty field is not a label, and quotes around nothing are").to.deep.equal([
        { ua: 'a "b"', device_type: "" },
        { ua: "c", browser: "other" },
        { ua: "d", device_type: "" },
      ])
      expect(userAgentAccuracy(labelled).browser.of, "what is not labelled is not scored").to.equal(1)
      expect(() => read("other.csv", "x,y\n1,2\n")).to.throw(/no user agent; it is read from ua, .* and there is x, y/)
      expect(() => read("empty.csv", "ua,device\n")).to.throw(/holds no user agents/)
      expect(() => read("broken.json", '[{"ua":')).to.throw(/is not JSON/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("count wrong answers as wrong", () => {
    const { device_type, in_app } = userAgentAccuracy([{ ua: "curl/8.0", device_type: "tablet", in_app: "" }])
    expect([device_type.share, in_app.share, device_type.misses[0]?.found]).to.deep.equal([0, 1, ""])
  })
})
