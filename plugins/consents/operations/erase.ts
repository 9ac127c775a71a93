// Erasing a person, as the law lets them ask for.
import { z } from "zod"
import { defineOperation, Timestamp, Uuid } from "#core"
import { LeadsToken } from "../../leads/index.ts"
import { LedgerToken } from "../ledger.ts"
import { personFields, personOf } from "../person.ts"

export const erasePerson = defineOperation({
  name: "consents.erase",
  summary: "Erase a person from the ledger and the leads, and write to them never again.",
  description:
    "A keyed digest is left, which still forbids writing. Rows, conversations and mails are not erased by this; delete them where they are. Only a consent that is recorded with after_erasure ends it.",
  auditSize: ["email", "phone"],
  http: { method: "POST", path: "/v1/consents/erase" },
  access: { scope: "consents:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({ ...personFields, reason: z.string().trim().min(1).max(200).describe("Why, without personal data.") }),
  output: z.object({ tombstone_id: Uuid, erased_at: Timestamp, entries: z.int().describe("Entries of the ledger that were removed.") }),
  errors: ["invalid_argument", "failed_precondition", "aborted"],
  examples: [{ input: { email: "erase@example.com", reason: "Asked for under Article 17 GDPR." } }],
  inject: { ledger: LedgerToken, leads: LeadsToken },
  async handle({ input: { reason, ...given }, caller, deps: { ledger, leads }, work }) {
    const organization = caller.organization.id
    const person = personOf(given, await leads.region(organization))
    const { id, erased_at, entries } = await ledger.erase(work, organization, person, { reason, credential_id: caller.credential.id })
    await leads.forget(work, organization, person)
    return { tombstone_id: id, erased_at, entries }
  },
})
