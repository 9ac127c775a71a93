// State of a step before its gate if it cannot continue.
import { expect } from "chai"
import { z } from "zod"
import { defineAction } from "#core"
import type { Decision, Gatekeeper } from "../../../core/contract/gate.ts"
import { type GateArgs, gateState } from "../../../core/pipeline/run/gated-step.ts"

const unstable = defineAction({
  type: "unstable.send",
  summary: "Sends.",
  timing: "deferred",
  config: z.strictObject({ text: z.string().transform((text) => `${text}!`) }),
  result: z.null(),
  examples: [],
  run: () => null,
})

const decided = (decision: Decision | undefined) =>
  decision &&
  ({
    holds: async () => true,
    decision: async () => decision,
    file: () => expect.fail(),
    done: () => expect.fail(),
  } as unknown as Gatekeeper)

async function refusal(keeper: Gatekeeper | undefined, approval_id: string | undefined) {
  const execution = { input: { stored: { organization: { id: "o" }, slug: "p" }, executionId: "e" }, scope: { steps: {} } }
  const step = { id: "send", action: unstable, gated: true, when: null, forEach: null, config: () => ({ text: "Hi!" }) }
  const renderer = { render: (evaluate: (scope: unknown) => unknown, scope: unknown) => evaluate(scope) }
  const record = approval_id === undefined ? {} : { approval_id }
  const state = await gateState({ execution, step, record, keeper, renderer, work: {}, jobId: "j" } as unknown as GateArgs)
  return state.kind === "refused" ? [state.error.details.reason, state.error.details["retryable"] ?? true] : state.kind
}

describe("a step before its gate", () => {
  it("is refused where nobody keeps approvals, and where it was rejected or nobody decided", async () => {
    expect(await refusal(undefined, undefined)).to.deep.equal(["approvals_not_loaded", false])
    expect(await refusal(decided({ state: "rejected", note: "" }), "a")).to.deep.equal(["approval_rejected", false])
    expect(await refusal(decided({ state: "expired", note: "" }), "a")).to.deep.equal(["approval_expired", false])
  })

  it("is refused where its action would do another thing than what was shown", async () => {
    expect(await refusal(decided({ state: "pending", expires_at: "" }), undefined)).to.deep.equal(["cannot_be_gated", false])
  })
})
