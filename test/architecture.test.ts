// Allowed imports (docs/architecture.md), checked on the import graph.
import { basename, dirname, join } from "node:path"
import { expect } from "chai"
import { loadDeclarations } from "../core/bootstrap/plugins.ts"
import { Actions } from "../core/contract/action.ts"
import { Collections } from "../core/contract/collection.ts"
import { Operations } from "../core/contract/operation.ts"
import { loadConfig } from "../core/kernel/config.ts"
import { circles, danglingImports, type Import, importsIn, type Module, projectRoot, readModules } from "./import-graph.ts"

/** Core modules that depend only on `kernel` and `contract`. */
const sides = ["storage", "jobs", "pipeline", "surface", "cluster"] as const

/** Allowed imports of each core module besides itself. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  process: ["kernel"],
  contract: ["kernel"],
  ...Object.fromEntries(sides.map((side) => [side, ["kernel", "contract"]])),
  pipeline: ["kernel", "contract", "process"],
  resource: ["kernel", "contract"],
  search: [],
  client: ["kernel", "contract"],
  bootstrap: ["kernel", "contract", ...sides],
  rehearsal: ["kernel", "contract", ...sides, "bootstrap"],
  testing: ["kernel", "contract", ...sides, "bootstrap", "rehearsal"],
  cli: ["kernel", "contract", ...sides, "bootstrap", "rehearsal", "client"],
}

const homeOf: Readonly<Record<string, RegExp>> = {
  express: /^core\/surface\//,
  "socket.io": /^core\/surface\//,
  mongodb: /^core\/storage\/mongodb\//,
  "isolated-vm": /^core\/pipeline\/sandbox\//,
  tsyringe: /^core\/kernel\/di\.ts$/,
}

/** Core files that plugins may import. */
const entryPoints = new Set(["core/index.ts", "core/engine.ts", "core/commands.ts", "core/search.ts"])

/** Limit of plugin test files that import an internal file of a plugin. Only lower this number. */
const maxInsideTests = 60
/** The same limit for helpers shared by plugin tests. Only lower this number. */
const maxInsideKit = 7

const modules = readModules(["client", "core", "plugins"])
const all = [...modules.values()]
const core = all.filter(({ path }) => path.startsWith("core/"))
const plugins = all.filter(({ path }) => path.startsWith("plugins/"))

/** Returns `from imports to` for each import refused by the rule. */
function refused(from: readonly Module[], rule: (imported: Import, module: Module) => boolean): string[] {
  return from.flatMap((module) =>
    module.imports.filter((imported) => rule(imported, module)).map(({ target }) => `${module.path} imports ${target}`),
  )
}

function moduleOf(path: string): string | undefined {
  const [top, module, ...rest] = path.split("/")
  return top === "core" && rest.length > 0 ? module : undefined
}

/** Returns a source without its comments. */
function codeOf(text: string): string {
  return text.replace(/^\s*(\/\/|\/?\*).*$/gm, "")
}

/** Returns a plugin's folder: the nearest parent with an index.ts. */
function pluginOf(path: string): string {
  let folder = dirname(path)
  while (folder !== "plugins" && folder !== "." && !modules.has(`${folder}/index.ts`)) folder = dirname(folder)
  return folder
}

const pluginFolders = [...new Set(plugins.map(({ path }) => pluginOf(path)))]

async function pluginAt(folder: string): Promise<{ id?: unknown; needs?: readonly string[]; register?: unknown }> {
  const module = (await import(`${projectRoot}/${folder}/index.ts`)) as { default?: object }
  return module.default ?? {}
}

describe("architecture", () => {
  it("is read from all of the sources", () => {
    expect(pluginFolders).to.not.deep.equal([])
    for (const name of Object.keys(mayImport)) expect(new Set(core.map(({ path }) => moduleOf(path))), name).to.include(name)
    expect(danglingImports(modules)).to.deep.equal([])
  })

  it("lets a module of core import only the modules below it", () => {
    const wrong = refused(core, ({ kind, target }, { path }) => {
      const [from, to] = [moduleOf(path), moduleOf(target)]
      // Only the command's `start` imports supervisor.ts from a module.
      if (kind !== "file" || from === undefined || (from === "cli" && target === "core/supervisor.ts")) return false
      return to === undefined || (to !== from && !(mayImport[from] ?? []).includes(to))
    })
    expect(wrong).to.deep.equal([])
  })

  it("lets only bootstrap, what stands on it and the command see several of these modules", () => {
    const wrong = core
      .filter(({ path }) => !entryPoints.has(path))
      .filter(
        ({ imports }) => new Set(imports.map(({ target }) => moduleOf(target)).filter((name) => sides.includes(name as never))).size > 1,
      )
      .map(({ path }) => path)
      .filter((path) => !/^core\/(bootstrap|rehearsal|cli|testing)\//.test(path) && path !== "core/testing.ts")
    expect(wrong).to.deep.equal([])
  })

  it("keeps core from knowing any plugin, or its own entry points", () => {
    expect(refused(core, ({ target }) => target.startsWith("plugins/"))).to.deep.equal([])
    expect(refused(core, ({ target }) => /^core\/(index|engine|commands|search|testing)\.ts$/.test(target))).to.deep.equal([])
  })

  it("lets nothing but types, itself and socket.io's client into the client, which runs in browsers", () => {
    const client = all.filter(({ path }) => path.startsWith("client/") || path.startsWith("core/client/"))
    expect(client.map(({ path }) => path)).to.include.members(["client/index.ts", "client/live.ts"])
    const wrong = refused(client, ({ target, typeOnly }, { path }) => {
      // `typeof import(…)` in the map of operations is a type.
      if (typeOnly || path === "client/operations.generated.ts") return false
      return target !== "socket.io-client" && !target.startsWith("core/client/") && target !== "client/operations.generated.ts"
    })
    expect(wrong).to.deep.equal([])
    const routes = modules.get("client/operations.generated.ts")?.text.split("export const routes")
    expect(routes?.[0]).to.match(/typeof import\(/)
    expect(routes?.[1]).to.not.match(/import\(/)
  })

  it("lets plugins import #core, packages and the entry points of plugins that they name in needs", async () => {
    const wrong: string[] = []
    for (const folder of pluginFolders) {
      const own = plugins.filter(({ path }) => pluginOf(path) === folder)
      const needs = (await pluginAt(folder)).needs ?? []
      const ids = new Map<string, unknown>()
      for (const { target } of own.flatMap(({ imports }) => imports)) {
        if (target.startsWith("plugins/") && pluginOf(target) !== folder) ids.set(target, (await pluginAt(pluginOf(target))).id)
      }
      wrong.push(
        ...refused(own, ({ kind, target }) => {
          if (kind === "package" || entryPoints.has(target) || pluginOf(target) === folder) return false
          return basename(target) !== "index.ts" || !needs.includes(String(ids.get(target)))
        }),
      )
    }
    expect(wrong).to.deep.equal([])
  })

  it("lets screens import the console's parts, their own folder, packages for browsers and modules that load nothing, and no area know another's", () => {
    /** Browsers load a module without imports, or a module whose imports load no others. */
    const loadsNothing = (path: string): boolean =>
      modules.get(path)?.imports.every(({ target, typeOnly }) => typeOnly || loadsNothing(target)) ?? false
    const screens = plugins.filter(
      ({ path }) => /^plugins\/[\w-]+\/([\w-]+\/)?console\//.test(path) && !path.startsWith("plugins/console/"),
    )
    const wrong = refused(screens, ({ kind, target, typeOnly }, { path }) => {
      if (kind === "package") return !typeOnly && !/^(#console|#client|preact|@preact\/signals)$/.test(target)
      return !target.startsWith(`${pluginOf(path)}/console/`) && !(pluginOf(target) === pluginOf(path) && loadsNothing(target))
    })
    expect(wrong).to.deep.equal([])
    // A server does not load them either.
    expect(refused(plugins, ({ target }, { path }) => target.includes("/console/") && !path.includes("/console/"))).to.deep.equal([])
  })

  it("limits the tests of plugins that import from inside of a plugin", () => {
    const isInside = (target: string) => target.startsWith("plugins/") && target !== `${pluginOf(target)}/index.ts`
    const tests = [...readModules(["test/plugins"]).values()]
    expect(tests.length).to.be.greaterThan(300)
    const inside = tests.filter(({ imports }) => imports.some(({ target }) => isInside(target))).map(({ path }) => path)
    const { tests: files = [], kit = [] } = Object.groupBy(inside, (path) => (path.endsWith(".test.ts") ? "tests" : "kit"))
    const remedy = "Open stored collections with collectionNamed, run jobs with runJob, and read declarations with declaredBy."
    expect(files.length, `${remedy} ${files.join(" ")}`).to.be.at.most(maxInsideTests)
    expect(kit.length, `${remedy} ${kit.join(" ")}`).to.be.at.most(maxInsideKit)
  })

  it("keeps action plugins from knowing each other", () => {
    const actions = plugins.filter(({ path }) => path.startsWith("plugins/capture/actions/"))
    expect(new Set(actions.map(({ path }) => pluginOf(path))).size).to.be.greaterThan(1)
    const wrong = refused(
      actions,
      ({ target }, { path }) => target.startsWith("plugins/capture/actions/") && pluginOf(target) !== pluginOf(path),
    )
    expect(wrong).to.deep.equal([])
  })

  it("keeps each heavy dependency in its module", () => {
    for (const [name, home] of Object.entries(homeOf)) {
      const users = all.filter(({ imports }) => imports.some(({ target }) => target === name)).map(({ path }) => path)
      expect(users, name).to.not.deep.equal([])
      expect(users.filter((path) => !home.test(path), name)).to.deep.equal([])
    }
  })

  it("makes no code from text outside of isolates", () => {
    const inIsolates = (path: string) => path.startsWith("core/pipeline/sandbox/isolate/")
    const compilers = refused(all, ({ target, typeOnly }, { path }) => {
      if (["vm", "node:vm", "node:repl", "repl"].includes(target)) return true
      return !typeOnly && /^(ajv|ajv-[a-z0-9-]+|acorn)$/.test(target) && !inIsolates(path)
    })
    expect(compilers).to.deep.equal([])
    const makers = all
      .filter(({ text }) => /\bnew Function\b|\bFunction\(|(?<!\bcontext\.)\beval\(|\b\bvm\.(run|compile|Script)/.test(codeOf(text)))
      .map(({ path }) => path)
    expect(makers).to.deep.equal([])
    // Threads and processes start from files, never from text.
    const threads = all.filter(({ text }) => /\beval: true\b|"(--eval|-e|-p|--print)"/.test(codeOf(text))).map(({ path }) => path)
    expect(threads).to.deep.equal([])
    // Isolate code is bundled: other modules import only its types.
    const outside = refused(all, ({ target, typeOnly }, { path }) => !typeOnly && inIsolates(target) && !inIsolates(path))
    expect(outside).to.deep.equal([])
  })

  it("lets messages to people leave by one module, behind the gate that reads the opt-outs", () => {
    const egress = "plugins/people/conversations/egress"
    const importersOf = (target: string) =>
      all.filter(({ imports }) => imports.some((imported) => !imported.typeOnly && imported.target === target)).map(({ path }) => path)
    expect(importersOf(`${egress}/providers.ts`)).to.deep.equal([`${egress}/sender.ts`])
    expect(importersOf(`${egress}/sender.ts`)).to.deep.equal(["plugins/people/conversations/index.ts"])
    const sending = /messaging_product|Messages\.json/
    const senders = plugins.filter(({ text }) => sending.test(codeOf(text)))
    expect(senders.map(({ path }) => path)).to.deep.equal([`${egress}/providers.ts`])
    const callers = plugins.filter(
      ({ path, text }) => path.startsWith("plugins/people/conversations/") && /[iI]ntegrations\s*\.call\w*\(/.test(codeOf(text)),
    )
    expect(callers.map(({ path }) => path)).to.have.members([
      `${egress}/sender.ts`,
      "plugins/people/conversations/templates.ts",
      "plugins/people/conversations/media/fetch.ts",
    ])
    // Pipelines and agents name connections themselves. Connections of numbers are limited to the sender, except for reading.
    const keepers = plugins.filter(({ text }) => /\bbyKeeper: true\b/.test(codeOf(text)))
    expect(keepers.map(({ path }) => path)).to.deep.equal([`${egress}/sender.ts`])
    expect(importersOf(`${egress}/line-guard.ts`)).to.deep.equal(["plugins/people/conversations/index.ts"])
    const elsewhere = plugins.filter(({ text }) => /[iI]ntegrations\s*\.call\([^)]*\{[^}]*\bbase\b/.test(codeOf(text)))
    expect(elsewhere.map(({ path }) => path)).to.deep.equal(["plugins/people/voice/trust-hub/client.ts"])
    const sender = modules.get(`${egress}/sender.ts`)?.text ?? ""
    const order = ["gate.pass(", "gate.refuseUnwanted(", "#call(sending"].map((call) => sender.indexOf(call))
    expect(order).to.deep.equal([...order].sort((a, b) => a - b))
    expect(order).to.not.include(-1)
  })

  it("has no circle of imports", () => {
    expect(circles(modules).map((circle) => circle.join(" -> "))).to.deep.equal([])
  })

  it("has no circle of folders beside each other, in a plugin or in core, so that each is read without those that use it", () => {
    const folderOf = (path: string) => modules.get(path) && dirname(path)
    const isWithin = (inner: string, outer: string) => inner === outer || inner.startsWith(`${outer}/`)
    const folders = new Map<string, Import[]>()
    for (const { path, imports } of all) {
      const from = dirname(path)
      const others = imports
        .map(({ target }) => folderOf(target) ?? from)
        .filter((to) => !isWithin(to, from) && !isWithin(from, to))
        .map((target): Import => ({ target, kind: "file", typeOnly: false }))
      folders.set(from, [...(folders.get(from) ?? []), ...others])
    }
    const pipeline = (folder: string) => `core/pipeline/${folder}`
    for (const [from, to] of [
      ["sources", "event"],
      ["event", "run"],
      ["run", "journal"],
      ["lint", "compile"],
    ] as const)
      expect(folders.get(pipeline(from))?.map(({ target }) => target)).to.include(pipeline(to))
    const graph = new Map([...folders].map(([path, imports]) => [path, { path, text: "", imports }]))
    expect(circles(graph).map((circle) => circle.join(" -> "))).to.deep.equal([])
  })

  it("has files that a person reads in one go, named for what they hold, with a word on what they are for", () => {
    const handWritten = all.filter(({ path }) => !path.endsWith(".generated.ts"))
    const tests = readModules(["test"]).values()
    expect([...handWritten, ...tests].filter(({ text }) => text.split("\n").length > 401).map(({ path }) => path)).to.deep.equal([])
    expect(
      handWritten.filter(({ path }) => /(^|\/)(utils?|helpers?|common|types|misc)(\/|\.|$)/.test(path)).map(({ path }) => path),
    ).to.deep.equal([])
    expect(
      handWritten.filter(({ path }) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)?\.(tsx?|js)$/.test(basename(path))).map(({ path }) => path),
    ).to.deep.equal([])
    expect(handWritten.filter(({ text }) => !/^(#!.*\n)?\/\/ /.test(text)).map(({ path }) => path)).to.deep.equal([])
  })

  it("has a plugin behind every plugin folder's index.ts, each with an id of its own", async () => {
    const ids = await Promise.all(
      pluginFolders.map(async (folder) => {
        const { id, register } = await pluginAt(folder)
        expect(register, folder).to.be.a("function")
        expect(id, folder).to.match(/^[a-z0-9]+(-[a-z0-9]+)*$/)
        return id
      }),
    )
    expect(new Set(ids).size).to.equal(pluginFolders.length)
  })
})

/** Texts compiled against the shipped plugins: examples of the reference. */
const examples = /^core\/cli\/reference\/[\w-]+\.ts$/

describe("core", () => {
  it("names no operation, action, collection or plugin that ships", async () => {
    const { config } = loadConfig({ defaults: join(projectRoot, "config/default.yaml"), env: {} })
    const { plugins: shipped, registry } = await loadDeclarations({ config, root: projectRoot })
    const ids = shipped.map(({ plugin }) => plugin.id)
    const operations = registry.items(Operations).map(({ name }) => name)
    const collections = registry.all(Collections).filter(({ plugin }) => ids.includes(plugin))
    const names = new Set([
      ...operations,
      ...operations.map((name) => name.replaceAll(".", "_")),
      ...registry.items(Actions).map(({ type }) => type),
      ...collections.map(({ item }) => item.name),
      // A single word, such as "email", is also an ordinary word.
      ...ids.filter((id) => id.includes("-")),
    ])
    expect([...names]).to.include.members(["datasets.create", "datasets_create", "dataset.write", "dataset_rows", "event-pipelines"])
    const namedIn = (some: readonly Module[]) =>
      some.flatMap(({ path, text }) => textsIn(text).flatMap((literal) => namesIn(literal, names).map((name) => `${path} names ${name}`)))
    expect(namedIn(core.filter(({ path }) => !examples.test(path)))).to.deep.equal([])
    // The console shows unknown areas; by name it requests only the signed-in person.
    const app = plugins.filter(({ path }) => path.startsWith("plugins/console/app/"))
    expect(app.some(({ path }) => path.endsWith("/main.tsx"))).to.equal(true)
    expect(namedIn(app)).to.deep.equal([
      "plugins/console/app/api.ts names me.get",
      "plugins/console/app/api.ts names me.switch_organization",
    ])
  })

  it("is searched in all of its texts", () => {
    const names = new Set(["datasets.create", "datasets"])
    const source =
      'const a = "datasets.create"\n// "datasets"\nconst b = `use datasets.create, or not`\nconst c = "datasets"; datasets.create()'
    expect(textsIn(source).flatMap((literal) => namesIn(literal, names))).to.deep.equal(["datasets.create", "datasets.create", "datasets"])
  })
})

/** Returns texts in quotes or backticks. Ignores comments. */
function textsIn(source: string): string[] {
  const code = source.replaceAll(/^\s*(\/\/|\/?\*).*$/gm, "")
  return [...code.matchAll(/"((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)'|`((?:\\.|[^`\\])*)`/g)].map(
    ([, first, second, three]) => first ?? second ?? three ?? "",
  )
}

/** Finds names with a mark as words anywhere, and plain names only as the whole text. */
function namesIn(literal: string, names: ReadonlySet<string>): string[] {
  const words = literal.match(/[\w-]+(\.[\w-]+)*/g) ?? []
  return [...new Set(words)].filter((word) => names.has(word) && (/[._-]/.test(word) || word === literal))
}

describe("import graph", () => {
  it("sees every form of import and no comment", () => {
    const source = [
      '// import x from "./comment.ts"',
      'import "./effect.ts"',
      'import type { A } from "./a.ts"',
      'import { type B, type C } from "./b.ts"',
      "import {\n  type D,\n  d,\n} from './d.ts'",
      'export * from "./e.ts"',
      'export { type F } from "./f.ts"',
      'const g = await import("./g.ts")',
      'export const text = "from"',
      'type H = import("./h.ts").H',
    ].join("\n")
    expect(importsIn(source).map(({ specifier, typeOnly }) => `${specifier}${typeOnly ? " type" : ""}`)).to.deep.equal([
      "./a.ts type",
      "./b.ts type",
      "./d.ts",
      "./e.ts",
      "./f.ts type",
      "./effect.ts",
      "./g.ts",
      "./h.ts",
    ])
  })

  it("finds circles of imports that run, and only those", () => {
    const module = (path: string, ...targets: [string, boolean][]): [string, Module] => [
      path,
      { path, text: "", imports: targets.map(([target, typeOnly]) => ({ target, typeOnly, kind: "file" })) },
    ]
    const graph = new Map([module("a", ["b", false]), module("b", ["c", false], ["a", true]), module("c", ["b", false])])
    expect(circles(graph)).to.deep.equal([["b", "c", "b"]])
  })
})
