// Concurrent decisions of several admins, on each store and on two nodes of MongoDB. One wins; the others receive a refusal.
import { expect } from "chai"
import { Store } from "#core"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { gatedNotes, memberOf, NoteCollection, performed } from "./gated-notes.ts"

interface Answer {
  readonly code?: string
  readonly details?: { readonly reason?: string }
}

onBothStores("decisions at once", ({ start, storage }) => {
  let nodes: [TestHost, TestHost]
  const deciders: string[] = []
  before(async () => {
    const env: Record<string, string> = { ...(await storage()), MILLRACE_JOBS_POLL_MS: "20" }
    const host = await start({ env, plugins: [gatedNotes] })
    // The embedded file belongs to one process.
    const isShared = env["MILLRACE_STORAGE_URL"] !== undefined
    nodes = [host, isShared ? await start({ env, plugins: [gatedNotes], dataDir: host.dataDir }) : host]
    for (const name of ["bob", "cyd"]) deciders.push((await memberOf(host, name)).key)
  })

  for (const [name, decisions] of [
    ["approvals", ["approve"]],
    ["approvals and rejections", ["approve", "reject"]],
    ["rejections", ["reject"]],
  ] as const)
    it(`have one winner and losers with already_decided: ${name}`, async () => {
      const [first, second] = nodes
      const text = `Once: ${name}, ${first.organization.id}`
      const id = (await first.api<{ approval_id: string }>("POST", "/v1/gated-notes", { text })).body.approval_id
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) => {
          const decision = decisions[index % decisions.length]
          const key = deciders[Math.floor(index / 2) % 2] ?? ""
          return [first, second][index % 2]?.api<Answer>("POST", `/v1/approvals/${id}/decide`, { decision }, { key })
        }),
      )
      const lost = answers.filter((answer) => answer?.status !== 200)
      expect(lost).to.have.length(7)
      for (const answer of lost)
        expect([answer?.status, answer?.body.code, answer?.body.details?.reason]).to.deep.equal([
          400,
          "failed_precondition",
          "already_decided",
        ])
      const state = await until("the end", async () => {
        const { body } = await second.api<{ state: string }>("GET", `/v1/approvals/${id}`, undefined, { key: first.adminKey })
        return body.state === "approved" ? undefined : body.state
      })
      const notes = await first.get(Store).open(NoteCollection, first.organization.id).find({ text })
      expect([notes.length, performed.get(text) ?? 0]).to.deep.equal(state === "done" ? [1, 1] : [0, 0])
    })
})
