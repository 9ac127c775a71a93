// Adds sent mail to the conversation with its recipient, so the reply finds the conversation. The receipt of the mail and the job
// below are one commit. Neither a kill nor a full disk loses them.
import { z } from "zod"
import { defineJob, derivedUuid, type JobQueue, jobRef, type Logger, type UnitOfWork, UnitsOfWork } from "#core"
import type { MailGuard } from "../../email/index.ts"
import { Conversations, type NewMessage } from "./conversations.ts"

const Address = z.object({ name: z.string(), address: z.string() })

const keepSentRef = jobRef(
  "inbound_mail.keep_sent",
  z.object({
    message_id: z.string(),
    from: Address,
    to: z.array(Address),
    cc: z.array(Address),
    subject: z.string(),
    text: z.string(),
    at: z.string(),
  }),
  {
    /** A full store refuses writes for hours. */
    retry: { max_attempts: 100, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 300_000 },
  },
)

interface GuardDeps {
  readonly queue: JobQueue
  readonly works: UnitsOfWork
  readonly log: Logger
}

export function keepSentGuard({ queue, works, log }: GuardDeps): MailGuard {
  return {
    withheld: async () => [],
    refused: async () => undefined,
    async sent({ organization, category, messageId: message_id }, { from, to, cc, subject, text, at }, work) {
      // A mail to several people becomes a conversation with each person upon their answer.
      if (category === "notice" || to.length !== 1) return
      const id = derivedUuid("keep sent mail", organization, message_id)
      const payload = { message_id, from, to: [...to], cc: [...cc], subject, text, at }
      const stage = (staged: UnitOfWork) => queue.enqueue(staged, keepSentRef, payload, { organization, id })
      if (work) return void stage(work)
      // The mail was sent, so a failure must not send it again.
      await works.run(stage).catch((err: unknown) => log.error({ err, message_id }, "a sent mail could not be put into its conversation"))
    },
  }
}

export const keepSentJob = defineJob(keepSentRef, {
  summary: "Puts a sent mail into its conversation.",
  inject: { conversations: Conversations, works: UnitsOfWork },
  async run({ payload, organization = "", deps: { conversations, works } }) {
    const { from, at } = payload
    const domain = from.address.slice(from.address.lastIndexOf("@") + 1)
    const kept = { direction: "outbound", attachments: [], dated: at, inbound: null, references: [], domain } as const
    const message: NewMessage = { ...payload, ...kept, attachments: [], references: [] }
    await works.retryConflicts((work) => conversations.add(work, organization, message))
  },
})
