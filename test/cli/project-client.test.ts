// `millrace generate client` in a project: one client with the operations of its own plugins and the shipped ones. test/package
// tests its types in a packed project.
import { mkdirSync, readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect } from "chai"
import { testHost } from "#core/testing"
import { projectRoot } from "../import-graph.ts"
import { runIn } from "./command-line.ts"
import { CommandFolder } from "./pipelines/command.ts"

interface Cards {
  readonly giftCards: {
    create(input: { name: string }): Promise<{ id: string; name: string }>
    get(input: { id: string }): Promise<{ name: string }>
    readonly list: { each(): AsyncIterable<{ name: string }> }
  }
  readonly datasets: { list(): Promise<{ total: number }> }
}

describe("millrace generate client", () => {
  let folder: CommandFolder
  const read = (path: string) => readFileSync(join(folder.path, path), "utf8")
  const generate = (...args: string[]) => runIn(folder.path, ["generate", "client", ...args])
  before(async () => {
    folder = new CommandFolder()
    mkdirSync(join(folder.path, "node_modules"))
    symlinkSync(projectRoot, join(folder.path, "node_modules/millrace"))
    symlinkSync(join(projectRoot, "node_modules/zod"), join(folder.path, "node_modules/zod"))
    folder.write("package.json", JSON.stringify({ type: "module", dependencies: { millrace: "*" } }))
    const result = await runIn(folder.path, ["new", "area", "gift-cards"])
    expect(result.code, result.output).to.equal(0)
  })
  after(() => folder.remove())

  it("writes a client that calls the project's operations and those that ship", async () => {
    expect(await generate()).to.deep.equal({ code: 0, output: "wrote client.ts\n" })
    const { millrace } = (await import(pathToFileURL(join(folder.path, "client.ts")).href)) as {
      millrace: (options: object) => Cards
    }
    const { default: plugin } = (await import(pathToFileURL(join(folder.path, "plugins/gift-cards/index.ts")).href)) as { default: never }
    const host = await testHost({ plugins: [plugin] })
    try {
      const client = millrace({ baseUrl: host.url, key: host.adminKey })
      const { id } = await client.giftCards.create({ name: "Birthday" })
      expect(await client.giftCards.get({ id })).to.include({ name: "Birthday" })
      const names: string[] = []
      for await (const { name } of client.giftCards.list.each()) names.push(name)
      expect([names, (await client.datasets.list()).total]).to.deep.equal([["Birthday"], 0])
    } finally {
      await host.stop()
    }
  })

  it("names each operation where the project exports it, and what ships by the package", async () => {
    const text = read("client.ts")
    expect(text).to.include('  "gift_cards.create": (typeof import("./plugins/gift-cards/index.ts").GiftCards)["create"]\n')
    expect(text).to.include('  "gift_cards.list": { method: "GET", path: "/v1/gift-cards", repeatable: true, list: "gift_cards" },\n')
    expect(text).to.include('from "millrace/client"').and.not.include("datasets.list")
    expect((await generate("--into", "web/api.ts")).code).to.equal(0)
    expect(read("web/api.ts")).to.include('(typeof import("../plugins/gift-cards/index.ts").GiftCards)["create"]')
  })

  it("tells a client that is not current, and `new` writes it again", async () => {
    expect(await generate("--check")).to.deep.equal({ code: 0, output: "" })
    expect(await generate("--check", "--into", "none.ts")).to.deep.equal({
      code: 1,
      output: "none.ts is missing; run `npx millrace generate client --into none.ts`.\n",
    })
    expect((await runIn(folder.path, ["new", "area", "vouchers"])).output).to.include("wrote client.ts")
    expect([read("client.ts").includes("vouchers.create"), (await generate("--check")).code]).to.deep.equal([true, 0])
    expect(await generate("--check", "--into", "web/api.ts")).to.include({ code: 1 })
  })

  it("says of an operation that nothing exports what to write, and leaves the file as it was", async () => {
    const before = read("client.ts")
    folder.write(
      "plugins/hidden/index.ts",
      `import { definePlugin, defineOperation } from "millrace"
import { z } from "zod"
const hidden = defineOperation({ name: "hidden.list", summary: "Hidden.", http: { method: "GET", path: "/v1/hidden" }, access: { scope: "hidden:read", role: "guest" }, hints: { readOnly: true, destructive: false, idempotent: true }, input: z.strictObject({}), output: z.object({}), errors: [], handle: () => ({}) })
export default definePlugin({ id: "hidden", config: z.strictObject({}), register: (registrar) => registrar.operations(hidden) })
`,
    )
    const { code, output } = await generate()
    expect(code).to.equal(1)
    expect(output).to.include("The client cannot be typed: hidden.list. Write `export const name = defineOperation({…})`")
    expect(read("client.ts")).to.equal(before)
  })

  it("is not for the framework's own repository", async () => {
    const { code, output } = await runIn(projectRoot, ["generate", "client"])
    expect([code, output]).to.deep.equal([
      1,
      "The client of this repository is client/index.ts, whose operations `npm run generate` writes.\n",
    ])
  })
})
