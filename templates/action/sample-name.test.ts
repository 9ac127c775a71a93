// The action type sample.name: what every action type promises, and what this one does in a whole service.
import { expect } from "chai"
import { contractOf, testHost } from "#core/testing"
import plugin from "./index.ts"

describe("the action sample.name", () => {
  contractOf(plugin)

  it("counts the words of an event's message", async () => {
    const host = await testHost({ plugins: [plugin] })
    try {
      const { body: pipeline } = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
        name: "Words",
        state: "active",
        auth_mode: "none",
        pipeline: [
          { id: "count", type: "sample.name", text: "{{ event.message }}" },
          { type: "respond", body: { words: "{{ steps.count.words }}" } },
        ],
      })
      const { status, body } = await host.send(pipeline, { message: "two  words" })
      expect([status, body]).to.deep.equal([200, { words: 2 }])
    } finally {
      await host.stop()
    }
  })
})
