// Sends a message: chooses the sender, parses recipients, renders and passes the mail to the transport. The message id is derived
// from the idempotency key. A retry has the same id, so mailboxes recognize the duplicate.
import { createHash } from "node:crypto"
import { domainToASCII } from "node:url"
import { AppError, token, type UnitOfWork } from "#core"
import { type MailAddress, parseAddresses } from "./addresses.ts"
import { combined, type MailCategory, type MailGuard, type Withheld } from "./guards.ts"
import { type MailContent, renderMail } from "./render.ts"
import type { Sender, Senders } from "./senders.ts"
import { type AttachedFile, DeliveryFailed, type Transport } from "./transport.ts"

export interface MailMessage extends MailContent {
  /** Id of the sending organization. Chooses the sender. Empty for `sign_in`. */
  readonly organization: string
  /** Addresses as a text or a list. Each text may contain several, separated by commas. */
  readonly to: string | readonly string[]
  readonly cc?: string | readonly string[] | undefined
  readonly bcc?: string | readonly string[] | undefined
  readonly reply_to?: string | undefined
  /** The organization's sending domain, if it has several. If the domain is not active, the default sender is used. */
  readonly from_domain?: string
  /** Replaces the sender's own name. */
  readonly from_name?: string
  /** Additional headers. Characters that could start another header are removed. */
  readonly headers?: Readonly<Record<string, string>>
  readonly attached?: readonly AttachedFile[]
  /** Default: `transactional`. */
  readonly category?: MailCategory
  /** The same for all tries of a message. */
  readonly idempotencyKey: string
  /** RFC 3339. The same for all tries. Part of the file name in the outbox. */
  readonly at: string
  readonly signal?: AbortSignal
  /** The unit of work with the receipt. The message enters its conversation in the same commit. */
  readonly work?: UnitOfWork
}

export interface MailReceipt {
  /** Null if all recipients were withheld and no mail was sent. */
  readonly message_id: string | null
  readonly accepted: readonly string[]
  /** Recipients refused by the mail server while others were accepted. */
  readonly rejected: readonly string[]
  /** Withheld recipients, with the reason. */
  readonly suppressed: readonly Withheld[]
}

export interface Mailer {
  /** True if messages become files in the outbox folder. The service does not deliver them. */
  readonly writesOutbox: boolean
  /** Throws `invalid_argument` for invalid addresses, and `unavailable` if a retry makes sense. */
  send(message: MailMessage): Promise<MailReceipt>
  close(): Promise<void>
}

export const Mailer = token<Mailer>("Mailer")

const maxRecipients = 50

export function createMailer(senders: Senders, transport: Transport, footer: string, declared: readonly MailGuard[] = []): Mailer {
  return {
    writesOutbox: transport.isOutbox ?? false,
    async send(message) {
      const category = message.category ?? "transactional"
      const guards = combined(category === "sign_in" ? [] : declared)
      const { to, cc, bcc } = recipientsOf(message, category)
      const sender = await senderOf(senders, message)
      const replyTo = message.reply_to ? addressesOf(message.reply_to, "reply_to") : (sender.reply_to ?? [])
      const messageId = messageIdOf(message.idempotencyKey, sender.from.address)
      const recipients = [...to, ...cc, ...bcc].map(({ address }) => address)
      const leaving = { organization: message.organization, category, messageId, recipients }
      const suppressed = await guards.withheld(leaving)
      const barred = new Set(suppressed.map(({ address }) => address))
      if (recipients.every((address) => barred.has(address))) return { message_id: null, accepted: [], rejected: [], suppressed }
      const allowed = (list: MailAddress[]) => list.filter(({ address }) => !barred.has(address))
      const unsubscribeUrl = category === "marketing" ? await guards.unsubscribeUrl(leaving) : undefined
      const { subject, html, text } = renderMail(message, footer, unsubscribeUrl)
      const { from, dkim, envelope_from } = sender
      const returns = envelope_from === undefined ? undefined : await returnPath(envelope_from, () => guards.returnToken(leaving))
      const { headers, attached, from_name: name = from.name } = message
      const content = { replyTo, subject, html, text, messageId, at: message.at, unsubscribeUrl, headers, attached }
      const mail = {
        organization: message.organization,
        from: { ...from, name },
        ...(dkim && { dkim }),
        ...(returns && { envelope_from: returns }),
        to: allowed(to),
        cc: allowed(cc),
        bcc: allowed(bcc),
        ...content,
      }
      try {
        const { accepted, refusals } = await transport.deliver(mail, message.signal)
        await guards.refused(leaving, refusals)
        await guards.sent(leaving, mail, message.work)
        return { message_id: messageId, accepted, rejected: refusals.map(({ address }) => address), suppressed }
      } catch (error) {
        if (error instanceof DeliveryFailed) await guards.refused(leaving, error.refusals)
        throw error
      }
    },
    close: () => transport.close(),
  }
}

/** Returns the sender. Sign-in mail comes from the service itself. */
async function senderOf(senders: Senders, { category, organization, from_domain }: MailMessage): Promise<Sender> {
  return category === "sign_in" ? senders.service : await senders.senderOf(organization, from_domain)
}

/** Returns each address once. Throws `invalid_argument`. */
function recipientsOf(message: MailMessage, category: MailCategory) {
  const to = addressesOf(message.to, "to")
  const seen = new Set(to.map(({ address }) => address.toLowerCase()))
  const cc = without(seen, addressesOf(message.cc ?? [], "cc"))
  const bcc = without(seen, addressesOf(message.bcc ?? [], "bcc"))
  const count = to.length + cc.length + bcc.length
  if (to.length === 0) throw refused("no recipient in to")
  if (count > maxRecipients) throw refused(`${count} recipients; the limit is ${maxRecipients}`)
  if (category === "marketing" && count > 1)
    throw refused(`${count} recipients; a marketing message goes to one, who can unsubscribe by its link`)
  return { to, cc, bcc }
}

async function returnPath(address: string, tokenOf: () => Promise<string | undefined>): Promise<string> {
  const token = await tokenOf()
  return token === undefined ? address : address.replace("@", `+${token}@`)
}

function messageIdOf(idempotencyKey: string, from: string): string {
  const hash = createHash("sha256").update(idempotencyKey).digest("hex").slice(0, 40)
  return `<${hash}@${domainToASCII(from.slice(from.lastIndexOf("@") + 1))}>`
}

function addressesOf(given: string | readonly string[], field: string): MailAddress[] {
  const seen = new Set<string>()
  return without(
    seen,
    (typeof given === "string" ? [given] : given).flatMap((text) => parseAddresses(text, field)),
  )
}

function without(seen: Set<string>, addresses: MailAddress[]): MailAddress[] {
  return addresses.filter(({ address }) => {
    const key = address.toLowerCase()
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

function refused(problem: string): AppError {
  return new AppError("invalid_argument", `The mail was not sent: ${problem}.`, { reason: "recipients_refused", retryable: false })
}
