// The route for Trust Hub's callback after a status change. The job then polls Trust Hub at once.
import { defineRoute, JobQueue, UnitsOfWork, Vault } from "#core"
import { callbackPath, isSigned } from "./callback-url.ts"
import { registerRef } from "./collections.ts"
import { jobOf, Registrations } from "./registrations.ts"

export const statusCallback = defineRoute({
  name: "voice.caller_name_callback",
  summary: "Learn from Trust Hub that the status of a caller name may have changed.",
  method: "POST",
  path: `${callbackPath}/{organization}/{registration}/{signature}`,
  inject: { vault: Vault, works: UnitsOfWork, queue: JobQueue, registrations: Registrations },
  async handle({ request: { params }, deps: { vault, works, queue, registrations } }) {
    const { organization = "", registration: id = "", signature = "" } = params
    const registration = isSigned(vault, organization, id, signature) ? await registrations.get(organization, id) : undefined
    if (!registration) return { status: 404 }
    await works.run((work) => {
      if (registration.status !== "active") queue.hasten(work, jobOf(id))
      // The job has ended, but carriers may still withdraw a name.
      else queue.enqueue(work, registerRef, { organization, registration_id: id }, { organization })
    })
    return { status: 204 }
  },
})
