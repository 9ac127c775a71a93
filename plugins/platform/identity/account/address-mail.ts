// The mail with the code for a new address. An address of another user gets no mail.
import { z } from "zod"
import { Clock, defineJob, derivedUuid, type JobQueue, jobRef, type Sealed, Store, type UnitOfWork, Vault } from "#core"
import { jobSealContext } from "#core/engine"
import { Mailer } from "../../../people/email/index.ts"
import { type AddressChange, AddressChangesCollection } from "../collections.ts"
import { mailPerson, notYou, personMailRetry } from "../person-mail.ts"
import { Users } from "../users.ts"

const reference = jobRef("identity.address_code", z.object({ change: z.string(), created_at: z.string(), sealed: z.custom<Sealed>() }), {
  retry: personMailRetry,
})

interface MailDeps {
  readonly queue: JobQueue
  readonly vault: Vault
}

/** Stages the mail. */
export function stageAddressCode(work: UnitOfWork, { queue, vault }: MailDeps, change: AddressChange, code: string): void {
  const id = derivedUuid("address code", change.id, change.created_at, change.code_hash)
  const sealed = vault.seal(code, jobSealContext(id))
  queue.enqueue(work, reference, { change: change.id, created_at: change.created_at, sealed }, { id })
}

export const addressCodeMail = defineJob(reference, {
  summary: "Sends a code to a person's new address.",
  inject: { store: Store, users: Users, vault: Vault, clock: Clock, mailer: Mailer },
  async run({ payload, deps: { store, users, vault, clock, mailer }, jobId, signal }) {
    const change = await store.open(AddressChangesCollection).get(payload.change)
    const isCurrent = change?.created_at === payload.created_at && Date.parse(change.expires_at) > clock.now()
    if (!isCurrent || (await users.byEmail(change.email))) return
    const code = vault.open(payload.sealed, jobSealContext(jobId))
    await mailPerson(mailer, {
      to: change.email,
      subject: `${code} confirms your new address`,
      heading: "Confirm your new address",
      intro: "Enter the code in the console where you asked for the change. It works once, for ten minutes.",
      fields: [{ label: "Code", value: code }, notYou],
      idempotencyKey: `address:${jobId}`,
      at: change.created_at,
      signal,
    })
  },
})
