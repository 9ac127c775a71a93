// Cost of comparisons in tags: each is charged before it runs, so a template over its budget stops early.
import { expect } from "chai"
import { systemClock } from "../../../core/kernel/clock.ts"
import type { AppError } from "../../../core/kernel/errors.ts"
import type { TemplateScope } from "../../../core/pipeline/graph.ts"
import { turnUnits } from "../../../core/pipeline/template/meter.ts"
import { RenderWorker } from "../../../core/pipeline/template/render-worker.ts"
import { StepBudget, TemplateRenderer } from "../../../core/pipeline/template/renderer.ts"
import { compileText } from "../../../core/pipeline/template.ts"
import { expectShortTurn, repeatedLongestTurn } from "../../longest-turn.ts"
import { scope } from "../doubles.ts"

const numbers = Array.from({ length: 200_000 }, (_, n) => n)
const rows = Array.from({ length: 100 }, () => Array.from({ length: 100 }, (_, n) => [n, [n]]))
const event = {
  text: "a".repeat(400_000),
  pattern: `${"a".repeat(200_000)}b`,
  spaces: " ".repeat(600_000),
  texts: ["a".repeat(400_000)],
  numbers,
  fields: Object.fromEntries(numbers.slice(0, 20_000).map((n) => [`field${n}`, n])),
  rows,
  same: structuredClone(rows),
}
const times = (count: number, text: string) => text.repeat(count)

describe("comparisons within tags", () => {
  const worker = new RenderWorker(systemClock)
  const renderer = new TemplateRenderer(worker)
  after(() => worker.stop())

  /** Compiles the template. The result renders it within the budget of a step. */
  function prepared(source: string, input: unknown = event): () => Promise<unknown> {
    const compiled = compileText(source)
    if (!compiled.ok) throw new Error(compiled.problems.join("; "))
    const within = { ...scope, event: input as TemplateScope["event"] }
    return async () => await renderer.render(compiled.evaluate, within, new StepBudget("acme", { templateUnits: turnUnits }))
  }

  const render = (source: string, input: unknown) => prepared(source, input)()

  const heavy: Readonly<Record<string, string>> = {
    "contains in if": times(400, "{% if event.text contains event.pattern %}1{% endif %}"),
    "contains in unless": times(400, "{% unless event.text contains event.pattern %}1{% endunless %}"),
    "contains in elsif": `{% if event.absent %}${times(900, "{% elsif event.text contains event.pattern %}1")}{% endif %}`,
    "contains behind and": times(400, "{% if event.text and event.text contains event.pattern %}1{% endif %}"),
    "contains over a list": times(400, "{% if event.numbers contains 'x' %}1{% endif %}"),
    "contains of a list in a text": times(400, "{% if event.text contains event.texts %}1{% endif %}"),
    "equality of nested lists": times(400, "{% if event.rows == event.same %}1{% endif %}"),
    "inequality of nested lists": times(400, "{% if event.rows != event.same %}1{% endif %}"),
    "order of lists": times(400, "{% if event.numbers > event.rows %}1{% endif %}"),
    "case over nested lists": times(300, "{% case event.rows %}{% when event.same %}1{% endcase %}"),
    "case with many values": `{% case event.rows %}{% when ${times(4_000, "event.same, ")}1 %}1{% endcase %}`,
    "an object against empty": times(400, "{% if event.fields == empty %}1{% endif %}"),
    "a text against blank": times(400, "{% if event.spaces == blank %}1{% endif %}"),
    "the size of an object": times(400, "{% if event.fields.size > 3 %}1{% endif %}"),
    "a list as a key": times(400, "{% if event.fields[event.numbers] %}1{% endif %}"),
    "for over an object": times(400, "{% for one in event.fields limit: 1 %}{% endfor %}"),
    "for in reverse": times(400, "{% for one in event.numbers reversed offset: 1 limit: 1 %}{% endfor %}"),
    "for over a range": times(400, "{% for one in (1..event.numbers.size) %}{% endfor %}"),
    "for within for": "{% for a in event.rows %}{% for b in event.same %}{% if a == b %}1{% endif %}{% endfor %}{% endfor %}",
    "a sentence of a list": times(400, "{% if event.rows | array_to_sentence_string %}1{% endif %}"),
    "a filter in assign": times(400, "{% assign x = event.text | replace: event.pattern, '' %}"),
    "a search in a list": times(400, "{% assign x = event.texts | split: event.pattern %}"),
    "a list as text": times(400, "{{ event.numbers }}"),
  }

  for (const [what, source] of Object.entries(heavy)) {
    it(`stops ${what} at the budget, and gives way to other work before`, async () => {
      const rendered = prepared(source)
      const { milliseconds, value } = await repeatedLongestTurn(() => rendered().catch((error: AppError) => error.details))
      expect(value).to.deep.equal({ reason: "template_budget", retryable: false })
      expectShortTurn(milliseconds, what)
    })
  }

  it("gives the results of Liquid's own operators", async () => {
    const input = { name: "Ada", tags: ["a", ["b", 1]], same: ["a", ["b", 1]], nothing: {}, fields: { one: 1 }, n: 3, blank: " " }
    const conditions: Readonly<Record<string, boolean>> = {
      "event.name contains 'da'": true,
      "event.tags contains 'a'": true,
      "event.tags contains 'c'": false,
      "event.tags == event.same": true,
      "event.tags != event.same": false,
      "event.n >= 3 and not event.absent": true,
      "event.n < 3 or event.name > 'Zoe'": false,
      "event.nothing == empty": true,
      "event.fields == empty": false,
      "event.fields.size == 1": true,
      "event.blank == blank": true,
      "event.absent == nil": true,
    }
    for (const [condition, expected] of Object.entries(conditions)) {
      const [bare, tag] = await Promise.all([
        render(`{{ ${condition} }}`, input),
        render(`{% if ${condition} %}yes{% else %}no{% endif %}`, input),
      ])
      expect([condition, bare, tag]).to.deep.equal([condition, expected, expected ? "yes" : "no"])
    }
    const branches = "{% case event.n %}{% when 1, 2 %}few{% when 3 or 4 %}some{% else %}many{% endcase %}"
    expect(await render(branches, input)).to.equal("some")
    const loop =
      "{% for pair in event.fields %}{{ pair[0] }}={{ pair[1] }}{% endfor %}{% for x in event.absent %}{% else %}none{% endfor %}"
    expect(await render(loop, input)).to.equal("one=1none")
  })
})
