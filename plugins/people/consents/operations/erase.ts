// Erases a person on request, as data protection law requires.
import { z } from "zod"
import { defineOperation, Ids, JobQueue, Timestamp, Uuid, Vault } from "#core"
import { LeadErasure, Leads, RowBuffer } from "../../leads/index.ts"
import { eraseTracesRef, sealed } from "../erasure.ts"
import { Ledger } from "../ledger.ts"
import { personFields, personOf } from "../person.ts"

const maxRows = 1_000

export const erasePerson = defineOperation({
  name: "consents.erase",
  summary: "Erase a person from the service, and write to them never again.",
  description:
    "At once from the ledger and the leads; a job removes their conversations by chat app, text and mail with all messages and files, and their entries of the suppression list and the opt-out ledgers. A keyed digest is left, which still forbids writing. Rows that were written about the address or number are listed, and removed where asked for. Journals keep payloads for as long as they are set to. Only a consent that is recorded with after_erasure ends it.",
  auditSize: ["email", "phone"],
  http: { method: "POST", path: "/v1/consents/erase" },
  access: { scope: "consents:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({
    ...personFields,
    reason: z.string().trim().min(1).max(200).describe("Why, without personal data."),
    rows: z
      .enum(["keep", "delete"])
      .default("keep")
      .describe("What becomes of rows about the address or number: they may be about others as well."),
  }),
  output: z.object({
    tombstone_id: Uuid,
    erased_at: Timestamp,
    entries: z.int().describe("Entries of the ledger that were removed."),
    rows: z
      .array(z.object({ dataset: z.string(), row_id: Uuid }))
      .describe(`Rows about the address or number, newest first, at most ${maxRows}. Where they are kept, nothing tells of them any more.`),
  }),
  errors: ["invalid_argument", "failed_precondition", "aborted"],
  examples: [{ input: { email: "erase@example.com", reason: "Asked for under Article 17 GDPR." } }],
  inject: {
    ledger: Ledger,
    leads: Leads,
    erasure: LeadErasure,
    written: RowBuffer,
    queue: JobQueue,
    vault: Vault,
    ids: Ids,
  },
  async handle({ input: { reason, rows, ...given }, caller, deps: { ledger, leads, erasure, written, queue, vault, ids }, work }) {
    const organization = caller.organization.id
    const person = personOf(given, await leads.region(organization))
    const { id, erased_at, entries } = await ledger.erase(work, organization, person, { reason, credential_id: caller.credential.id })
    await written.settle(organization)
    const found = await erasure.rowsOf(organization, person, maxRows)
    await erasure.forget(work, organization, person)
    const jobId = ids.uuid()
    const payload = { sealed: sealed(vault, jobId, person), delete_rows: rows === "delete" }
    queue.enqueue(work, eraseTracesRef, payload, { organization, id: jobId })
    const named = [...new Map(found.map(({ dataset, row_id }) => [row_id, { dataset, row_id }])).values()]
    return { tombstone_id: id, erased_at, entries, rows: named }
  },
  onConflict: async ({ error }) => error,
})
