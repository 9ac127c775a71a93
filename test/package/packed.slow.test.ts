// Millrace for its users: packed, installed into a project of `millrace init`, started, used, tested and extended.
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { build } from "esbuild"
import { readModules } from "../import-graph.ts"
import { outputUntil } from "../processes.ts"
import { type Clone, clone } from "./clone.ts"
import { lendPackages, User } from "./user.ts"

describe("the package", function () {
  this.timeout(900_000)
  let repository: Clone
  let user: User
  let project: string
  const installed = () => join(project, "node_modules/millrace")
  const read = (path: string) => readFileSync(join(project, path), "utf8")

  before(async function () {
    // Without linked packages, npm unpacks 560 MB.
    this.timeout(900_000)
    repository = clone()
    project = join(repository.folder, "shop")
    const maker = new User(repository.root)
    const result = await maker.run(process.execPath, "core/millrace.js", "init", "../shop")
    expect(result.code, result.output).to.equal(0)
    expect(result.output).to.include("made ../shop/plugins/actions/lead-score/index.ts").and.include("cd ../shop")
    user = new User(project)
    lendPackages(project)
    const { code, output } = await user.run("npm", "install", "--prefer-offline", "--no-audit", "--no-fund")
    expect(code, output).to.equal(0)
  })
  after(() => {
    user?.leave()
    repository?.remove()
  })

  it("leaves the clone that it is made of as it was", () => {
    expect(existsSync(join(repository.root, "entry-points/package.json"))).to.equal(false)
    expect(globSync("entry-points/*/", { cwd: repository.root })).to.deep.equal([])
  })

  it("holds JavaScript and declarations, and no source but the templates", () => {
    const files = globSync("**/*", { cwd: installed() })
    expect(files.filter((path) => /(?<!\.d)\.ts$/.test(path) && !path.startsWith("entry-points/templates/"))).to.deep.equal([])
    expect(files.filter((path) => /^(test|build|core|plugins|templates)\b/.test(path))).to.deep.equal([])
    for (const entry of ["index", "engine", "testing", "client", "live", "console"])
      expect(files, entry).to.include.members([`entry-points/${entry}.js`, `entry-points/${entry}.d.ts`])
    // Programs and threads start by file name.
    const names = globSync("entry-points/{core,plugins}/**/*.js", { cwd: installed() }).flatMap((path) =>
      [...readFileSync(join(installed(), path), "utf8").matchAll(/"(?:\.\/(?:[a-z-]+\/)*)?([a-z-]+-main\.js)"/g)].map(
        ([, name = ""]) => name,
      ),
    )
    expect(names.length).to.be.at.least(2)
    for (const name of names)
      expect(
        files.filter((path) => path.endsWith(`/${name}`)),
        name,
      ).to.have.length(1)
  })

  it("asks for every package that it imports", () => {
    const { dependencies } = JSON.parse(read("node_modules/millrace/package.json")) as { dependencies: Record<string, string> }
    // Generated, committed files are made in the repository.
    const atHome = /\/(template|beacon)\/(build|vitals)\.js$/
    const missing = [...readModules(["entry-points/core", "entry-points/plugins", "entry-points/client"], installed()).values()]
      .filter(({ path }) => !atHome.test(path))
      .flatMap(({ path, imports }) => imports.map(({ kind, target }) => ({ path, kind, target })))
      .filter(({ kind, target }) => kind === "package" && !/^(node:|#)/.test(target) && !(target in dependencies))
    expect(missing).to.deep.equal([])
  })

  it("gives editors the user's own actions", () => {
    const { $defs } = JSON.parse(read("config/pipeline.schema.json")) as { $defs: Record<string, unknown> }
    expect($defs).to.include.keys("action.lead.score", "action.dataset.write")
    expect(existsSync(join(project, "config/pipeline-test.schema.json"))).to.equal(true)
  })

  it("shows the screens of the project in the console", async () => {
    const folder = join(project, "plugins/shop-floor")
    mkdirSync(join(folder, "console"), { recursive: true })
    writeFileSync(
      join(folder, "index.ts"),
      `import { definePlugin } from "millrace"
import { z } from "zod"
export default definePlugin({ id: "shop-floor", config: z.strictObject({}), register() {} })
`,
    )
    writeFileSync(
      join(folder, "console/screens.ts"),
      `import type { Contribution } from "millrace/console"
const area: Contribution = {
  screens: [{ path: "shop-floor", title: "Shop floor", needs: ["event_pipelines.list"], load: () => import("./floor.tsx") }],
}
export default area
`,
    )
    writeFileSync(
      join(folder, "console/floor.tsx"),
      `import { Badge, useAnswer } from "millrace/console"
import { useState } from "preact/hooks"
export default function Floor() {
  const [open] = useState(true)
  const pipelines = useAnswer("event_pipelines.list")
  return <Badge>{open && pipelines ? "Seats at the window" : ""}</Badge>
}
`,
    )
    const service = user.start("npm", ["start"], { PORT: "0" })
    try {
      await outputUntil(service, /curl .* http:\S+\s/)
      const { base_url } = JSON.parse(read("data/bootstrap.json")) as { base_url: string }
      const text = async (path: string) => await (await fetch(base_url + path)).text()
      const main = /\/console-assets\/main-\w+\.js/.exec(await text("/console"))?.[0] ?? ""
      const chunks = [...new Set((await text(main)).match(/chunk-\w+\.js/g))]
      const loaded = await Promise.all(chunks.map((name) => text(`/console-assets/${name}`)))
      expect(loaded.filter((source) => source.includes("Seats at the window"))).to.have.length(1)
    } finally {
      user.interrupt(service)
    }
    const { code, output } = await user.run("npx", "tsc")
    expect(code, output).to.equal(0)
  })

  it("starts with what ships and what the user added, and takes an event", async () => {
    const service = user.start("npm", ["start"], { PORT: "0" })
    const ended = new Promise((resolve) => service.once("close", resolve))
    try {
      const message = await outputUntil(service, /curl .* http:\S+\s/)
      const [, body = "", url = ""] = /-d '(\{.*?\})' (http:\S+)/.exec(message) ?? []
      const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
      expect([answer.status, await answer.json()]).to.deep.equal([201, { ok: true, points: 70 }])

      const bootstrap = JSON.parse(read("data/bootstrap.json")) as { base_url: string; admin_key: string }
      const ask = async (path: string, request?: object) => {
        const headers = { authorization: `Bearer ${bootstrap.admin_key}`, "content-type": "application/json" }
        const response = await fetch(bootstrap.base_url + path, {
          headers,
          ...(request && { method: "POST", body: JSON.stringify(request) }),
        })
        return response.text()
      }
      expect(await ask("/v1/datasets/leads/rows")).to.include('"points":70')
      expect(await ask("/v1/action-types"))
        .to.include('"lead.score"')
        .and.include('"email.send"')
      const pipelines = JSON.parse(await ask("/v1/event-pipelines")) as { event_pipelines: { slug: string }[] }
      expect(pipelines.event_pipelines.map(({ slug }) => slug)).to.deep.equal(["website-lead"])
      // A process with a native module.
      expect(await ask("/v1/page-analytics/query", { query: "SELECT 41 + 1 AS answer" })).to.include("42")
      expect(await (await fetch(`${bootstrap.base_url}/docs`)).text())
        .to.include("<style>")
        .and.include("lead")

      writeFileSync(
        join(project, "rows.ts"),
        `import { millrace } from "millrace/client"
const client = millrace({ baseUrl: ${JSON.stringify(bootstrap.base_url)}, key: ${JSON.stringify(bootstrap.admin_key)} })
const { rows } = await client.datasets.listRows({ slug: "leads" })
console.log("points", rows[0]?.values["points"])
`,
      )
      const result = await user.run("npx", "node", "rows.ts")
      expect(result.output).to.match(/^points 70$/m)
    } finally {
      user.interrupt(service)
    }
    await ended
    await expectRefused(() => fetch(JSON.parse(read("data/bootstrap.json")).base_url as string))
  })

  it("passes the tests of the project, with plugins made by `millrace new` in it", async () => {
    for (const [kind = "", name = ""] of [
      ["action", "order-total"],
      ["area", "gift-cards"],
      ["auth-mode", "partner-token"],
    ]) {
      const { code, output } = await user.run("npx", "millrace", "new", kind, name)
      expect(code, output).to.equal(0)
    }
    expect(read("plugins/actions/order-total/index.ts")).to.include('from "millrace"')
    expect(read("config/pipeline.schema.json")).to.include("order.total").and.include("partner_token")
    const { code, output } = await user.run("npm", "test")
    expect(code, output).to.equal(0)
    expect(output).to.include("1 file, 0 errors, 0 warnings")
    for (const title of ["lead.score", "order.total", "gift_cards", "partner_token"]) expect(output).to.include(title)
    expect(output).to.match(/^3 passed$/m)
    expect(output).to.match(/\d{2,} passing/)
    expect(output).to.not.match(/failing|pending/)
  })

  it("makes a client of the project's own operations, which calls them", async () => {
    const result = await user.run("npx", "millrace", "generate", "client")
    expect(result.code, result.output).to.equal(0)
    expect(result.output).to.match(/^wrote client\.ts$/m)
    writeFileSync(
      join(project, "cards.ts"),
      `import { testHost } from "millrace/testing"
import { millrace } from "./client.ts"
import giftCards from "./plugins/gift-cards/index.ts"
const host = await testHost({ plugins: [giftCards] })
const client = millrace({ baseUrl: host.url, key: host.adminKey })
const card = await client.giftCards.create({ name: "Birthday" })
for await (const { name } of client.giftCards.list.each()) console.log("card", name, card.name === name)
console.log("datasets", (await client.datasets.list()).total)
await host.stop()
`,
    )
    const ran = await user.run("npx", "node", "cards.ts")
    expect(ran.code, ran.output).to.equal(0)
    expect(ran.output).to.match(/^card Birthday true\ndatasets 0$/m)
  })

  it("tells the compiler what everything is, of its own operations too", async () => {
    writeFileSync(
      join(project, "wrong.ts"),
      `import { millrace } from "./client.ts"
const { giftCards } = millrace({ baseUrl: "http://127.0.0.1", key: "none" })
export const unnamed = giftCards.create({ nam: "Birthday" })
export const field = (await giftCards.get({ id: "1" })).nothing
`,
    )
    mkdirSync(join(project, "plugins/wrong"))
    writeFileSync(
      join(project, "plugins/wrong/types.ts"),
      `import { defineAction, template } from "millrace"
import { type Client, millrace } from "millrace/client"
import { connectLive } from "millrace/live"
import { testHost } from "millrace/testing"
import { z } from "zod"
export const action = defineAction({
  type: "wrong",
  summary: "Wrong.",
  timing: "commit",
  config: z.strictObject({ n: template(z.number()) }),
  result: z.object({ text: z.string() }),
  examples: [],
  run: ({ config }) => ({ text: config.n }),
})
const client: Client = millrace({ baseUrl: "http://127.0.0.1", key: "none" })
export const cell = async () => (await client.datasets.listRows({ slug: "leads" })).rows[0]?.nothing
export const live = connectLive(1)
export const host = async () => (await testHost()).nothing
`,
    )
    const { code, output } = await user.run("npx", "tsc")
    expect(code).to.not.equal(0)
    const linesOf = (pattern: RegExp) => [...output.matchAll(pattern)].map(([, line]) => Number(line))
    expect(linesOf(/types\.ts\((\d+),\d+\): error/g), output).to.deep.equal([13, 16, 17, 18])
    expect(linesOf(/wrong\.ts\((\d+),\d+\): error/g), output).to.deep.equal([3, 4])
    // Correct files have no errors, for example the program with calls of the client.
    expect(output.match(/error TS/g), output).to.have.length(6)
  })

  it("has live updates that bundle as docs/browser.md says", async () => {
    const [command = ""] = /(?<=`)echo [^`]*npx esbuild [^`]*(?=`)/.exec(read("node_modules/millrace/docs/browser.md")) ?? []
    const { code, output } = await user.run("bash", "-c", command)
    expect(code, `${command}\n${output}`).to.equal(0)
    expect(read("live.js")).to.include("connectLive")
  })

  it("has a client that bundles for browsers", async () => {
    for (const entry of ["client", "live"]) {
      const { outputFiles, metafile } = await build({
        stdin: { contents: `export * from "millrace/${entry}"`, resolveDir: project },
        bundle: true,
        platform: "browser",
        format: "esm",
        write: false,
        metafile: true,
        logLevel: "silent",
      })
      expect(outputFiles[0]?.text).to.include("socket")
      expect(Object.keys(metafile.inputs).filter((path) => path.includes("millrace/entry-points/plugins"))).to.deep.equal([])
    }
  })
})

async function expectRefused(call: () => Promise<unknown>): Promise<void> {
  const error = await call().then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error, "the service still answers").to.be.instanceOf(Error)
}
