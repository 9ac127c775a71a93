// Mails of the service to a person: codes, links and notices. They belong to no organization.

import { z } from "zod"
import { type Clock, defineJob, type JobQueue, jobRef, PublicUrl, timestamp, type UnitOfWork } from "#core"
import { Mailer } from "../../people/email/index.ts"

export const personMailRetry = { max_attempts: 5, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 60_000 }

/** A field of each mail with a code. */
export const notYou = { label: "Not you?", value: "Ignore this mail, and pass the code to nobody." }

export async function mailPerson(mailer: Mailer, mail: Omit<Parameters<Mailer["send"]>[0], "organization" | "category">): Promise<void> {
  await mailer.send({ organization: "", category: "sign_in", ...mail })
}

// Mails to a person about changes of the own account. The service itself sends them: to the address of the time of the change.

const Notice = z.object({
  to: z.string(),
  heading: z.string(),
  intro: z.string(),
  fields: z.array(z.object({ label: z.string(), value: z.string() })),
  at: z.string(),
})

const reference = jobRef("identity.notice", Notice, {
  retry: personMailRetry,
})

export interface NoticeDeps {
  readonly queue: JobQueue
  readonly clock: Clock
}

/** Stages the mail. The first owner has no address at first, and gets no mail. */
export function stageNotice(work: UnitOfWork, { queue, clock }: NoticeDeps, notice: Omit<z.infer<typeof Notice>, "at">): void {
  if (notice.to === "") return
  queue.enqueue(work, reference, { ...notice, at: timestamp(clock.now()) })
}

export const noticeMail = defineJob(reference, {
  summary: "Mails a person about a change of the own account.",
  inject: { mailer: Mailer, publicUrl: PublicUrl },
  async run({ payload: { at, ...content }, deps: { mailer, publicUrl }, jobId, signal }) {
    const button = { label: "Open the console", url: `${publicUrl()}/console` }
    await mailPerson(mailer, { ...content, button, idempotencyKey: `notice:${jobId}`, at, signal })
  },
})
