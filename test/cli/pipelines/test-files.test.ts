// `millrace pipelines test`: the shipped tests pass, a wrong expectation has a readable report, and a test that cannot run is a
// failure.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "../../import-graph.ts"
import { finished, outputUntil } from "../../processes.ts"
import { expectWithin } from "../../tier.ts"
import { CommandFolder } from "./command.ts"

const pipeline = `name: Orders
auth_mode: shared_secret_header
pipeline:
  - id: look_up
    type: http.request
    await: true
    retry: { max_attempts: 2, initial_delay_ms: 1 }
    url: https://rates.example.com/latest
    body: { currency: "{{ event.currency }}" }
  - id: contact
    type: integration.call
    integration: crm
    path: /contacts
    body: { email: "{{ event.email }}" }
  - type: respond
    body: { rate: "{{ steps.look_up.body.rate }}" }
`

const tests = (rate: string) => `tests:
  - name: answers with the rate that another system gave at the second try, and tells the CRM
    http:
      - { method: POST, url: https://rates.example.com/latest, answers: [{ status: 503 }, { json: { rate: 1.25 } }] }
    integrations:
      crm: { base_url: https://crm.example.com/v1, headers: { authorization: Bearer crm-SECRET }, calls: [{ url: /contacts, answer: { status: 201, json: { id: 7 } } }] }
    event: { body: { email: ada@example.com, currency: eur } }
    expect:
      verdict: verified
      response: { status: 200, body: { $exactly: { rate: ${rate} } } }
      calls:
        - { url: https://rates.example.com/latest }
        - { url: https://rates.example.com/latest, body: { currency: eur } }
        - { method: POST, url: https://crm.example.com/v1/contacts, body: { email: ada@example.com }, headers: { authorization: Bearer crm-SECRET } }
      journal: { steps: { look_up: { attempts: 2 }, contact: { result: { status: 201 } } } }
  - name: fails when nothing answers
    event: { body: { currency: eur } }
    expect: { status: failed, response: { status: 500 }, rows: {}, journal: { error: { step: look_up } } }
`

describe("pipelines test", () => {
  let folder: CommandFolder
  beforeEach(() => {
    folder = new CommandFolder()
  })
  afterEach(() => folder.remove())

  it("passes the tests that ship, and every shipped pipeline has some", async () => {
    const shipped = join(projectRoot, "pipelines")
    const { code, output } = await folder.run(["test", shipped])
    expect(code, output).to.equal(0)
    const names = readdirSync(shipped)
    for (const name of names.filter((value) => !value.includes(".test.")).map((value) => value.replace(".yaml", ".test.yaml"))) {
      expect(names).to.include(name)
      expect(output).to.include(`${name} `)
    }
    const slowest = Math.max(...[...output.matchAll(/\.test\.yaml (\d+) ms/g)].map(([, time]) => Number(time)))
    expectWithin(8_000, slowest, "the slowest of the tests that ship")
    expect(readdirSync(folder.path)).to.deep.equal([])
  })

  it("answers calls from fixtures, retries included, and sends nothing anywhere", async () => {
    folder.write("pipelines/orders.yaml", pipeline)
    folder.write("pipelines/orders.test.yaml", tests("1.25"))
    const { code, output } = await folder.run(["test"])
    expect(code, output).to.equal(0)
    expect(output).to.include("2 passed")
  })

  it("runs a step that waits for approval as if it were approved", async () => {
    folder.write(
      "pipelines/thanks.yaml",
      `name: Thanks
auth_mode: none
pipeline:
  - { id: thank, type: email.send, gate: true, to: "{{ event.email }}", heading: "Thanks, {{ event.name }}" }
  - { id: told, type: http.request, needs: [thank], url: https://crm.example.com/thanked }
`,
    )
    folder.write(
      "pipelines/thanks.test.yaml",
      `tests:
  - name: thanks by mail, then tells the CRM
    http: [{ url: https://crm.example.com/thanked }]
    event: { body: { email: ada@example.com, name: Ada } }
    expect:
      status: accepted
      emails: [{ to: ada@example.com, subject: "Thanks, Ada" }]
      calls: [{ url: https://crm.example.com/thanked }]
      journal: { steps: { thank: { state: done, attempts: 1 } } }
`,
    )
    const { code, output } = await folder.run(["test"])
    expect(code, output).to.equal(0)
    expect(output).to.include("1 passed")
  })

  it("shows what differs, in the terminal and as JUnit, and ends with 1", async () => {
    folder.write("pipelines/orders.yaml", pipeline)
    folder.write("pipelines/orders.test.yaml", tests("1.5"))
    const { code, output } = await folder.run(["test", "--junit", "out.xml"])
    expect(code).to.equal(1)
    expect(output).to.match(/✗ answers with the rate .* pipelines\/orders\.test\.yaml:2\n/)
    expect(output).to.include("response.body: - expected, + seen\n").and.include("-   rate: 1.5").and.include("+ rate: 1.25")
    expect(output).to.include("1 passed, 1 failed")
    const xml = readFileSync(join(folder.path, "out.xml"), "utf8")
    expect(xml).to.match(/<testsuites tests="2" failures="1" errors="0" skipped="0">/)
    expect(xml).to.match(/<failure message="response\.body">[\s\S]*rate: 1\.25[\s\S]*<\/failure>/)
    expect(xml).to.match(/<testcase name="fails when nothing answers"[^>]*\/>/)
  })

  it("signs at another time than the event arrives, as replayed requests are", async () => {
    folder.write("old.yaml", "name: Old\nauth_mode: provider_signature\nauth_config: { provider: stripe }\n")
    const test = (at: string, verdict: string) =>
      `  - { name: ${verdict}, clock: "2026-01-15T09:30:00Z", event: { body: { id: evt_1 }, signed: { at: "${at}" } }, expect: { verdict: ${verdict} } }\n`
    folder.write("old.test.yaml", `tests:\n${test("2026-01-15T09:28:00Z", "verified")}${test("2026-01-15T08:30:00Z", "timestamp_too_old")}`)
    const { code, output } = await folder.run(["test", "old.test.yaml"])
    expect(code, output).to.equal(0)
    expect(output).to.include("2 passed")
  })

  it("ends with 2 where a file cannot be run, with the line: a mistyped test, a pipeline that does not compile, no file", async () => {
    folder.write("typo.yaml", "name: Typo\nauth_mode: none\n")
    folder.write("typo.test.yaml", "tests:\n  - name: One\n    event: { body: {} }\n    expect: { staus: accepted }\n")
    folder.write("broken.yaml", "name: Broken\nsteps: []\n")
    folder.write("broken.test.yaml", "tests: [{ name: One, event: { body: {} }, expect: { status: accepted } }]\n")
    folder.write("latin.yaml", Buffer.from("name: Grüße\nauth_mode: none\n", "latin1"))
    folder.write("latin.test.yaml", "tests: [{ name: One, event: { body: {} }, expect: { status: accepted } }]\n")
    const [typo, broken, latin, none] = await Promise.all([
      folder.run(["test", "typo.test.yaml"]),
      folder.run(["test", "broken.yaml"]),
      folder.run(["test", "latin.yaml"]),
      folder.run(["test"], { MILLRACE_PIPELINES_PATHS: "nowhere" }),
    ])
    expect(typo.code).to.equal(2)
    expect(typo.output)
      .to.match(/typo\.test\.yaml:4:\d+ error unknown-field/)
      .and.include('Did you mean "status"?')
    expect(broken.code).to.equal(2)
    expect(broken.output).to.include("broken.yaml:2:1 error unknown-field").and.include("1 file could not be run")
    expect([latin.code, latin.output.includes("The file is not valid UTF-8")], latin.output).to.deep.equal([2, true])
    expect([none.code, none.output.trim()]).to.deep.equal([2, "No *.test.yaml files to run."])
  })

  it("finds every mistake of a test file before it runs, with its line and without a stack", async () => {
    folder.write("m.yaml", "name: M\nauth_mode: none\npipeline: [{ type: respond, body: { said: hi } }]\n")
    folder.write(
      "m.test.yaml",
      `tests:
  - name: misspelt matcher
    event: { body: {} }
    expect: { response: { body: { said: { $contain: h } } } }
  - name: no pattern
    event: { body: {} }
    expect: { response: { body: { said: { $matches: "(" } } } }
  - name: no body
    event: { body_file: nope.bin }
    expect: { status: accepted }
  - name: no expectation
    event: { body: {} }
  - name: no such kind, in the second event
    events:
      - { event: { body: {} }, expect: { status: accepted } }
      - { event: { body: {} }, expect: { journal: { cause: { $any: strnig } } } }
  - name: nothing wrong, as it is exactly that
    event: { body: {} }
    expect: { response: { body: { said: { $exactly: { $contain: h } } } } }
`,
    )
    const { code, output } = await folder.run(["test", "m.test.yaml", "--junit", "out.xml"])
    expect(code, output).to.equal(2)
    const matches = [...output.matchAll(/m\.test\.yaml:(\d+):\d+ error ([\w-]+)/g)].map(([, line, rule]) => [Number(line), rule])
    expect(matches).to.deep.equal([
      [4, "unknown-field"],
      [7, "invalid-field"],
      [9, "invalid-field"],
      [11, "invalid-field"],
      [16, "invalid-field"],
    ])
    expect(output)
      .to.include('Did you mean "$contains"?')
      .and.include('The file "nope.bin" does not exist beside this one.')
      .and.include('Did you mean "string"?')
    const xml = readFileSync(join(folder.path, "out.xml"), "utf8")
    for (const text of [output, xml]) expect(text).to.not.match(/\bat \w.*\.[jt]s:\d+/)
  })

  it("takes datasets named with their organization, and refuses those of a second one", async () => {
    const write = (dataset: string) => `{ type: dataset.write, dataset_slug: ${dataset}, key: email }`
    const answer = '{ type: respond, body: { of: "{{ organization.slug }}" } }'
    folder.write("own.yaml", `name: Own\nauth_mode: none\npipeline: [${write("acme.leads")}, ${answer}]\n`)
    folder.write("two.yaml", `name: Two\nauth_mode: none\npipeline: [${write("acme.leads")}, ${write("rival.leads")}]\n`)
    const rows = (dataset: string) => `rows: { ${dataset}: [{ email: a@b.test }] }`
    const event = "event: { body: { email: a@b.test } }"
    folder.write(
      "own.test.yaml",
      `tests:\n  - { name: qualified, ${event}, expect: { ${rows("acme.leads")}, response: { body: { of: acme } } } }\n  - { name: plain, ${event}, expect: { ${rows("leads")} } }\n`,
    )
    folder.write("two.test.yaml", `tests:\n  - { name: refused, ${event}, expect: { status: accepted } }\n`)
    folder.write("event.json", '{ "email": "a@b.test" }')
    const [own, two, run] = await Promise.all([
      folder.run(["test", "own.yaml"]),
      folder.run(["test", "two.yaml"]),
      folder.run(["run", "own.yaml", "--event", "event.json"]),
    ])
    expect([own.code, own.output.match(/\d+ passed/)?.[0]], own.output).to.deep.equal([0, "2 passed"])
    expect(two.code).to.equal(1)
    expect(two.output).to.include('"rival.leads" belongs to "rival"')
    expect(run.code, run.output).to.equal(0)
    expect(run.output).to.include('leads  {"email":"a@b.test"')
  })

  it("keeps tests apart: no row, repeat or mail of one reaches another", async () => {
    folder.write(
      "p.yaml",
      'name: P\nauth_mode: none\ndedupe: { key: "{{ payload.id }}" }\npipeline: [{ type: dataset.write, dataset_slug: rows, key: id }]\n',
    )
    const value =
      "event: { body: { id: a } }, expect: { status: accepted, rows: { rows: [{ id: a }] }, journal: { repeat_of: { $absent: true } }, emails: [] }"
    folder.write("p.test.yaml", `tests:\n  - { name: first, ${value} }\n  - { name: second, ${value} }\n`)
    const { code, output } = await folder.run(["test", "p.yaml"])
    expect(code, output).to.equal(0)
  })

  it("says that an answer's body is text, and what sends JSON", async () => {
    folder.write("p.yaml", "name: P\nauth_mode: none\npipeline: []\n")
    const answered = (answer: string) =>
      `tests:\n  - name: a\n    http:\n      - url: https://a.test\n        ${answer}\n    event: { body: {} }\n    expect: {}\n`
    for (const answer of ["answer: { body: { id: 7 } }", "answers: [{ body: [7] }]"]) {
      folder.write("p.test.yaml", answered(answer))
      const { code, output } = await folder.run(["test", "p.test.yaml"])
      expect(code).to.not.equal(0)
      expect(output)
        .to.match(/p\.test\.yaml:5:\d+ error invalid-field/)
        .and.include('use "json" to send a value as JSON')
    }
    folder.write("p.test.yaml", "tests: [{ name: a, event: { body: {} }, expect: { verdict: [] } }]\n")
    expect((await folder.run(["test", "p.test.yaml"])).output).to.not.include('"json"')
  })

  it("runs again when a file changes, until it is stopped", async () => {
    folder.write("pipelines/w.yaml", "name: W\nauth_mode: none\npipeline: [{ type: respond, status: 201 }]\n")
    folder.write("pipelines/w.test.yaml", "tests: [{ name: answers, event: { body: {} }, expect: { response: { status: 202 } } }]\n")
    const watching = folder.follow(["test", "--watch"])
    const ending = finished(watching)
    try {
      const first = await outputUntil(watching, /Watching/)
      expect(first).to.include("1 failed")
      const again = outputUntil(watching, /1 passed/)
      folder.write("pipelines/w.yaml", "name: W\nauth_mode: none\npipeline: [{ type: respond, status: 202 }]\n")
      expect(await again).to.include("✓ answers")
    } finally {
      watching.stop()
      await ending
    }
  })
})
