// The job that forwards a mail, tried as often as any mail is.
import { AppError, defineJob, Store } from "#core"
import { MessageCollection } from "../conversations/collections.ts"
import { Forwarding, forwardRef } from "./forward.ts"

export const forwardJob = defineJob(forwardRef, {
  // The key is the domain that the mail is forwarded to.
  slots: 32,
  limitsKeys: true,
  summary: "Forwards a received mail to the mailbox of its domain.",
  inject: { forwarding: Forwarding, store: Store },
  run: ({ payload: { organization, mail_id }, deps, work, signal }) => deps.forwarding.send(work, organization, mail_id, signal),
  async exhausted({ payload: { organization, mail_id }, deps, work }, error) {
    const message = await deps.store.open(MessageCollection, organization).get(mail_id)
    const forward = message?.inbound?.forward
    const reason = (error instanceof AppError && error.details.reason) || "failed"
    if (forward) deps.forwarding.note(work, organization, mail_id, { ...forward, state: "failed", reason })
  },
})
