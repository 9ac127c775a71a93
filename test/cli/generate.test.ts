// Generated files: deterministic, complete, and detected when outdated.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Writable } from "node:stream"
import { Ajv2020 } from "ajv/dist/2020.js"
import formatsModule from "ajv-formats"
import { expect } from "chai"
import { parse } from "yaml"
import { type Declarations, loadDeclarations } from "../../core/bootstrap/plugins.ts"
import { checkGenerated, writeGenerated } from "../../core/cli/generate.ts"
import { generatedFiles } from "../../core/cli/generated-files.ts"
import { Actions } from "../../core/contract/action.ts"
import { AuthModes } from "../../core/contract/auth-mode.ts"
import { Operations } from "../../core/contract/operation.ts"
import { loadConfig } from "../../core/kernel/config.ts"
import { leaves } from "../../core/kernel/config-tree.ts"
import { projectRoot } from "../import-graph.ts"

const { config } = loadConfig({ defaults: join(projectRoot, "config/default.yaml"), env: {} })

describe("generated files", () => {
  let declarations: Declarations
  let texts: ReadonlyMap<string, string>
  const text = (path: string) => texts.get(join(projectRoot, path)) ?? ""
  before(async () => {
    declarations = await loadDeclarations({ config, root: projectRoot })
    texts = new Map((await generatedFiles(declarations)).map((generatedFile) => [generatedFile.file, generatedFile.text]))
  })

  it("are the same whenever they are made", async () => {
    const again = await generatedFiles(await loadDeclarations({ config, root: "/" }))
    expect(new Map(again.map((file) => [file.file, file.text]))).to.deep.equal(texts)
    expect([...texts.keys()].map((file) => file.replace(`${projectRoot}/`, "")).sort()).to.include.members([
      "config/api.txt",
      "config/pipeline.schema.json",
      "docs/reference/actions.md",
      "docs/reference/auth-modes.md",
      "docs/reference/operations.md",
      "docs/reference/settings.md",
      "plugins/people/email/template/parts.generated.json",
    ])
  })

  it("name every action, auth mode, operation and setting", () => {
    const { registry } = declarations
    const expectDescribed = (page: string, index: string, name: string) => {
      expect(text(`docs/reference/${page}`), name).to.match(new RegExp(`^#{1,2} ${name.replaceAll(".", "\\.")}$`, "m"))
      expect(text(`docs/reference/${index}`), name).to.include(`](${page}`)
    }
    for (const { type, examples } of registry.items(Actions)) {
      expectDescribed(`actions/${type}.md`, "actions.md", type)
      expect(text(`docs/reference/actions/${type}.md`).match(/^```yaml$/gm), type).to.have.length(examples.length)
    }
    for (const { mode, examples = [] } of registry.items(AuthModes)) {
      expectDescribed(`auth-modes/${mode}.md`, "auth-modes.md", mode)
      expect(examples, mode).not.to.have.length(0)
      expect(text(`docs/reference/auth-modes/${mode}.md`).match(/^```yaml$/gm), mode).to.have.length(examples.length)
    }
    for (const { name, examples = [] } of registry.items(Operations)) {
      const page = `operations/${name.split(".")[0]}.md`
      expectDescribed(page, "operations.md", name)
      for (const { title } of examples) if (title !== undefined) expect(text(`docs/reference/${page}`), name).to.include(title)
    }
    const settings = leaves(config)
    expect(settings.filter((path) => !text("docs/reference/settings.md").includes(`| \`${path}\` |`))).to.deep.equal([])
    const rows = text("docs/reference/settings.md")
      .split("\n")
      .filter((line) => /^\| `[a-z_.]+` \|.*\| `[A-Z_]+` \|/.test(line))
    expect(rows.filter((row) => row.endsWith("|  |"))).to.deep.equal([])
  })

  it("describe every field of a pipeline's document and of its tests", () => {
    for (const name of ["pipeline", "tests"]) {
      const rows = text(`docs/reference/${name}.md`)
        .split("\n")
        .filter((line) => /^\| `[a-z_]+` \|/.test(line))
      expect(
        rows.filter((row) => row.endsWith("|  |")),
        name,
      ).to.deep.equal([])
    }
    const isTold = (page: string, word: string) => [`| \`${word}\` |`, `| \`{ ${word}:`].some((cell) => text(page).includes(cell))
    for (const word of ["dedupe", "handlers", "request_schema", "window", "max_attempts"])
      expect(isTold("docs/reference/pipeline.md", word), word).to.equal(true)
    for (const word of ["answers", "json", "integrations", "fails", "after", "only", "clock", "$any", "$contains", "$exactly"])
      expect(isTold("docs/reference/tests.md", word), word).to.equal(true)
  })

  it("hold nothing that depends on the machine", () => {
    for (const [file, created] of texts)
      expect(created, file)
        .to.not.include(projectRoot)
        .and.not.match(/\[object Object\]|undefined \|/)
  })

  it("give editors a schema that takes the shipped pipelines and refuses what is mistyped", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    formatsModule.default(ajv)
    const check = ajv.compile(JSON.parse(text("config/pipeline.schema.json")) as object)
    const files = readdirSync(join(projectRoot, "pipelines")).filter((name) => /\.yaml$/.test(name) && !name.includes(".test."))
    expect(files).to.include("website-lead.yaml")
    for (const name of files) {
      const document = parse(readFileSync(join(projectRoot, "pipelines", name), "utf8")) as { pipeline: Record<string, unknown>[] }
      expect(check(document), `${name}: ${ajv.errorsText(check.errors)}`).to.equal(true)
      expect(check({ ...document, pipelnie: [] }), name).to.equal(false)
      expect(check({ ...document, pipeline: [{ type: "dataset.wriet", dataset_slug: "x" }] }), name).to.equal(false)
      expect(check({ ...document, pipeline: [{ type: "dataset.write", dataset_slgu: "x" }] }), name).to.equal(false)
    }
  })

  describe("on disk", () => {
    let folder: string
    const messages: string[] = []
    const stream = new Writable({
      write(chunk: Buffer, _encoding, callback) {
        messages.push(chunk.toString().trimEnd())
        callback()
      },
    })
    const terminal = { env: {}, stdin: process.stdin, stdout: stream, stderr: stream }
    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), "millrace-generate-"))
      messages.length = 0
    })
    afterEach(() => rmSync(folder, { recursive: true }))

    it("are written where they differ, and only there", () => {
      const [first, second] = [
        { file: join(folder, "deep/one.md"), text: "1\n" },
        { file: join(folder, "other.md"), text: "2\n" },
      ]
      writeFileSync(second.file, "2\n")
      expect(writeGenerated([first, second], terminal)).to.equal(0)
      expect(messages).to.have.length(1)
      expect(messages[0]).to.match(/^wrote .*deep\/one\.md$/)
      expect(readFileSync(first.file, "utf8")).to.equal("1\n")
      expect([checkGenerated([first, second], terminal), messages.length]).to.deep.equal([0, 1])
    })

    it("are named when missing or not current, and then left as they are", () => {
      const files = ["missing.md", "stale.md", "current.md"].map((name) => ({ file: join(folder, name), text: "new\n" }))
      writeFileSync(join(folder, "stale.md"), "old\n")
      writeFileSync(join(folder, "current.md"), "new\n")
      expect(checkGenerated(files, terminal)).to.equal(1)
      expect(messages).to.have.length(2)
      expect(messages[0]).to.match(/missing\.md is missing; run `npm run generate`/)
      expect(messages[1]).to.match(/stale\.md is not current; run `npm run generate`/)
      expect(existsSync(join(folder, "missing.md"))).to.equal(false)
      expect(readFileSync(join(folder, "stale.md"), "utf8")).to.equal("old\n")
    })
  })
})
