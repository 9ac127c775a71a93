// Forwards received mail to the mailbox of its domain. The mail comes from the domain and carries its signature, so SPF, DKIM and
// DMARC pass. The author is in Reply-To, and the original message is attached.
import { z } from "zod"
import { AppError, type Deps, defineJob, derivedUuid, JobQueue, type Json, jobRef, RateLimiter, Store, type UnitOfWork } from "#core"
import { Buckets } from "../../../data/buckets/index.ts"
import { domainOf, isMailAddress, Mailer, ownHeader } from "../../email/index.ts"
import { MailRoutes } from "../../sending-domains/index.ts"
import { InboundMailCollection, type StoredMail } from "../collections.ts"
import { type Forward, MessageCollection, type StoredMessage } from "../conversations/collections.ts"
import { normalAddress } from "../conversations/conversations.ts"
import type { ReceivedMail } from "../handlers.ts"
import { originOf } from "../origin/mail-origin.ts"
import { headersOf } from "../parse/content.ts"

const maxText = 20_000

const forwardRef = jobRef("inbound_mail.forward", z.object({ organization: z.string(), mail_id: z.string() }))

interface ForwardingServices extends Deps<typeof Forwarding.inject> {
  /** Messages per minute for each organization. */
  readonly limit: number
}

export class Forwarding {
  static readonly inject = { store: Store, queue: JobQueue, buckets: Buckets, mailer: Mailer, routes: MailRoutes, limiter: RateLimiter }
  readonly #services: ForwardingServices

  constructor(services: ForwardingServices) {
    this.#services = services
  }

  /** Decides whether to forward a mail, and counts against the limit. Returns null if the domain has no forwarding address. */
  async plan(mail: ReceivedMail, message: Pick<StoredMessage, "from" | "inbound">): Promise<Forward | null> {
    const to = await this.#services.routes.forwardTo(mail.route)
    if (to === "") return null
    const reason = await this.#obstacle(mail, message, to)
    return reason === "" ? { state: "queued", to, reason } : { state: "skipped", to, reason }
  }

  /** Stages the forwarding of a mail. */
  stage(work: UnitOfWork, { id, route: { organization } }: ReceivedMail, to: string): void {
    const options = { organization, key: domainOf(to), id: derivedUuid("forward", id) }
    this.#services.queue.enqueue(work, forwardRef, { organization, mail_id: id }, options)
  }

  async #obstacle(mail: ReceivedMail, { from, inbound }: Pick<StoredMessage, "from" | "inbound">, to: string): Promise<Forward["reason"]> {
    const { content, route } = mail
    if (headersOf(content, ownHeader.toLowerCase()).length > 0) return "loop"
    if (inbound?.quarantined) return "quarantined"
    if (["program", "answer"].includes(originOf(mail))) return "automatic"
    if (normalAddress(from.address) === normalAddress(to)) return "author"
    if (await this.#services.routes.of(to.slice(to.lastIndexOf("@") + 1))) return "received_here"
    const { limiter, limit } = this.#services
    const { allowed } = await limiter.consume([{ id: `inbound-mail-forwards:${route.organization}`, limit }])
    return allowed ? "" : "too_many"
  }

  /** Sends the planned forward. All tries send the same message. */
  async send(work: UnitOfWork, organization: string, mailId: string, signal: AbortSignal): Promise<void> {
    const { store, mailer } = this.#services
    const message = await store.open(MessageCollection, organization).get(mailId)
    const mail = await store.open(InboundMailCollection, organization).get(mailId)
    const forward = message?.inbound?.forward
    if (!message || !mail || forward?.state !== "queued") return
    const raw = await this.#raw(organization, mail)
    // As an octet stream the attachment is encoded in base64. RFC 2046 section 5.2.1 forbids base64 for a message, and servers
    // refuse long lines.
    const media_type = hasLongLine(raw) ? "application/octet-stream" : "message/rfc822"
    const { message_id } = await mailer.send({
      ...contentOf(message, mail),
      organization,
      from_domain: mail.domain,
      to: forward.to,
      ...(isMailAddress(message.from.address) ? { reply_to: message.from.address } : {}),
      category: "notice",
      headers: headersFor(message),
      attached: [{ filename: "original.eml", media_type, content: raw }],
      idempotencyKey: derivedUuid("forwarded mail", mailId, forward.to),
      at: message.at,
      signal,
      work,
    })
    this.note(work, organization, mailId, message_id === null ? { ...forward, state: "suppressed" } : { ...forward, state: "sent" })
  }

  note(work: UnitOfWork, organization: string, mailId: string, forward: Forward): void {
    work.in(MessageCollection, organization).update(mailId, { $set: { "inbound.forward": forward as unknown as Json } }, { optional: true })
  }

  async #raw(organization: string, { raw_key }: StoredMail): Promise<Uint8Array> {
    const object = await this.#services.buckets.open(organization).get(raw_key)
    const chunks: Uint8Array[] = []
    for await (const chunk of object?.chunks ?? []) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
}

function contentOf({ from, to, cc, subject, text, inbound, dated }: StoredMessage, { domain }: StoredMail) {
  const { authentication } = inbound ?? {}
  const list = (addresses: StoredMessage["to"]) => addresses.map(({ address }) => address).join(", ")
  const checks = authentication ? `SPF ${authentication.spf}, DKIM ${authentication.dkim}, DMARC ${authentication.dmarc}` : ""
  const fields = [
    { label: "From", value: from.name ? `${from.name} (${from.address})` : from.address },
    { label: "To", value: list(to) },
    { label: "Cc", value: list(cc) },
    { label: "Date", value: dated ?? "" },
    { label: "Checks", value: checks },
  ]
  const heading = subject || `Mail to ${domain}`
  return {
    from_name: `${from.name || from.address} via ${domain}`,
    subject: heading,
    heading,
    intro: text.slice(0, maxText).toWellFormed(),
    fields: fields.filter(({ value }) => value !== ""),
  }
}

/** Bytes of a line without its end (RFC 5322 section 2.1.1). */
const maxLine = 998

function hasLongLine(raw: Uint8Array): boolean {
  let start = 0
  for (let end = raw.indexOf(10); end >= 0; end = raw.indexOf(10, start)) {
    if (end - start > maxLine + 1) return true
    start = end + 1
  }
  return raw.length - start > maxLine
}

function headersFor({ from, message_id }: StoredMessage): Record<string, string> {
  const printable = (text: string) => text.replace(/[^\x21-\x7e]/g, "?")
  return {
    "X-Original-From": printable(from.address),
    ...(message_id === "" ? {} : { References: printable(message_id) }),
  }
}

export const forwardJob = defineJob(forwardRef, {
  // The key is the target domain.
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
