// The job of a registration: waits for the approval, makes the calls, and polls for the carrier's decision.
import { defineJob, Postponed } from "#core"
import { registerRef } from "./collections.ts"
import { Registrar } from "./registrar.ts"

export const registerJob = defineJob(registerRef, {
  summary: "Registers a caller name, from its approval to the carrier's decision.",
  inject: { registrar: Registrar },
  async run({ payload: { organization, registration_id }, deps: { registrar }, signal }) {
    const wait = await registrar.advance(organization, registration_id, signal)
    if (wait !== undefined) throw new Postponed(wait)
  },
})
