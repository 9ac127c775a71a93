// Removes data of an erased person from other areas: conversations with messages and files, mails, and suppression entries. Rows
// are removed on request. The job starts again if its node stops.
import { z } from "zod"
import { defineJob, jobRef, type UnitOfWork, Vault } from "#core"
import { jobSealContext } from "#core/engine"
import { EventFileErasure } from "../../capture/event-files/index.ts"
import { Datasets } from "../../data/datasets/index.ts"
import { ConversationErasure } from "../conversations/index.ts"
import { MailErasure } from "../inbound-mail/index.ts"
import { LeadErasure, RowBuffer } from "../leads/index.ts"
import { Suppressions } from "../suppressions/index.ts"
import type { Person } from "./person.ts"

export const eraseTracesRef = jobRef(
  "consents.erase_traces",
  z.object({
    /** Sealed address of the person. A waiting job must not contain readable personal data. */
    sealed: z.strictObject({ key_id: z.string(), text: z.string() }),
    delete_rows: z.boolean(),
  }),
  {
    retry: { max_attempts: 50, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 3_600_000 },
    timeoutMs: 1_800_000,
  },
)

const Told = z.object({ kind: z.enum(["email", "phone"]), value: z.string() })

export function sealed(vault: Vault, jobId: string, { kind, value }: Person) {
  return vault.seal(JSON.stringify({ kind, value }), jobSealContext(jobId))
}

export const eraseTraces = defineJob(eraseTracesRef, {
  summary: "Removes what other areas have of a person who was erased.",
  inject: {
    vault: Vault,
    conversations: ConversationErasure,
    mails: MailErasure,
    suppressions: Suppressions,
    leads: LeadErasure,
    written: RowBuffer,
    datasets: Datasets,
    files: EventFileErasure,
  },
  async run({ payload: { sealed: held, delete_rows }, organization = "", jobId, deps, work, signal }) {
    const { vault, conversations, mails, suppressions, leads, written, datasets, files } = deps
    const person = Told.parse(JSON.parse(vault.open(held, jobSealContext(jobId))))
    if (person.kind === "phone") await conversations(organization, person.value, signal)
    else {
      await mails(organization, person.value, signal)
      await suppressions.forget(work, organization, person.value)
    }
    await written.settle(organization)
    // A message just before the removal of the conversation may have created the lead again.
    await leads.forget(work, organization, person)
    await leads.forgetRows(organization, person, async (staged, rows) => {
      await files(
        organization,
        rows.map(({ row_id }) => row_id),
      )
      if (delete_rows) for (const { dataset, row_id } of rows) await removeRow(staged, dataset, row_id)
    })

    async function removeRow(staged: UnitOfWork, slug: string, rowId: string): Promise<void> {
      const dataset = await datasets.get(organization, slug)
      const row = dataset && (await datasets.rows(organization).get(rowId))
      // Several events may refer to the same row.
      const isStaged = staged.writes.some((write) => write.kind === "remove" && write.id === rowId)
      if (dataset && row?.dataset_id === dataset.id && !isStaged) datasets.remove(staged, organization, dataset, row)
    }
  },
})
