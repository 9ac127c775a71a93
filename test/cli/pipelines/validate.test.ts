// `millrace pipelines validate`: every mistake at its line, in every format, without a service.
import { readdirSync, readFileSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "../../import-graph.ts"
import { CommandFolder } from "./command.ts"

const twelve = `name: Twelve mistakes
state: activ
sorce_kind: browser_form
auth_mode: hmac_sha265
request_schema: { type: objekt }
pipeline:
  - id: save
    type: dataset.wirte
  - id: row
    type: dataset.write
    dataset_slug: leads
    key: email
    wehn: event.budget
  - type: email.send
    needs: [sav]
    to: not an address
    heading: "{{ event.name | upcas }}"
  - type: live.broadcast
    channel: executions
  - type: respond
    status: 204
    body: { id: "{{ steps.rwo.row_id }}" }
`

/** Rule and line of each mistake. */
const mistakes = [
  ["invalid-field", 2],
  ["unknown-field", 3],
  ["unknown-auth-mode", 4],
  ["invalid-schema", 5],
  ["unknown-action", 8],
  ["unknown-field", 13],
  ["unknown-need", 15],
  ["invalid-field", 16],
  ["invalid-template", 17],
  ["reserved-channel", 19],
  ["body-without-status", 22],
  ["reads-non-ancestor", 22],
] as const

interface Report {
  readonly ok: boolean
  readonly errors: number
  readonly files: readonly {
    readonly path: string
    readonly findings: readonly { rule: string; line: number; column: number; message: string; frame: string }[]
  }[]
}

describe("pipelines validate", () => {
  let folder: CommandFolder
  beforeEach(() => {
    folder = new CommandFolder()
  })
  afterEach(() => folder.remove())

  it("finds every mistake at its own line, guesses what was meant, and leaves nothing behind", async () => {
    folder.write("pipelines/twelve.yaml", twelve)
    const { code, output } = await folder.run(["validate", "--format", "json"])
    expect(code).to.equal(1)
    const report = JSON.parse(output) as Report
    const matches = report.files[0]?.findings ?? []
    // Twelve mistakes, twelve findings.
    expect(matches.map(({ rule, line }) => [rule, line])).to.deep.equal(mistakes)
    const text = matches.map(({ message }) => message).join("\n")
    for (const meant of ["active", "source_kind", "object", "hmac_sha256", "dataset.write", "when", "save", "row", "upcase"])
      expect(text, meant).to.include(`"${meant}"`)
    expect(readdirSync(folder.path)).to.deep.equal(["pipelines"])
  })

  it("shows people the line, with a mark below the place", async () => {
    folder.write("one.yaml", "name: One\npipeline:\n  - type: dataset.wirte\n    dataset_slug: leads\n")
    const { code, output } = await folder.run(["validate", "one.yaml"])
    expect(code).to.equal(1)
    expect(output).to.match(
      /^one\.yaml:3:5 error unknown-action\n {2}The action type "dataset\.wirte" does not exist\. Did you mean "dataset\.write"\?/,
    )
    expect(output).to.include("> 3 |   - type: dataset.wirte\n      |     ^")
    expect(output).to.include("1 file, 1 error, 0 warnings")
  })

  it("writes SARIF and GitHub's commands", async () => {
    folder.write("one.yaml", "name: One\npipelnie: []\nstate: activ\n")
    const [sarif, github] = await Promise.all([
      folder.run(["validate", "one.yaml", "--format", "sarif", "--output", "out.sarif"]),
      folder.run(["validate", "one.yaml", "--format", "github"]),
    ])
    expect([sarif.code, sarif.output, github.code]).to.deep.equal([1, "", 1])
    expect(github.output).to.match(/^::error file=one\.yaml,line=2,col=1,title=unknown-field::A pipeline has no field "pipelnie"/m)
    const log = JSON.parse(readFileSync(join(folder.path, "out.sarif"), "utf8")) as {
      version: string
      runs: {
        tool: { driver: { rules: { id: string }[] } }
        results: { ruleId: string; level: string; ruleIndex: number; locations: object[] }[]
      }[]
    }
    const [run] = log.runs
    expect(log.version).to.equal("2.1.0")
    expect(run?.results.map(({ ruleId }) => ruleId).sort()).to.deep.equal(["invalid-field", "unknown-field"])
    for (const { ruleId, ruleIndex } of run?.results ?? []) expect(run?.tool.driver.rules[ruleIndex]?.id).to.equal(ruleId)
    const places = run?.results.map(({ locations }) => locations[0])
    expect(JSON.stringify(places)).to.include('"startLine":2').and.include('"uri":"one.yaml"')
  })

  it("ends with 0 where nothing is wrong, warnings included, and takes the shipped pipelines", async () => {
    folder.write("warned.yaml", "name: Warned\npipeline:\n  - { type: respond, body: 1 }\n  - { type: respond, body: 2 }\n")
    const [warned, shipped] = await Promise.all([
      folder.run(["validate", "warned.yaml"]),
      folder.run(["validate", join(projectRoot, "pipelines")]),
    ])
    expect(warned.code).to.equal(0)
    expect(warned.output).to.include("warning multiple-responds").and.include("0 errors, 1 warning")
    expect(shipped.code, shipped.output).to.equal(0)
    expect(shipped.output).to.match(/^6 files, 0 errors/m)
  })

  it("warns of leads that files beside each other put into several datasets", async () => {
    const capture = (name: string, dataset: string, key = "email", state = "active") =>
      `name: ${name}\nstate: ${state}\npipeline:\n  - type: dataset.write\n    dataset_slug: ${dataset}\n    key: ${key}\n`
    folder.write("a.yaml", capture("Form", "leads"))
    folder.write("b.yaml", capture("Chat", "acme.leads-2"))
    folder.write("c.yaml", capture("Same", "acme.leads"))
    folder.write("d.yaml", capture("Asleep", "others", "email", "disabled"))
    folder.write("e.yaml", capture("Orders", "orders", "number"))
    const { code, output } = await folder.run(["validate", "--format", "json", "a.yaml", "b.yaml", "c.yaml", "d.yaml"])
    const { files } = JSON.parse(output) as Report
    expect(code).to.equal(0)
    const matches = files.flatMap(({ path, findings }) => findings.map(({ rule, line, message }) => ({ path, rule, line, message })))
    expect(matches.map(({ path, rule, line }) => [path, rule, line])).to.deep.equal(
      ["a.yaml", "b.yaml", "c.yaml"].map((path) => [path, "split-leads-dataset", 5]),
    )
    expect(matches[0]?.message).to.include('"chat" to leads-2').and.include("collision suffix").and.not.include('"same"')
    expect(matches.map(({ message }) => message).join()).to.not.include('"asleep" to')
    const single = await folder.run(["validate", "a.yaml", "c.yaml", "d.yaml", "--format", "json"])
    expect((JSON.parse(single.output) as Report).files.flatMap(({ findings }) => findings)).to.deep.equal([])
  })

  it("refuses two files of one slug, a file that is not there, and text that is not YAML", async () => {
    folder.write("a.yaml", "name: Lead\n")
    folder.write("b.yaml", "name: lead\nslug: lead\n")
    folder.write("c.yaml", "state: [active\n")
    const [twins, missing, syntax] = await Promise.all([
      folder.run(["validate", "a.yaml", "b.yaml"]),
      folder.run(["validate", "none.yaml"]),
      folder.run(["validate", "c.yaml"]),
    ])
    expect(twins.code).to.equal(1)
    expect(twins.output).to.include('b.yaml:2:1 error invalid-field\n  The slug "lead" is that of a.yaml already')
    expect([missing.code, missing.output.trim()]).to.deep.equal([1, "The file or folder none.yaml does not exist."])
    expect(syntax.code).to.equal(1)
    expect(syntax.output).to.include("error invalid-syntax")
    for (const { output } of [twins, missing, syntax]) expect(output).to.not.match(/\n {4}at /)
  })

  it("leaves out the tests that a shell's pipelines/*.yaml names", async () => {
    folder.write("pipelines/one.yaml", "name: One\nauth_mode: none\n")
    folder.write("pipelines/one.test.yaml", "pipeline: one.yaml\n")
    const [both, tests] = await Promise.all([
      folder.run(["validate", "pipelines/one.test.yaml", "pipelines/one.yaml"]),
      folder.run(["validate", "pipelines/one.test.yaml"]),
    ])
    expect(both.code, both.output).to.equal(0)
    expect(both.output).to.match(/^1 file, 0 errors/m)
    expect([tests.code, tests.output.includes("millrace pipelines test")]).to.deep.equal([2, true])
  })

  it("leaves out names that begin with a dot: an editor's lock, what a Mac keeps beside a file", async () => {
    folder.write("pipelines/y.yaml", "name: Y\nauth_mode: none\n")
    folder.write("pipelines/._y.yaml", "\0\u0005\u0016\u0007")
    symlinkSync("me@host.1:2", join(folder.path, "pipelines/.#y.yaml"))
    const { code, output } = await folder.run(["validate"])
    expect([code, output]).to.deep.equal([0, "1 file, 0 errors, 0 warnings\n"])
  })

  it("refuses what is not UTF-8, and takes a byte order mark", async () => {
    const text = "name: Grüße\nauth_mode: none\n"
    folder.write("latin.yaml", Buffer.from(text, "latin1"))
    folder.write("wide.yaml", Buffer.from(`\uFEFF${text}`, "utf16le"))
    folder.write("bare.yaml", Buffer.from(text, "utf16le"))
    folder.write("marked.yaml", `\uFEFF${text}`)
    const ran = await Promise.all(["latin", "wide", "bare"].map((name) => folder.run(["validate", `${name}.yaml`])))
    for (const { code, output } of ran) {
      expect(code, output).to.equal(2)
      expect(output).to.match(/^\w+\.yaml cannot be read\. The file is not valid UTF-8\. .*\n$/)
    }
    const marked = await folder.run(["validate", "marked.yaml"])
    expect([marked.code, marked.output]).to.deep.equal([0, "1 file, 0 errors, 0 warnings\n"])
  })

  it("ends with 2 where there is no pipeline to validate, and says which files it did not take", async () => {
    folder.write("pipelines/crm/x.yaml", "name: X\n")
    folder.write("pipelines/z.YAML", "name: Z\n")
    folder.write("pipelines/bodies/event.json", "{}")
    folder.write("pipelines/notes/read.me", "")
    folder.write("pipelines/y.test.yaml", "pipeline: y.yaml\n")
    const notes = [
      "Not taken: pipelines/crm (subfolders are not searched).\n",
      "Not taken: pipelines/z.YAML (the extension must be .yaml, .yml or .json, in lower case).\n",
    ]
    const [all, result] = await Promise.all([folder.run(["validate"]), folder.run(["validate", "pipelines/notes"])])
    expect([all.code, all.output]).to.deep.equal([2, [...notes, "No pipeline files are in pipelines.\n"].join("")])
    expect([result.code, result.output]).to.deep.equal([2, "No pipeline files are in pipelines/notes.\n"])
    folder.write("pipelines/y.yaml", "name: Y\nauth_mode: none\n")
    const output = await folder.run(["validate"])
    expect([output.code, output.output.includes("1 file, 0 errors")], output.output).to.deep.equal([0, true])
    for (const note of notes) expect(output.output.split(note)).to.have.length(2)
  })

  it("says in a line where a report cannot be written, and what cannot be read", async () => {
    folder.write("one.yaml", "name: One\nauth_mode: none\n")
    folder.write("odd/folder.yaml/inside", "")
    const [report, odd] = await Promise.all([
      folder.run(["validate", "one.yaml", "--output", "none/out.txt"]),
      folder.run(["validate", "odd"]),
    ])
    expect([report.code, report.output.trim()]).to.deep.equal([
      2,
      "The report cannot be written to none/out.txt: ENOENT: no such file or directory, open 'none/out.txt'",
    ])
    expect(odd.code).to.equal(2)
    expect(odd.output.trim()).to.match(/^odd\/folder\.yaml cannot be read: it is a folder; name a file in it\.$/)
  })
})
