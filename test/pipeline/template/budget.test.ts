// The budget of templates: ordinary templates render at once, larger ones take several turns, a heavy template gets a thread, and
// an endless one fails permanently.
import { expect } from "chai"
import { systemClock } from "../../../core/kernel/clock.ts"
import type { AppError } from "../../../core/kernel/errors.ts"
import { MovableClock } from "../../../core/kernel/movable-clock.ts"
import type { TemplateScope } from "../../../core/pipeline/graph.ts"
import { meter, turnUnits } from "../../../core/pipeline/template/meter.ts"
import { RenderWorker } from "../../../core/pipeline/template/render-worker.ts"
import { StepBudget, TemplateRenderer } from "../../../core/pipeline/template/renderer.ts"
import { compileJson, compileText } from "../../../core/pipeline/template.ts"
import { refusalOf } from "../../refusal.ts"
import { scope } from "../doubles.ts"

describe("the budget of templates", () => {
  const worker = new RenderWorker(systemClock)
  const renderer = new TemplateRenderer(worker)
  const budget = (organization = "acme") => new StepBudget(organization, { templateUnits: turnUnits })
  const withEvent = (event: TemplateScope["event"]): TemplateScope => ({ ...scope, event })

  function render(source: string, event: TemplateScope["event"], within = budget()): unknown {
    const compiled = compileText(source)
    if (!compiled.ok) throw new Error(compiled.problems.join("; "))
    return renderer.render(compiled.evaluate, withEvent(event), within)
  }

  after(() => worker.stop())

  it("renders ordinary templates at once", () => {
    const lines = Array.from({ length: 100 }, (_, n) => ({ name: `part ${n}`, price: n }))
    const source = "{% for line in event.lines %}{{ line.name | upcase }}: {{ line.price }}\n{% endfor %}"
    expect(render(source, { lines })).to.match(/^PART 0: 0\nPART 1: 1\n/)
    expect(render("{{ event.text | strip_html | truncate: 20 }}", { text: "<p>hello</p>".repeat(400) })).to.be.a("string")
  })

  it("refuses ranges, sorts and copies without end, permanently, and no turn of the event loop spends more than its units", async () => {
    const members = Array.from({ length: 200_000 }, (_, n) => String.fromCharCode(97 + (n % 26)))
    const sources = [
      "{{ (1..4000000) | size }}".repeat(25),
      "{% for i in (1..3000) %}{% for j in (1..3000) %}{{ i }}{% endfor %}{% endfor %}",
      "{{ event.members | sort_natural | size }}",
      "{{ event.members | map: 'x' | uniq | where: 'x', 1 | size }}",
      `{{ event.members ${"| concat: event.members ".repeat(20)}| size }}`,
      "{% assign a = event.long %}{% for i in (1..40) %}{% assign a = a | append: a %}{% endfor %}{{ a }}",
    ]
    let most = 0
    const begin = meter.begin.bind(meter)
    meter.begin = (units, ...rest) => {
      most = Math.max(most, units)
      begin(units, ...rest)
    }
    try {
      for (const source of sources) {
        const error = await refusalOf(async () => render(source, { members, long: "x".repeat(10_000) }))
        expect(error.details, source.slice(0, 60)).to.include({ retryable: false })
        expect(error.message).to.match(/budget of operations|limit|more than/)
      }
    } finally {
      Reflect.deleteProperty(meter, "begin")
    }
    expect(most).to.equal(turnUnits)
  })

  it("renders what is more than a turn in later ones or in a thread, and gives the same", async () => {
    const text = "ab".repeat(300_000)
    expect(await render("{{ event.text | upcase | size }}", { text })).to.equal(600_000)
    const numbers = Array.from({ length: 20_000 }, (_, n) => n)
    expect(await render("{{ event.numbers | reverse | first }}", { numbers })).to.equal(19_999)
    const fields = Object.fromEntries(numbers.slice(0, 3_000).map((n) => [`f${n}`, `{{ event.numbers[${n}] | plus: 1 }} {{ event.name }}`]))
    const { evaluate } = compileJson(fields, "")
    const rendered = evaluate && renderer.render(evaluate, withEvent({ numbers, name: "x" }), budget())
    expect(rendered).to.be.instanceOf(Promise)
    expect((await rendered) as Record<string, string>).to.include({ f0: "1 x", f2999: "3000 x" })
  })

  it("spends one budget over all that a step renders", async () => {
    const text = "ab".repeat(200_000)
    const within = budget()
    let error: AppError | undefined
    for (let element = 0; element < 1_000 && !error; element++) {
      error = await Promise.resolve(render("{{ event.text | upcase | size }}", { text }, within)).then(
        () => undefined,
        (thrown: unknown) => thrown as AppError,
      )
    }
    expect(error?.details).to.include({ reason: "template_budget", retryable: false })
    const output = budget()
    const long = "x".repeat(1_000_000)
    for (let n = 0; n < 4; n++) await render("{{ event.long }}!", { long }, output)
    expect((await refusalOf(() => render("{{ event.long }}!", { long }, output))).message).to.match(/more than 4194304/)
  })

  it("counts the time of the processor that the thread was given, not the time that passed", async () => {
    const clock = new MovableClock()
    const waiting = new RenderWorker(clock)
    const task = { scope: JSON.stringify({ event: { n: 2 } }), units: 5_000_000, output: 0 }
    const rendering = waiting.render("acme", { source: { kind: "text", text: "{{ event.n | plus: 1 }}" }, ...task })
    clock.move(5_000)
    expect((await rendering).value).to.equal(3)
    await waiting.stop()
  })

  it("takes organizations by turns, and bounds what one has waiting", async () => {
    const text = "ab".repeat(300_000)
    const order: string[] = []
    const ask = async (organization: string) => {
      try {
        await render("{{ event.text | upcase | size }}", { text }, budget(organization))
        order.push(organization)
      } catch (error) {
        const { code, details } = error as AppError
        expect(details).to.deep.equal({ reason: "overloaded" })
        order.push(`${organization} ${code}`)
      }
    }
    await Promise.all([...Array.from({ length: 100 }, () => ask("loud")), ask("quiet")])
    expect(order.filter((value) => value === "loud unavailable").length).to.be.greaterThan(20)
    expect(order.filter((step) => !step.endsWith("unavailable")).indexOf("quiet")).to.be.lessThan(4)
  })
})
