// `millrace pipelines run` and `graph`: an event's effects stage by stage, and the steps before and after the reply.
import { createHmac } from "node:crypto"
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

  it("says why a step was skipped", async () => {
    folder.write(
      "skip.yaml",
      'name: Skip\nauth_mode: none\npipeline:\n  - { id: quiet, type: respond, when: "event.n > 5", body: { a: 1 } }\n',
    )
    folder.write("event.json", '{"n":4}')
    const { output } = await folder.run(["run", "skip.yaml", "--event", "event.json"])
    expect(output).to.match(/- quiet +respond +skipped .* its `when` is false$/m)
  })

  it("shows of the transform only what it did, not what the journal hides", async () => {
    folder.write(
      "session.yaml",
      "name: Session\nauth_mode: none\ntransform_js: 'function transform(event) { return { token: event.token, id: event.id * 2 } }'\npipeline: []\n",
    )
    folder.write("event.json", '{"token":"abc123","id":4}')
    const { code, output } = await folder.run(["run", "session.yaml", "--event", "event.json"])
    expect(code, output).to.equal(0)
    expect(output)
      .to.include("- id: 4")
      .and.include("+ id: 8")
      .and.match(/^ {6}token: "\[redacted\]"$/m)
    expect(output)
      .to.not.include("abc123")
      .and.not.match(/[-+] token/)
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

describe("pipelines run, what is given", () => {
  let folder: CommandFolder
  beforeEach(() => {
    folder = new CommandFolder()
  })
  afterEach(() => folder.remove())

  const stars = join(projectRoot, "pipelines/github-stars.yaml")
  const body = '{"action":"created","sender":{"login":"ada"},"repository":{"full_name":"a/b"}}'
  const captured = (secret: string) =>
    JSON.stringify({
      method: "POST",
      url: "/v1/inbound/x?from=hub",
      headers: {
        "X-Hub-Signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
        "x-github-event": "star",
        "x-github-delivery": "one",
        "content-type": "application/json",
      },
      body,
    })

  it("holds a captured request against the document's own secret, and says when that is not set", async () => {
    folder.write("captured.json", captured("the-real-secret-of-hub"))
    const [right, wrong, unset] = await Promise.all([
      folder.run(["run", stars, "--event", "captured.json"], { GITHUB_WEBHOOK_SECRET: "the-real-secret-of-hub" }),
      folder.run(["run", stars, "--event", "captured.json"], { GITHUB_WEBHOOK_SECRET: "another-secret-of-hub" }),
      folder.run(["run", stars, "--event", "captured.json"]),
    ])
    expect(right.code, right.output).to.equal(0)
    expect(right.output).to.match(/verdict +verified/)
    expect(wrong.code).to.equal(1)
    expect(wrong.output)
      .to.match(/verdict +wrong_secret/)
      .and.not.include("is not set")
    expect(unset.code).to.equal(1)
    expect(unset.output).to.include("GITHUB_WEBHOOK_SECRET is not set")
    for (const { output } of [right, wrong, unset]) expect(output).to.not.include("the-real-secret-of-hub")
  })

  it("signs what carries no signature, with any secret of the document", async () => {
    const { headers, ...rest } = JSON.parse(captured("the-real-secret-of-hub")) as { headers: Record<string, string> }
    const { "X-Hub-Signature-256": _, ...unsigned } = headers
    folder.write("unsigned.json", JSON.stringify({ ...rest, headers: unsigned }))
    const { code, output } = await folder.run(["run", stars, "--event", "unsigned.json"], {
      GITHUB_WEBHOOK_SECRET: "the-real-secret-of-hub",
    })
    expect(code, output).to.equal(0)
  })

  it("keeps the query of a relative URL, and the captured method", async () => {
    const echo = 'name: Echo\nauth_mode: none\npipeline: [{ type: respond, body: { from: "{{ query.from }}" } }]\n'
    folder.write("echo.yaml", echo)
    folder.write("captured.json", JSON.stringify({ method: "put", url: "/x?from=hub", headers: {}, body: "{}" }))
    const { output } = await folder.run(["run", "echo.yaml", "--event", "captured.json"])
    expect(output)
      .to.match(/received +PUT/)
      .and.match(/answered +200 \{"from":"hub"\}/)
  })

  it("takes a lone text as `body` for a field of the body, and --body for a body in any form", async () => {
    folder.write(
      "say.yaml",
      'name: Say\nauth_mode: none\npipeline: [{ type: respond, body: { said: "{{ event.body }}", all: "{{ payload | json }}" } }]\n',
    )
    folder.write("plain.json", '{"body":"Hello"}')
    folder.write("like-an-event.json", '{"body":{"a":1},"headers":{}}')
    const [plain, forced, event] = await Promise.all([
      folder.run(["run", "say.yaml", "--event", "plain.json"]),
      folder.run(["run", "say.yaml", "--body", "like-an-event.json"]),
      folder.run(["run", "say.yaml", "--event", "like-an-event.json"]),
    ])
    expect(plain.output).to.include('"said":"Hello"').and.include("the file is the body")
    expect(forced.output).to.include('\\"headers\\"')
    expect(event.output).to.include('{\\"a\\":1}').and.not.include("the file is the body")
  })

  it("says in one line what cannot be read, and ends with 2", async () => {
    folder.write("demo.yaml", "name: Demo\nauth_mode: none\n")
    folder.write("event.json", "{}")
    folder.write("lost.json", '{"body_file":"nope.bin"}')
    folder.write("empty.json", "\n")
    const cases: [string[], string][] = [
      [["graph", "nope.yaml"], "nope.yaml cannot be read: the file does not exist."],
      [["graph", "."], ". cannot be read: it is a folder; name a file in it."],
      [["run", "nope.yaml", "--event", "event.json"], "nope.yaml cannot be read: the file does not exist."],
      [["run", "demo.yaml", "--event", "nope.json"], "nope.json cannot be read: the file does not exist."],
      [
        ["run", "demo.yaml", "--event", "empty.json"],
        "empty.json holds no event. Write {} for an empty object; --body sends a file unchanged.",
      ],
      [["run", "demo.yaml", "--event", "lost.json"], "nope.bin cannot be read: the file does not exist."],
      [
        ["run", "demo.yaml", "--event", "event.json", "--clock", "tomorrow"],
        '--clock takes an RFC 3339 time, such as 2026-01-15T09:30:00Z, not "tomorrow".',
      ],
      [["run", "demo.yaml"], "Give one event: --event FILE, --body FILE, or --from-execution ID."],
    ]
    for (const [args, message] of cases) {
      const { code, output } = await folder.run(args)
      expect([code, output.trim()]).to.deep.equal([2, message])
    }
  })

  it("says of calls that their answers are made up", async () => {
    folder.write(
      "call.yaml",
      "name: Call\nauth_mode: none\npipeline:\n  - { id: ask, type: http.request, url: https://a.example.com/x, await: true }\n",
    )
    folder.write("event.json", "{}")
    const [result, json] = await Promise.all([
      folder.run(["run", "call.yaml", "--event", "event.json"]),
      folder.run(["run", "call.yaml", "--event", "event.json", "--json"]),
    ])
    expect(result.output).to.match(/ask +http\.request +done .*\(made up: nothing was sent\)/)
    expect(result.output).to.match(/would call +POST https:\/\/a\.example\.com\/x.* -> 200 \{\} \(made up/)
    expect(JSON.parse(json.output)).to.have.property("made_up")
  })

  it("shows the values of every row, however many there are", async () => {
    folder.write(
      "many.yaml",
      'name: Many\nauth_mode: none\npipeline: [{ id: save, type: dataset.write, dataset_slug: rows, key: n, for_each: event.list, row: { n: "{{ item }}" } }]\n',
    )
    folder.write("event.json", JSON.stringify({ list: Array.from({ length: 230 }, (_, n) => n) }))
    const { output } = await folder.run(["run", "many.yaml", "--event", "event.json", "--json"])
    const { rows } = JSON.parse(output) as { rows: { values: { n?: number } }[] }
    expect(rows.map(({ values }) => values.n)).to.deep.equal(Array.from({ length: 230 }, (_, n) => n))
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
    expect(after).to.match(/after the reply\n {2}tell_sales +email\.send +after save; conditional; continues when it fails/)
    expect(drawn.output)
      .to.match(/^flowchart TD/)
      .and.include('subgraph after["after the reply"]\n    s_tell_sales')
      .and.include("s_save --> s_tell_sales")
      .and.include("s_respond_1 --> reply")
  })

  it("says on which side of the reply a handler runs, and for which steps", async () => {
    folder.write(
      "handled.yaml",
      `name: Handled
auth_mode: none
pipeline:
  - { id: save, type: dataset.write, dataset_slug: rows, key: id, on_error: note }
  - { id: tell, type: email.send, to: a@example.com, heading: Hi, on_error: cry }
handlers:
  note: { type: live.broadcast, channel: failures }
  cry: { type: live.broadcast, channel: tears }
`,
    )
    const [text, drawn] = await Promise.all([
      folder.run(["graph", "handled.yaml"]),
      folder.run(["graph", "handled.yaml", "--format", "mermaid"]),
    ])
    const [, handlers = ""] = text.output.split("when a step fails\n")
    expect(handlers)
      .to.match(/note +live\.broadcast +before the reply, when save fails/)
      .and.match(/cry +live\.broadcast +after the reply, when tell fails/)
      .and.not.include("at once")
    expect(drawn.output).to.include("live.broadcast<br/>(after the reply)")
  })

  it("reports what does not compile instead", async () => {
    folder.write("bad.yaml", "name: Bad\npipelnie: []\n")
    const { code, output } = await folder.run(["graph", "bad.yaml"])
    expect(code).to.equal(1)
    expect(output).to.include("bad.yaml:2:1 error unknown-field")
  })
})
