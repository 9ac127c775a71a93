// `plan`, `apply` and `run --from-execution` against a running service.
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { CommandFolder } from "./command.ts"

const lead = (status: number, extra = "") => `name: Lead
state: active
auth_mode: none
transform_js: |
  function transform(event) { return { email: event.email.toLowerCase(), budget: event.budget } }
pipeline:
  - { id: save, type: dataset.write, dataset_slug: leads, key: email }
  - { id: tell, type: email.send, when: event.budget >= 100, to: sales@example.com, heading: A lead }
${extra}  - { type: respond, status: ${status}, body: { ok: true } }
`

interface Wire {
  readonly slug: string
  readonly state: string
  readonly revision: number
  readonly inbound_url: string
}

describe("pipelines against a running service", () => {
  let host: TestHost
  let folder: CommandFolder
  let env: Record<string, string>
  before(async () => {
    host = await testHost({ capture: true })
  })
  after(() => host.stop())
  beforeEach(async () => {
    folder = new CommandFolder()
    env = { MILLRACE_URL: host.url, MILLRACE_KEY: host.adminKey }
  })
  afterEach(() => folder.remove())

  const pipelines = async () => (await host.api<{ event_pipelines: Wire[] }>("GET", "/v1/event-pipelines")).body.event_pipelines
  const lead_ = async () => (await host.api<Wire>("GET", "/v1/event-pipelines/lead")).body

  it("plans, applies, applies nothing twice, and replays what came through what would be", async () => {
    folder.write("pipelines/lead.yaml", lead(200))
    const planned = await folder.run(["plan"], env)
    expect([planned.code, planned.output]).to.deep.equal([0, "+ create     lead  pipelines/lead.yaml\n1 to create\n"])
    expect(planned.service).to.equal(`${host.url} (as given)`)
    expect(await pipelines()).to.deep.equal([])
    const applied = await folder.run(["apply"], env)
    expect([applied.code, applied.output]).to.deep.equal([0, "+ created    lead  pipelines/lead.yaml\n1 created\n"])
    const wire = await lead_()
    const again = await folder.run(["apply"], env)
    expect([again.code, again.output]).to.deep.equal([0, "1 unchanged\n"])
    expect((await lead_()).revision).to.equal(wire.revision)

    for (const budget of [50, 150, 500]) expect((await host.send(wire, { email: `B${budget}@example.com`, budget })).status).to.equal(200)
    folder.write("pipelines/lead.yaml", lead(200).replace(">= 100", ">= 200"))
    const replayed = await folder.run(["plan", "--replay", "100"], env)
    expect(replayed.code).to.equal(0)
    expect(replayed.output)
      .to.include("~ change     lead")
      .and.include("-   when: event.budget >= 100")
      .and.include("+   when: event.budget >= 200")
    expect(replayed.output).to.include("lead: 1 of 3 replayed events would differ")
    expect(replayed.output).to.match(/-\s+to: sales@example\.com/)
    expect(
      await host.api("GET", "/v1/event-pipelines/lead/executions").then(({ body }) => (body["executions"] as object[]).length),
    ).to.equal(3)
    expect((await lead_()).revision).to.equal(wire.revision)
  })

  it("replays more events than a page holds", async () => {
    const many = (body: string) => `name: Many\nstate: active\nauth_mode: none\npipeline: [{ type: respond, body: ${body} }]\n`
    folder.write("many.yaml", many("{ n: 1 }"))
    expect((await folder.run(["apply", "many.yaml"], env)).code).to.equal(0)
    const wire = (await host.api<Wire>("GET", "/v1/event-pipelines/many")).body
    const events = Array.from({ length: 230 }, (_, n) => n)
    const answers = await Promise.all(events.map((n) => host.send(wire, { n })))
    expect(answers.filter(({ status }) => status === 200)).to.have.length(230)
    folder.write("many.yaml", many("{ n: 2 }"))
    const [some, none] = await Promise.all([
      folder.run(["plan", "--replay", "210", "many.yaml"], env),
      folder.run(["plan", "--replay", "0", "many.yaml"], env),
    ])
    expect(some.output).to.include("many: 210 of 210 replayed events would differ")
    expect([none.code, none.output]).to.deep.equal([1, '--replay takes a number from 1 to 10000, not "0".\n'])
  })

  it("replays as many events as were asked for, also where refused ones came between them", async () => {
    const guarded = (n: number) =>
      `name: Guarded\nstate: active\nauth_mode: hmac_sha256\nauth_config: { secret: { from_env: GUARD } }\npipeline: [{ type: respond, body: { n: ${n} } }]\n`
    const own = { ...env, GUARD: "the-guards-secret" }
    folder.write("guarded.yaml", guarded(1))
    expect((await folder.run(["apply", "guarded.yaml"], own)).code).to.equal(0)
    const wire = (await host.api<Wire>("GET", "/v1/event-pipelines/guarded")).body
    for (const n of [1, 2, 3]) expect((await host.send(wire, { n }, { secret: "the-guards-secret" })).status).to.equal(200)
    for (const n of [4, 5, 6])
      expect((await host.send(wire, { n }, { headers: { "x-signature-256": `sha256=${n}` } })).status).to.equal(401)
    const { body } = await host.api("GET", "/v1/event-pipelines/guarded/executions")
    const refused = (body["executions"] as { status: string }[]).filter(({ status }) => status === "rejected").length
    folder.write("guarded.yaml", guarded(2))
    const two = await folder.run(["plan", "--replay", "2", "guarded.yaml"], own)
    expect(two.output).to.include(
      `guarded: 2 of 2 replayed events would differ (${refused + 2} scanned, ${refused} skipped without a stored payload)`,
    )
    const all = await folder.run(["plan", "--replay", "100", "--json", "guarded.yaml"], own)
    const { replayed } = JSON.parse(all.output) as { replayed: { events: number; scanned: number }[] }
    expect(replayed[0]).to.include({ events: 3, scanned: refused + 3 })
  })

  it("replays events with each digit of their long integers", async () => {
    const ids = (body: string) => `name: Ids\nstate: active\nauth_mode: none\npipeline: [{ type: respond, body: ${body} }]\n`
    folder.write("ids.yaml", ids("{ ok: true }"))
    expect((await folder.run(["apply", "ids.yaml"], env)).code).to.equal(0)
    const { inbound_url } = (await host.api<Wire>("GET", "/v1/event-pipelines/ids")).body
    const longs = ["9007199254740993", "-12345678901234567891"]
    for (const digits of longs) {
      const headers = { "content-type": "application/json" }
      expect((await fetch(inbound_url, { method: "POST", headers, body: `{"order":{"id":${digits}}}` })).status).to.equal(200)
    }
    folder.write("ids.yaml", ids('{ id: "{{ event.order.id }}" }'))
    const { output } = await folder.run(["plan", "--replay", "10", "--json", "ids.yaml"], env)
    for (const digits of longs) expect(output).to.include(`"${digits}"`)
  })

  it("shows what was changed on the server since, field by field, and goes over it only when forced", async () => {
    folder.write("pipelines/lead.yaml", lead(201))
    expect((await folder.run(["apply"], env)).code).to.equal(0)
    await host.api("PUT", "/v1/event-pipelines/lead", { name: "Renamed by hand" })
    const before = await lead_()
    folder.write("pipelines/lead.yaml", lead(202))
    const refused = await folder.run(["apply"], env)
    expect(refused.code).to.equal(1)
    expect(refused.output).to.match(/! It was changed on the server since the last apply \(revision \d+ was applied, the server has \d+\)/)
    expect(refused.output).to.include("name: Lead → Renamed by hand").and.include("Nothing was applied")
    expect(await lead_()).to.deep.equal(before)
    const forced = await folder.run(["apply", "--force"], env)
    expect([forced.code, forced.output.split("\n")[0]]).to.deep.equal([0, "~ changed    lead  pipelines/lead.yaml"])
    expect((await folder.run(["plan"], env)).output).to.equal("1 unchanged\n")
  })

  it("leaves nothing half done: one refused document keeps the others from being applied", async () => {
    folder.write("pipelines/lead.yaml", lead(200).replace("auth_mode: none", "auth_mode: hmac_sha256"))
    folder.write("pipelines/other.yaml", "name: Other\nauth_mode: none\n")
    const before = await pipelines()
    const { code, output } = await folder.run(["apply"], env)
    expect(code).to.equal(1)
    expect(output)
      .to.match(/! refused +lead/)
      .and.include("fixed at creation")
      .and.include("+ create     other")
    expect(await pipelines()).to.deep.equal(before)
    // The service also refuses it, for any caller.
    const document = { name: "Lead", state: "active", auth_mode: "hmac_sha256" }
    const answer = await host.api("POST", "/v1/event-pipelines/apply", {
      documents: [
        { path: "a", document },
        { path: "b", document: { name: "Other", auth_mode: "none" } },
      ],
    })
    expect([answer.status, (answer.body["details"] as { reason?: string }).reason]).to.deep.equal([400, "documents_refused"])
    expect(await pipelines()).to.deep.equal(before)
  })

  it("takes several applies at once: what wants the same ends as unchanged, and who is late twice is told so", async () => {
    const apply = (state: string) =>
      host.api<{ changes: { action: string }[]; code?: string; message?: string; details?: { reason: string } }>(
        "POST",
        "/v1/event-pipelines/apply",
        {
          documents: [{ path: "raced.yaml", document: { name: "Raced", state, auth_mode: "none" } }],
        },
      )
    for (const [state, action] of [
      ["active", "create"],
      ["disabled", "change"],
    ] as const) {
      const same = await Promise.all(Array.from({ length: 5 }, () => apply(state)))
      expect(same.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200])
      const actions = same.flatMap(({ body }) => body.changes.map((change) => change.action))
      expect(actions.sort()).to.deep.equal([action, "unchanged", "unchanged", "unchanged", "unchanged"])
    }
    const others = await Promise.all(Array.from({ length: 12 }, (_, n) => apply(["active", "proposed", "disabled"][n % 3] ?? "")))
    const late = others.filter(({ status }) => status !== 200)
    for (const { status, body } of late)
      expect([status, body.code, body.details?.reason, body.message]).to.deep.equal([
        409,
        "aborted",
        "stale_plan",
        "Nothing was applied: raced was changed concurrently; run apply again.",
      ])
    expect(late.length).to.be.below(12)
  })

  it("disables what no file has any more when all files are applied, and only then", async () => {
    folder.write("pipelines/gone.yaml", "name: Gone\nstate: active\nauth_mode: none\n")
    folder.write("pipelines/lead.yaml", lead(200))
    expect((await folder.run(["apply", "--force"], env)).code).to.equal(0)
    const commandFolder = new CommandFolder()
    try {
      commandFolder.write("pipelines/lead.yaml", lead(200))
      expect((await commandFolder.run(["apply", "pipelines/lead.yaml"], env)).output).to.equal("1 unchanged\n")
      expect((await pipelines()).find(({ slug }) => slug === "gone")?.state).to.equal("active")
      expect((await commandFolder.run(["apply"], env)).output).to.include("- disabled   gone  its file was removed")
      expect((await pipelines()).find(({ slug }) => slug === "gone")?.state).to.equal("disabled")
      expect((await commandFolder.run(["plan"], env)).output).to.equal("1 unchanged\n")
    } finally {
      commandFolder.remove()
    }
  })

  it("disables nothing for want of a folder, and everything only when forced to", async () => {
    folder.write("pipelines/kept.yaml", "name: Kept\nstate: active\nauth_mode: none\n")
    expect((await folder.run(["apply", "--force"], env)).code).to.equal(0)
    const [nowhere, empty] = [new CommandFolder(), new CommandFolder()]
    try {
      empty.write("pipelines/kept.test.yaml", "pipeline: kept.yaml\n")
      for (const command of ["plan", "apply", "validate"]) {
        const none = await nowhere.run([command], env)
        expect([none.code, none.output.includes("The folder pipelines does not exist here")], none.output).to.deep.equal([2, true])
      }
      const applied = (await pipelines()).filter(({ state }) => state !== "disabled")
      for (const command of ["plan", "apply"]) {
        const none = await empty.run([command], env)
        expect(none.code, none.output).to.equal(2)
        expect(none.output)
          .to.match(/would disable .*kept.*--force/)
          .and.not.include("- disable")
      }
      expect((await pipelines()).filter(({ state }) => state !== "disabled")).to.deep.equal(applied)
      const forced = await empty.run(["plan", "--force"], env)
      expect(forced.output).to.include("- disable    kept")
      expect((await empty.run(["apply", "--force"], env)).output).to.include("- disabled   kept")
    } finally {
      nowhere.remove()
      empty.remove()
    }
  })

  it("says in a line that what answers is not Millrace", async () => {
    const other = createServer((request, response) => {
      response.end(request.method === "POST" ? '{"ok":true}' : "<html>")
    })
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    folder.write("good.yaml", "name: Good\n")
    try {
      const ran = [
        await folder.run(["plan", "good.yaml", "--url", url], env),
        await folder.run(["apply", "good.yaml", "--url", url], env),
        await folder.run(["run", "good.yaml", "--from-execution", "0", "--url", url], env),
      ]
      for (const { code, output } of ran) {
        expect(code, output).to.equal(2)
        expect(output.trim()).to.match(/^\S+ does not respond like a Millrace service \(.*\): is the address right\?$/)
      }
    } finally {
      other.close()
    }
  })

  it("refuses what does not compile before it asks the service, and says which service it cannot reach", async () => {
    folder.write("bad.yaml", "name: Bad\npipelnie: []\n")
    folder.write("good.yaml", "name: Good\n")
    // A port without an assigned service, and outside the system's own range.
    const nobody = "http://127.0.0.1:2"
    const [bad, asJson, nowhere, nokey] = await Promise.all([
      folder.run(["apply", "bad.yaml"], { ...env, MILLRACE_URL: nobody }),
      folder.run(["plan", "bad.yaml", "--json"], { ...env, MILLRACE_URL: nobody }),
      folder.run(["plan", "good.yaml"], { ...env, MILLRACE_URL: nobody }),
      folder.run(["plan", "good.yaml"], { HOME: folder.path }),
    ])
    expect([bad.code, nowhere.code, nokey.code]).to.deep.equal([1, 1, 3])
    expect(bad.output).to.include("bad.yaml:2:1 error unknown-field")
    const { ok, files } = JSON.parse(asJson.output) as { ok: boolean; files: { findings: { rule: string }[] }[] }
    expect([asJson.code, ok, files[0]?.findings[0]?.rule]).to.deep.equal([1, false, "unknown-field"])
    expect(nowhere.output).to.include(`${nobody} cannot be reached (ECONNREFUSED)`)
    expect(nokey.output).to.include("millrace login").and.include("MILLRACE_KEY")
    for (const { output } of [bad, nowhere, nokey]) expect(output).to.not.match(/\n {4}at /)
    folder.write("aliases.yaml", `name: &a Aliases\nb: [${Array(2_000).fill("*a").join(", ")}]\n`)
    for (const command of ["validate", "plan", "apply"]) {
      const { code, output } = await folder.run([command, "aliases.yaml"], { ...env, MILLRACE_URL: nobody })
      expect([command, code]).to.deep.equal([command, 1])
      expect(output).to.include("aliases.yaml:2:").and.include("error invalid-syntax").and.include("at most 1000 aliases")
    }
  })

  it("warns before an apply of what the apply warns of, and refuses what its saving would", async () => {
    const capture = (name: string, dataset: string) =>
      `name: ${name}\nstate: active\nauth_mode: none\npipeline: [{ type: dataset.write, dataset_slug: ${dataset}, key: email }]\n`
    folder.write("one.yaml", capture("One capture", "captured"))
    folder.write("two.yaml", capture("Two capture", "captured-2"))
    folder.write("page.yaml", "name: Pageless\nauth_mode: none\nowner_artifact_id: 0190a7c4-1111-7000-8000-000000000000\n")
    expect((await folder.run(["apply", "one.yaml"], env)).code).to.equal(0)
    const before = await pipelines()
    const planned = await folder.run(["plan", "two.yaml", "--json"], env)
    const refused = await folder.run(["plan", "page.yaml"], env)
    expect(await pipelines()).to.deep.equal(before)
    const applied = await folder.run(["apply", "two.yaml", "--json"], env)
    const warningsOf = ({ output }: { output: string }) =>
      (JSON.parse(output) as { changes: { warnings: string[] }[] }).changes.flatMap(({ warnings }) => warnings)
    expect(warningsOf(planned).join()).to.include("split-leads-dataset")
    expect(warningsOf(planned)).to.deep.equal(warningsOf(applied))
    expect(refused.code, refused.output).to.equal(1)
    expect(refused.output)
      .to.match(/! refused +pageless/)
      .and.include("the page 0190a7c4")
  })

  it("runs a journalled event through a file, as it came", async () => {
    await host.api("POST", "/v1/event-pipelines", { name: "Taken", state: "active", auth_mode: "none", pipeline: [] })
    const { body } = await host.api<Wire>("GET", "/v1/event-pipelines/taken")
    const { body: answer } = await host.send<{ execution_id: string }>(body, { email: "Ada@Example.com", budget: 7 })
    folder.write("taken.yaml", lead(202).replace("name: Lead", "name: Taken"))
    const { code, output } = await folder.run(["run", "taken.yaml", "--from-execution", answer.execution_id], env)
    expect(code, output).to.equal(0)
    expect(output).to.include("- email: Ada@Example.com").and.include("+ email: ada@example.com").and.include("answered     202")
    expect(host.mails.filter(({ subject }) => subject === "Taken")).to.deep.equal([])
  })
})
