// An endless template uses its thread for the allowed second. The next template gets another thread.
import { expect } from "chai"
import { systemClock } from "../../../core/kernel/clock.ts"
import { RenderWorker } from "../../../core/pipeline/template/render-worker.ts"
import { refusalOf } from "../../refusal.ts"

describe("the thread of templates", () => {
  it("is replaced where a template keeps it longer than a second", async () => {
    const worker = new RenderWorker(systemClock)
    const render = (text: string) =>
      worker.render("acme", { source: { kind: "text", text }, scope: JSON.stringify({ event: { n: 2 } }), units: 1e12, output: 0 })
    try {
      const endless = "{% for i in (1..4000000) %}{% for j in (1..4000000) %}{% endfor %}{% endfor %}"
      expect((await refusalOf(render(endless))).details).to.include({ reason: "template_budget" })
      expect((await render("{{ event.n }}")).value).to.equal(2)
    } finally {
      await worker.stop()
    }
  })
})
