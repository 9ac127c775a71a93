// Unknown fields of the event: refused or warned of if schema or transform define the fields, noted if only events do.
import { expect } from "chai"
import { CommandFolder } from "./command.ts"

describe("fields that events do not have", () => {
  let folder: CommandFolder
  beforeEach(() => {
    folder = new CommandFolder()
  })
  afterEach(() => folder.remove())

  const heading = '"{{ event.name }} in {{ event.hours_untill }} h"'
  const mail = (head: string) =>
    `name: Reminder\nauth_mode: none\n${head}\npipeline:\n  - { type: email.send, to: a@b.test, heading: ${heading} }\n`
  const validated = async (text: string) => {
    folder.write("pipeline.yaml", text)
    const { code, output } = await folder.run(["validate", "pipeline.yaml"])
    return { code, output, findings: [...output.matchAll(/^pipeline\.yaml:\d+:\d+ (\w+ [\w-]+)$/gm)].map(([, match]) => match) }
  }

  it("are refused where the transform returns none of the name, with what was meant", async () => {
    const { code, output, findings } = await validated(
      mail('transform_js: "function transform(event) { return { name: event.name, hours_until: 24 } }"'),
    )
    expect([code, findings], output).to.deep.equal([1, ["error template-never-resolves"]])
    expect(output).to.include(
      '"event.hours_untill" never has a value: the transform gives no such field. Did you mean "hours_until"?  (/pipeline/0/heading)',
    )
  })

  it("are refused where a closed schema lists none, however deep, and in the dedupe key", async () => {
    const schema =
      "request_schema: { type: object, additionalProperties: false, properties: { name: { type: string }, trip: { type: object, additionalProperties: false, properties: { hours: { type: number } } } } }"
    const { output, findings } = await validated(
      `name: Reminder\nauth_mode: none\n${schema}\ndedupe: { key: "{{ payload.nmae }}" }\npipeline:\n  - { type: respond, body: "{{ event.trip.hour }} {{ event.trip.hours }} {{ event.name.size }}" }\n`,
    )
    expect(
      findings.filter((finding) => finding?.startsWith("error")),
      output,
    ).to.deep.equal(["error template-never-resolves", "error template-never-resolves"])
    expect(output).to.include('"event.trip.hour" never has a value').and.include('"payload.nmae" never has a value')
  })

  it("are warned of where an open schema lists one of nearly the name, and only then", async () => {
    const near = await validated(
      mail("request_schema: { type: object, properties: { name: { type: string }, hours_until: { type: number } } }"),
    )
    expect([near.code, near.findings], near.output).to.deep.equal([0, ["warning misspelled-event-field"]])
    expect(near.output).to.include('Did you mean "hours_until"?')
    const result = await validated(
      mail(
        "acknowledged_warnings: [misspelled-event-field]\nrequest_schema: { type: object, properties: { hours_until: { type: number } } }",
      ),
    )
    expect(result.findings).to.deep.equal([])
    const far = await validated(mail("request_schema: { type: object, properties: { email: { type: string } } }"))
    expect([far.code, far.findings], far.output).to.deep.equal([0, []])
  })

  it("are not seen where nothing tells what there is", async () => {
    for (const head of [
      "request_schema: { type: object }",
      'transform_js: "function transform(event) { return build(event) }\\nfunction build(one) { return one }"',
      'transform_js: "function transform(event) { return { ...event, hour: 1 } }"',
    ]) {
      const { code, findings, output } = await validated(mail(head))
      expect([code, findings], output).to.deep.equal([0, []])
    }
  })

  it("cannot be the key of a row", async () => {
    const write = (step: string) =>
      `name: Keyed\nauth_mode: none\ntransform_js: "function transform(event) { return { email: event.email } }"\npipeline:\n  - { id: save, type: dataset.write, dataset_slug: leads, ${step} }\n`
    const { code, output, findings } = await validated(write("key: mail"))
    expect([code, findings], output).to.deep.equal([1, ["error key-not-in-row"]])
    expect(output).to.include('No event has a field "mail"').and.include("There are: email.")
    for (const step of ["key: email", "key: page_url", 'key: mail, row: { mail: "{{ event.email }}" }']) {
      expect((await validated(write(step))).findings, step).to.deep.equal([])
    }
  })

  it("are noted by run and test where only the event tells, and a default keeps them quiet", async () => {
    folder.write(
      "pipeline.yaml",
      mail("request_schema: { type: object }").replace("{{ event.name }}", "{{ event.name | default: 'Somebody' }}"),
    )
    folder.write("event.yaml", "{ hours_until: 3 }\n")
    folder.write(
      "pipeline.test.yaml",
      "tests:\n  - { name: mails, event: { body: { hours_until: 3 } }, expect: { status: accepted } }\n  - { name: mails again, event: { body: { name: Ada } }, expect: { status: accepted } }\n",
    )
    const ran = await folder.run(["run", "pipeline.yaml", "--event", "event.yaml"])
    expect(ran.output).to.match(/^ {2}note +This event has no event\.hours_untill, which is read at \/pipeline\/0\/heading\.$/m)
    expect([ran.code, ran.output.includes("no event.name")]).to.deep.equal([0, false])
    const { notes } = JSON.parse((await folder.run(["run", "pipeline.yaml", "--event", "event.yaml", "--json"])).output) as {
      notes: string[]
    }
    expect(notes).to.have.length(1)
    const tested = await folder.run(["test", "pipeline.test.yaml"])
    expect(tested.output)
      .to.include("note: No event of these tests has event.hours_untill, which is read at /pipeline/0/heading.")
      .and.include("2 passed")
    expect(tested.code).to.equal(0)
    folder.write("event.yaml", "{ hours_untill: 3 }\n")
    expect((await folder.run(["run", "pipeline.yaml", "--event", "event.yaml"])).output).to.not.match(/^ {2}note /m)
  })
})
