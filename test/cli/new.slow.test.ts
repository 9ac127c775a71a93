// `millrace new` in the framework's own repository: its files pass every check unchanged. Invalid and taken names are refused
// without writing files.
// test/package covers a user's project.
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { BootError } from "../../core/kernel/config.ts"
import { projectRoot } from "../import-graph.ts"
import { type Clone, clone } from "../package/clone.ts"
import { User } from "../package/user.ts"
import { runMillrace } from "./command-line.ts"

const expectedFiles = [
  { kind: "action", name: "order-total", folder: "plugins/actions/order-total", declares: /type: "order\.total"/ },
  // A long name, so lines of the template wrap.
  {
    kind: "area",
    name: "gift-cards-of-all-those-shops-abroad",
    folder: "plugins/gift-cards-of-all-those-shops-abroad",
    declares: /id: "gift/,
  },
  { kind: "auth-mode", name: "partner-token", folder: "plugins/auth-modes/partner-token", declares: /mode: "partner_token"/ },
] as const

describe("millrace new", function () {
  this.timeout(900_000)
  let repository: Clone
  let user: User
  before(() => {
    repository = clone()
    user = new User(repository.root)
  })
  after(() => {
    user?.leave()
    repository?.remove()
  })

  const millrace = (...args: string[]) => user.run(process.execPath, "core/millrace.js", ...args)
  const bin = (name: string, ...args: string[]) => user.run(process.execPath, join("node_modules/.bin", name), ...args)
  const sources = () => globSync("{plugins,test}/**/*.ts", { cwd: projectRoot }).length

  it("makes an action, an area and an auth mode that pass every check as they are made", async () => {
    const created: string[] = []
    for (const { kind, name, folder, declares } of expectedFiles) {
      const { code, output } = await millrace("new", kind, name)
      expect(code, output).to.equal(0)
      expect(output).to.include(`made ${folder}/index.ts`).and.include(`made test/${folder}.test.ts`).and.include("wrote docs/reference/")
      expect(readFileSync(join(repository.root, folder, "index.ts"), "utf8")).to.match(declares)
      created.push(...[...output.matchAll(/^made (\S+)$/gm)].map(([, path = ""]) => path))
    }
    expect(created).to.have.length(6)
    for (const path of created) expect(readFileSync(join(repository.root, path), "utf8"), path).to.not.match(/sample/i)

    const formatted = await user.run(join("node_modules/.bin", "biome"), "ci", "--colors=off", "--error-on-warnings", ...created)
    expect(formatted.code, formatted.output).to.equal(0)
    const current = await millrace("generate", "--check")
    expect(current.code, current.output).to.equal(0)
    // Compiles the new files with their imports; the rest of the repository is unchanged.
    writeFileSync(join(repository.root, "tsconfig.made.json"), JSON.stringify({ extends: "./tsconfig.json", include: created }))
    const [compiled, used] = [await bin("tsc", "-p", "tsconfig.made.json", "--checkers", "1"), await bin("knip")]
    const complaints = `${compiled.output}\n${used.output}`.split("\n").filter((line) => created.some((path) => line.includes(path)))
    expect(complaints).to.deep.equal([])
    const tests = created.filter((path) => path.endsWith(".test.ts"))
    // Lists of all operations contain the new one.
    const listing = ["test/surface/mcp/mcp.test.ts", "test/surface/openapi.test.ts", "test/cli/public-api.test.ts"]
    const notListing = ["--invert", "--grep", "^MCP (?!offers the operations|calls additive)"]
    const tested = await bin("mocha", "--forbid-only", ...notListing, ...tests, "test/architecture.test.ts", ...listing)
    expect(tested.code, tested.output).to.equal(0)
    expect(tested.output).to.match(/^\d{2,} passed, 0 failed$/m)
  })

  it("refuses invalid names and names that are taken, saying by whom, and writes nothing", async () => {
    const before = sources()
    const cases: [kind: string, name: string, told: RegExp][] = [
      ["action", "Lead Score", /"Lead Score" cannot be the name of an action.*Did you mean "lead-score"\?/],
      ["action", "../lead", /"\.\.\/lead" cannot be the name/],
      ["action", "dataset.write", /taken\. The action type "dataset\.write" is that of the plugin "action-dataset-write"/],
      ["area", "datasets", /taken\. The area "datasets" is that of the plugin "datasets"/],
      ["area", "action-types", /taken\. The area "action_types" is that of the plugin "event-pipelines"/],
      ["area", "pipelines", /taken\. "pipelines" is reserved in the API or as a command/],
      ["area", "api_keys", /cannot be the name of an area.*Did you mean "api-keys"\?/],
      ["auth-mode", "hmac-sha256", /taken\. The auth mode "hmac_sha256" is that of the plugin "inbound-auth"/],
    ]
    for (const [kind, name, pattern] of cases) {
      const refusal: unknown = await runMillrace(["new", kind, name]).catch((error: unknown) => error)
      expect(refusal, `${kind} ${name}`).to.be.instanceOf(BootError)
      expect((refusal as BootError).problems).to.have.length(1)
      expect((refusal as BootError).message).to.match(pattern)
    }
    expect(sources()).to.equal(before)
  })

  it("keeps what is there already", async () => {
    mkdirSync(join(repository.root, "test/plugins/actions"), { recursive: true })
    const test = join(repository.root, "test/plugins/actions/half-made.test.ts")
    writeFileSync(test, "// mine\n")
    const { code, output } = await millrace("new", "action", "half-made")
    expect([code, output.trim()]).to.deep.equal([1, "test/plugins/actions/half-made.test.ts exists already."])
    expect(readFileSync(test, "utf8")).to.equal("// mine\n")
    expect(existsSync(join(repository.root, "plugins/actions/half-made"))).to.equal(false)
  })

  it("is for projects, and a project is made in an empty folder", async () => {
    const elsewhere = new User(repository.folder)
    const lost = await elsewhere.run(process.execPath, "millrace/core/millrace.js", "new", "action", "lost")
    expect([lost.code, lost.output]).to.deep.equal([
      1,
      `${repository.folder} is not a Millrace project: its package.json must name millrace among its dependencies. \`millrace init DIR\` creates one.\n`,
    ])
    const full = await millrace("init", "plugins")
    expect(full.code).to.equal(1)
    expect(full.output.trim()).to.match(/plugins is not empty: a project is created in a new folder\..*`millrace new`/)
    for (const path of ["package.json", "package.json/below/it"]) {
      const { code, output } = await millrace("init", path)
      expect([code, output.trim().split("\n").length], output).to.deep.equal([1, 1])
      expect(output).to.include("there is a file in its place")
    }
    const result = await millrace("init", "../other", "--package", "^9.9.9")
    expect(result.code, result.output).to.equal(0)
    expect(JSON.parse(readFileSync(join(repository.folder, "other/package.json"), "utf8")))
      .to.deep.include({ name: "other" })
      .and.to.have.nested.property("dependencies.millrace", "^9.9.9")
  })
})
