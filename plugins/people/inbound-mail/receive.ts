// Handles received mail without a claiming handler: the mail becomes a message of a conversation.
import type { UnitOfWork } from "#core"
import { InboundMailCollection } from "./collections.ts"
import type { StoredMessage } from "./conversations/collections.ts"
import type { Conversations, NewMessage } from "./conversations/conversations.ts"
import type { Feeding } from "./feeding/feed.ts"
import type { Forwarding } from "./forwarding/forward.ts"
import type { AuthorFollower, ReceivedMail } from "./handlers.ts"
import { originOf } from "./origin/mail-origin.ts"

const nobody = { name: "", address: "unknown@unknown.invalid" }

interface ReceiveServices {
  readonly conversations: Conversations
  readonly forwarding: Forwarding
  readonly feeding: Feeding
  readonly authors: readonly AuthorFollower[]
}

/** Reports the author as a lead. Returns a function that stages the message with its forward and events. */
export async function receiving(
  { conversations, forwarding, feeding, authors }: ReceiveServices,
  mail: ReceivedMail,
): Promise<(work: UnitOfWork) => Promise<void>> {
  const { id, route, envelope, received_at, content } = mail
  const from = content.from ?? (envelope.from === "" ? nobody : { name: "", address: envelope.from })
  const { message_id, to, cc, subject, text, attachments, references } = content
  const inbound = inboundOf(mail)
  const forward = await forwarding.plan(mail, { from, inbound })
  // Keeps people erased meanwhile from becoming leads again.
  const stage = (staged: UnitOfWork) => staged.in(InboundMailCollection, route.organization).update(id, { $set: { told_in: staged.id } })
  if (!inbound.quarantined && !inbound.automatic)
    for (const follow of authors) await follow(route.organization, { ...from, at: received_at }, stage)
  const message: NewMessage = {
    id,
    direction: "inbound",
    message_id,
    from,
    to: [...to],
    cc: [...cc],
    subject,
    text,
    attachments: [...attachments],
    at: received_at,
    dated: content.date || null,
    inbound: { ...inbound, forward },
    references,
    domain: route.domain,
  }
  return async (work) => {
    if (forward?.state === "queued") forwarding.stage(work, mail, forward.to)
    await feeding.plan(work, mail, { inbound })
    await conversations.add(work, route.organization, message)
  }
}

/** Stages the events of a message already received through another delivery. */
export async function receiveAgain({ feeding }: Pick<ReceiveServices, "feeding">, mail: ReceivedMail, work: UnitOfWork): Promise<void> {
  await feeding.plan(work, mail, { inbound: inboundOf(mail) })
}

function inboundOf(mail: ReceivedMail): NonNullable<StoredMessage["inbound"]> {
  const { route, content, authentication } = mail
  return {
    domain: route.domain,
    authentication: { ...authentication, signed_by: [...authentication.signed_by] },
    quarantined: authentication.dmarc === "fail" && ["quarantine", "reject"].includes(authentication.policy),
    automatic: originOf(mail) !== "person",
    problem: content.problem,
    forward: null,
  }
}
