// The action type lead.score: what every action type promises, and what this one does in a whole service.
import { expect } from "chai"
import { contractOf, testHost } from "#core/testing"
import leadScore from "../../../plugins/actions/lead-score/index.ts"

describe("the action lead.score", () => {
  contractOf(leadScore)

  it("gives points for a budget and for a business address", async () => {
    const host = await testHost({ plugins: [leadScore] })
    try {
      const { body: pipeline } = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", {
        name: "Score",
        state: "active",
        auth_mode: "none",
        pipeline: [
          { id: "score", type: "lead.score", email: "{{ event.email }}", budget: "{{ event.budget }}" },
          { type: "respond", body: { points: "{{ steps.score.points }}" } },
        ],
      })
      const pointsOf = async (email: string, budget: number) => (await host.send(pipeline, { email, budget })).body
      expect(await pointsOf("ada@lovelace.example", 5_000)).to.deep.equal({ points: 70 })
      expect(await pointsOf("ada@gmail.com", 1_000_000)).to.deep.equal({ points: 80 })
    } finally {
      await host.stop()
    }
  })
})
