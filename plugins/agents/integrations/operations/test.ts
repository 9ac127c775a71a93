// POST /v1/integrations/{id}/test: makes the app's real test call.
import { z } from "zod"
import { defineOperation, resultOf, SlugOrId, Store } from "#core"
import { HealthChecks } from "../health/checks.ts"
import { healthFields } from "../health/health.ts"
import { proofReasons } from "../health/proof.ts"
import { visibleConnection } from "./one.ts"

export const testIntegration = defineOperation({
  name: "integrations.test",
  summary: "Test the credentials of an integration by a call that changes nothing.",
  description: "Answers 200 whether or not they work: see `ok` and `reason`. The connection's health says it from then on.",
  http: { method: "POST", path: "/v1/integrations/{id}/test" },
  access: { scope: "integrations:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: true },
  input: z.strictObject({ id: SlugOrId }),
  output: z.object({
    integration_id: z.uuid(),
    ok: z.boolean(),
    reason: z.enum(proofReasons).describe("Why it failed; empty where the credentials work."),
    message: z.string(),
    http_status: z.int().nullable().describe("Null where there was no answer."),
    retry_after_s: z.int().nullable().describe("When the vendor asks to come again."),
    health: z.object(healthFields),
  }),
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: {
        connection: {
          operation: "integrations.connect",
          input: { app: "slack", credentials: { api_key: "xoxb-1" }, share_with_org: true },
        },
      },
      input: { id: resultOf("connection.integration_id") },
    },
  ],
  inject: { store: Store, checks: HealthChecks },
  async handle({ input, caller, deps, work, signal }) {
    const connection = await visibleConnection(deps.store, caller, input.id)
    const { proof, health } = await deps.checks.check(work, caller.organization.id, connection, signal)
    const { ok, reason, message, status, retryAfterS } = proof
    return { integration_id: connection.id, ok, reason, message, http_status: status, retry_after_s: retryAfterS, health }
  },
})
