// `millrace pipelines run` and `graph`: what an event would do, stage by stage, and the steps on both sides of the reply.
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "../../import-graph.ts"
import { CommandFolder } from "./command.ts"

const website = join(projectRoot, "pipelines/website-lead.yaml")

describe("pipelines run", () => {
  let folder: CommandFolder
  beforeEach(() => {
    folder = new CommandFolder()
  })
  afterEach(() => folder.remove())

  it("shows each stage of an event with its time, and what would leave the service", async () => {
    folder.write("lead.json", '{"email":"ADA@example.com","name":"Ada","budget":"5000"}')
    const { code, output } = await folder.run(["run", website, "--event", "lead.json", "--clock", "2026-02-03T04:05:06Z"])
    expect(code, output).to.equal(0)
    const stages = output.split("\n").flatMap((line) => /^ {2}(\S+(?: \w+)?) {2,}/.exec(line)?.[1] ?? [])
    expect(stages).to.deep.equal([
      "received",
      "verdict",
      "schema",
      "transform",
      "steps",
      "would write",
      "would mail",
      "would tell",
      "answered",
      "journal",
    ])
    expect(output).to.include("- email: ADA@example.com").and.include("+ email: ada@example.com")
    expect(output).to.match(/✓ save +dataset\.write +done [\d.]+ ms/)
    expect(output).to.match(/would mail +sales@example\.com {2}"New lead from Ada"/)
    expect(output).to.match(/answered +201 \{"ok":true,"row_id":"[0-9a-f-]{36}"\}/)
  })

  it("says where an event is refused, and ends with 1", async () => {
    folder.write("lead.json", '{"name":"Ada"}')
    folder.write(
      "forged.yaml",
      "signed: { secret: another }\nbody: { action: created }\nheaders: { x-github-event: star, x-github-delivery: one }\n",
    )
    const [schema, forged, json] = await Promise.all([
      folder.run(["run", website, "--event", "lead.json"]),
      folder.run(["run", join(projectRoot, "pipelines/github-stars.yaml"), "--event", "forged.yaml"]),
      folder.run(["run", website, "--event", "lead.json", "--json"]),
    ])
    expect([schema.code, forged.code, json.code]).to.deep.equal([1, 1, 1])
    expect(schema.output)
      .to.match(/schema +does not fit/)
      .and.match(/answered +400/)
    expect(forged.output)
      .to.match(/verdict +wrong_secret: /)
      .and.match(/answered +401/)
    expect(forged.output).to.not.include("would write")
    expect((JSON.parse(json.output) as { entry: { status: string } }).entry.status).to.equal("rejected")
  })
})

describe("pipelines graph", () => {
  const folder = new CommandFolder()
  after(() => folder.remove())

  it("shows what is before and after the reply, as text and as Mermaid", async () => {
    const [text, drawn] = await Promise.all([folder.run(["graph", website]), folder.run(["graph", website, "--format", "mermaid"])])
    expect([text.code, drawn.code]).to.deep.equal([0, 0])
    const [before = "", after = ""] = text.output.split("commit and reply")
    expect(before)
      .to.match(/before the reply\n {2}save +dataset\.write +at once/)
      .and.not.include("tell_sales")
    expect(after).to.match(/after the reply\n {2}tell_sales +email\.send +after save; conditional; goes on when it fails/)
    expect(drawn.output)
      .to.match(/^flowchart TD/)
      .and.include('subgraph after["after the reply"]\n    s_tell_sales')
      .and.include("s_save --> s_tell_sales")
      .and.include("s_respond_1 --> reply")
  })

  it("reports what does not compile instead", async () => {
    folder.write("bad.yaml", "name: Bad\npipelnie: []\n")
    const { code, output } = await folder.run(["graph", "bad.yaml"])
    expect(code).to.equal(1)
    expect(output).to.include("bad.yaml:2:1 error unknown-field")
  })
})
