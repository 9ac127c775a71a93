// Plugins are found, checked and ordered. The report contains all errors and names both sides.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import fc from "fast-check"
import { z } from "zod"
import { findPlugins, orderPlugins } from "../../core/kernel/loader.ts"
import type { Plugin } from "../../core/kernel/plugin.ts"

type Any = Plugin<unknown>

function plugin(id: string, needs: readonly string[] = [], config: z.ZodType = z.strictObject({})): { plugin: Any; from: string } {
  return { plugin: { id, needs, config, register: () => undefined }, from: `/plugins/${id}` }
}

function order(matches: readonly { plugin: Any; from: string }[], settings: Record<string, unknown> = {}) {
  const problems: string[] = []
  const ordered = orderPlugins(matches, settings, problems)
  return { ids: ordered.map((item) => item.plugin.id), configs: ordered.map(({ config }) => config), problems }
}

describe("order of plugins", () => {
  it("puts each after what it needs, in any order of finding them", () => {
    const graph = [plugin("a", ["b", "c"]), plugin("b", ["d"]), plugin("c", ["d"]), plugin("d"), plugin("e", ["a"])]
    fc.assert(
      fc.property(fc.shuffledSubarray(graph, { minLength: graph.length }), (matches) => {
        const { ids, problems } = order(matches)
        expect(problems).to.deep.equal([])
        expect([...ids].sort()).to.deep.equal(["a", "b", "c", "d", "e"])
        for (const { plugin: item } of graph) {
          for (const need of item.needs ?? []) expect(ids.indexOf(need)).to.be.lessThan(ids.indexOf(item.id))
        }
      }),
    )
  })

  it("names the whole of a circle", () => {
    expect(order([plugin("a", ["b"]), plugin("b", ["c"]), plugin("c", ["b"])]).problems).to.deep.equal([
      "Plugins have circular dependencies: b -> c -> b.",
    ])
    expect(order([plugin("a", ["a"])]).problems).to.deep.equal(["Plugins have circular dependencies: a -> a."])
  })

  it("names both sides of two plugins with one id", () => {
    const second = { ...plugin("mail"), from: "package acme-mail" }
    expect(order([plugin("mail"), second]).problems).to.deep.equal([
      'Two plugins have the id "mail": /plugins/mail and package acme-mail; rename one.',
    ])
  })

  it("names what is needed and not there, with a guess", () => {
    expect(order([plugin("a", ["datasetz"]), plugin("datasets")]).problems).to.deep.equal([
      'The plugin "a" needs "datasetz", which is not loaded. Did you mean "datasets"?',
    ])
  })

  it("checks each plugin's settings and tells what is wrong in all of them", () => {
    const mail = plugin("mail", [], z.strictObject({ port: z.int().default(25), password: z.string().min(20).optional() }))
    const crm = plugin("crm", [], z.strictObject({ url: z.url() }))
    expect(order([mail, crm], { mail: { port: 2525 }, crm: { url: "https://x.test" } }).configs).to.deep.equal([
      { port: 2525 },
      { url: "https://x.test" },
    ])
    const { problems } = order([mail, crm], { mail: { prot: 1, password: "hunter2" }, malis: {} })
    expect(problems[0]).to.equal("plugins.settings.malis: no plugin has this id.")
    expect(problems.join("\n"))
      .to.include('plugins.settings.mail.prot is not a setting. Did you mean "port"?')
      .and.include("plugins.settings.mail.password cannot be [set]: ")
      .and.include("plugins.settings.crm.url is missing. ")
      .and.not.include("hunter2")
    expect(problems).to.have.length(4)
  })
})

describe("settings of plugins", () => {
  it("are a plugin's own, also where every object has one of that name", () => {
    const config = z.strictObject({ limit: z.int().default(3) })
    expect(order([plugin("constructor", [], config), plugin("to-string", [], config)])).to.deep.include({
      configs: [{ limit: 3 }, { limit: 3 }],
      problems: [],
    })
  })
})

describe("finding plugins", () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-loader-"))
    const write = (path: string, text: string) => {
      mkdirSync(join(folder, path, ".."), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    const source = (id: string) => `export default { id: "${id}", config: { safeParse: () => ({ success: true }) }, register() {} }`
    write("plugins/two/index.js", source("two"))
    write("plugins/one/index.ts", source("one"))
    write("plugins/notes.txt", "")
    write("plugins/empty/readme.md", "")
    write("grouped/alone/index.ts", source("alone"))
    write("grouped/crew/mate/index.ts", source("mate"))
    write("grouped/crew/skipper/index.js", source("skipper"))
    write("grouped/crew/deep/stoker/index.js", source("stoker"))
    write("grouped/crew/deep/deeper/far/index.js", "throw new Error('too deep')")
    write("grouped/node_modules/x/index.js", "throw new Error('a package')")
    write("grouped/.cache/x/index.js", "throw new Error('hidden')")
    symlinkSync(join(folder, "grouped/crew/mate"), join(folder, "mate"))
    write("wrong/none/index.js", "export const x = 1")
    write("wrong/half/index.js", 'export default { id: "half", register() {} }')
    write("wrong/broken/index.js", "export default nothing")
    write("typos/index.ts", 'export default {\n  id: "typos"\n  config: 1\n}\n')
    write("typos-inside/index.ts", 'export { default } from "./inside.ts"\n')
    write("typos-inside/inside.ts", "\nconst x: = 1\n")
    write("thrown/index.ts", 'import { made } from "./made.ts"\nexport default made\n')
    write("thrown/made.ts", "export const made = make()\n\nfunction make() {\n  return JSON.parse('no')\n}\n")
    write("node_modules/acme-mail/package.json", '{ "name": "acme-mail", "type": "module", "exports": "./main.js" }')
    write("node_modules/acme-mail/main.js", source("acme-mail"))
    write("package.json", '{ "type": "module" }')
  })
  after(() => rmSync(folder, { recursive: true }))

  async function find(...paths: string[]) {
    const problems: string[] = []
    const plugins = await findPlugins({ paths, roots: [folder, "/nowhere"] }, problems)
    return { ids: plugins.map(({ plugin: { id } }) => id), from: plugins.map(({ from }) => from), problems }
  }

  it("takes every folder that has an index, in the order of their names, and each once", async () => {
    expect(await find("plugins", join(folder, "plugins"), "plugins/one")).to.deep.equal({
      ids: ["one", "two"],
      from: [join(folder, "plugins/one/index.ts"), join(folder, "plugins/two/index.js")],
      problems: [],
    })
  })

  it("looks into groups and groups of groups, in the order of the names, and no further", async () => {
    const { ids, problems } = await find("grouped")
    expect({ ids, problems }).to.deep.equal({ ids: ["alone", "mate", "skipper", "stoker"], problems: [] })
  })

  it("takes a plugin once that two paths lead to", async () => {
    expect((await find("grouped/crew", "mate")).ids).to.deep.equal(["mate", "skipper", "stoker"])
  })

  it("takes a package that is installed where the project is, and names one that is not", async () => {
    expect((await find("acme-mail")).ids).to.deep.equal(["acme-mail"])
    expect(await find("acme-male", "./nowhere", "/nowhere/at/all")).to.deep.equal({
      ids: [],
      from: [],
      problems: [
        "plugins.paths names acme-male, which is neither a folder nor an installed package.",
        "plugins.paths names the folder ./nowhere, which does not exist.",
        "plugins.paths names the folder /nowhere/at/all, which does not exist.",
      ],
    })
  })

  it("says in which file and line one does not parse, or throws as it is loaded", async () => {
    const { problems } = await find("typos", "typos-inside", "thrown")
    expect(problems).to.have.length(3)
    expect(problems[0])
      .to.include("Expected ','")
      .and.to.match(/typos\/index\.ts:3\)$/)
    expect(problems[1]).to.match(/typos-inside\/inside\.ts:2\)$/)
    expect(problems[2])
      .to.include("is not valid JSON")
      .and.to.match(/thrown\/made\.ts:4\)$/)
  })

  it("tells of each folder that holds no plugin or cannot be loaded, and goes on", async () => {
    const { ids, problems } = await find("wrong", "plugins")
    expect(ids).to.deep.equal(["one", "two"])
    expect(problems).to.have.length(3)
    expect(problems[0]).to.include(`(${join(folder, "wrong/broken/index.js")}:1)`)
    expect(problems[0]).to.match(/broken.* could not be loaded: nothing is not defined/)
    expect(problems[1]).to.match(/half.* does not export a plugin/)
    expect(problems[2]).to.match(/none.* does not export a plugin/)
  })
})
