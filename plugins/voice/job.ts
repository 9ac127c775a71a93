// The job of a registration: waits for its approval, makes the calls, and asks for the carrier's decision until there is one.
import { defineJob, Postponed } from "#core"
import { registerRef } from "./job-refs.ts"
import { RegistrarToken } from "./registrar.ts"

export const registerJob = defineJob({
  ...registerRef,
  summary: "Registers a caller name, from its approval to the carrier's decision.",
  // Refused or unanswered calls postpone it; what fails it is this service's own, such as its storage.
  retry: { max_attempts: 50, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 3_600_000 },
  inject: { registrar: RegistrarToken },
  async run({ payload: { organization, registration_id }, deps: { registrar }, signal }) {
    const wait = await registrar.advance(organization, registration_id, signal)
    if (wait !== undefined) throw new Postponed(wait)
  },
})
