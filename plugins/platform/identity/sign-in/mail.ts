// The mail with a sign-in code and link. It is sent with a delay, so response times are equal for known and unknown addresses. An
// unknown address gets no mail.
import { randomInt } from "node:crypto"
import { z } from "zod"
import { Clock, defineJob, type JobQueue, jobRef, PublicUrl, type Sealed, Store, type UnitOfWork, Vault } from "#core"
import { jobSealContext } from "#core/engine"
import { Mailer } from "../../../people/email/index.ts"
import { type SignInAttempt, SignInAttemptsCollection } from "../collections.ts"
import { mailPerson, notYou, personMailRetry } from "../person-mail.ts"
import { Users } from "../users.ts"

const Payload = z.object({ attempt: z.string(), sealed: z.custom<Sealed>() })
const Secrets = z.object({ code: z.string(), link: z.string(), next: z.string() })

const reference = jobRef("identity.sign_in_mail", Payload, {
  retry: personMailRetry,
})

interface MailDeps {
  readonly queue: JobQueue
  readonly vault: Vault
  readonly clock: Clock
}

/** Stages the mail. */
export function stageSignInMail(work: UnitOfWork, deps: MailDeps, { id }: SignInAttempt, secrets: z.infer<typeof Secrets>): void {
  const sealed = deps.vault.seal(JSON.stringify(secrets), jobSealContext(id))
  deps.queue.enqueue(work, reference, { attempt: id, sealed }, { id, runAt: deps.clock.now() + 200 + randomInt(800) })
}

export const signInMail = defineJob(reference, {
  summary: "Sends a sign-in code and link to a person.",
  inject: { store: Store, users: Users, vault: Vault, clock: Clock, mailer: Mailer, publicUrl: PublicUrl },
  async run({ payload, deps: { store, users, vault, clock, mailer, publicUrl }, jobId, signal }) {
    const attempt = await store.open(SignInAttemptsCollection).get(payload.attempt)
    if (!attempt || Date.parse(attempt.expires_at) <= clock.now()) return
    if (attempt.claim === null && !(await users.byEmail(attempt.email))) return
    const { code, link, next } = Secrets.parse(JSON.parse(vault.open(payload.sealed, jobSealContext(jobId))))
    await mailPerson(mailer, {
      to: attempt.email,
      subject: `${code} is your sign-in code`,
      heading: "Sign in to Millrace",
      intro: "Enter the code in the browser that asked for it, or open the link there. Both work once, for ten minutes.",
      fields: [
        { label: "Code", value: code },
        { label: "Requested by", value: [attempt.device, attempt.address].filter(Boolean).join(", ") },
        notYou,
      ],
      button: { label: "Sign in", url: `${publicUrl()}${next}#link=${link}` },
      idempotencyKey: `sign-in:${attempt.id}`,
      at: attempt.created_at,
      signal,
    })
  },
})
