// Checks recipients, and stores a message on disk before the client receives the 250.
import { AppError, type Clock, derivedUuid, type Ids, type JobQueue, type Store, timestamp, type UnitsOfWork } from "#core"
import { networkOf, type Pauses } from "#core/engine"
import type { Buckets } from "../../../data/buckets/index.ts"
import type { MailRoute, MailRoutes } from "../../sending-domains/index.ts"
import { envelopeOf, InboundMailCollection, mailId, maxDeliveries, recipientsOf, type StoredMail } from "../collections.ts"
import { normalAddress } from "../conversations/conversations.ts"
import type { MailEnvelope, MailHandler } from "../handlers.ts"
import { processRef, purgeRef } from "../jobs.ts"
import { contentDigest, hasBareNewline, headerSectionOf, receivedCount, signaturesDigest } from "../parse/header-section.ts"
import type { Settings } from "../settings.ts"
import { type SmtpLimits, SmtpRefusal } from "./limits.ts"

const maxHeaderBytes = 256 * 1_024
/** Limit of Received headers. RFC 5321 section 6.3 detects loops by their number. */
const maxHops = 50
const dayMs = 86_400_000
/** Tries to store a message under concurrent deliveries of the same message. */
const maxAttempts = 10

interface AcceptanceServices {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly queue: JobQueue
  readonly clock: Clock
  readonly ids: Ids
  readonly buckets: Buckets
  readonly routes: MailRoutes
  readonly handlers: readonly MailHandler[]
  readonly limits: SmtpLimits
  readonly pauses: Pauses
  readonly settings: Settings
}

/** An SMTP transaction. */
interface Delivery {
  readonly envelope: MailEnvelope
  readonly content: string
  readonly source: string
}

interface FreshMail {
  readonly organization: string
  readonly mail: StoredMail
}

export class Acceptance {
  readonly #services: AcceptanceServices

  constructor(services: AcceptanceServices) {
    this.#services = services
  }

  /** Returns the route of an address. Throws a refusal if no route exists. */
  async route(address: string): Promise<MailRoute> {
    const at = address.lastIndexOf("@")
    const [localPart, host] = [address.slice(0, at), address.slice(at + 1)]
    if (this.#isPostmaster(address)) return this.#postmasterRoute()
    const route = at > 0 ? await this.#services.routes.of(host) : undefined
    if (!route) throw new SmtpRefusal(550, "5.7.1", "No domain of the service receives mail for this address; nothing is relayed")
    if (this.#services.pauses.has(route.organization))
      throw new SmtpRefusal(450, "4.2.1", "The mailbox is disabled at present; try again later")
    if (route.kind === "bounce" && !this.#services.handlers.some((handler) => handler.accepts?.({ address, localPart, route })))
      throw new SmtpRefusal(550, "5.1.1", "The address does not exist")
    return route
  }

  /** Returns true for the service's own postmaster (RFC 5321 section 4.5.1): without a domain or at the server's own name. */
  #isPostmaster(address: string): boolean {
    const [localPart = "", host] = address.toLowerCase().split("@")
    return localPart === "postmaster" && (host === undefined || host === this.#services.settings.hostname.toLowerCase())
  }

  async #postmasterRoute(): Promise<MailRoute> {
    const route = await this.#services.routes.first()
    if (route) return route
    throw new SmtpRefusal(450, "4.1.1", "No domain of the service receives mail yet; try again later")
  }

  /** Resolves once the message is on disk for all recipients. Throws a refusal if the message is not accepted. */
  async take(raw: Buffer<ArrayBuffer>, envelope: MailEnvelope): Promise<void> {
    const section = headerSectionOf(raw)
    if (hasBareNewline(raw))
      throw new SmtpRefusal(550, "5.6.11", "A line ends in a bare CR or LF; lines end in CRLF (RFC 5321 section 2.3.8)")
    if (section.length > maxHeaderBytes) throw new SmtpRefusal(554, "5.6.0", `The headers are longer than ${maxHeaderBytes} bytes`)
    if (receivedCount(section) > maxHops)
      throw new SmtpRefusal(554, "5.4.6", `The message has passed more than ${maxHops} servers, as in a loop`)
    const content = await contentDigest(raw, section)
    const source = derivedUuid("mail source", networkOf(envelope.remote_address), envelope.from, signaturesDigest(section))
    await this.#keep(raw, { envelope, content, source })
  }

  /** Stores the message for recipients without a stored copy. Concurrent deliveries are stored one after the other. */
  async #keep(raw: Buffer, delivery: Delivery): Promise<void> {
    const counted = new Set<string>()
    for (let attempt = 1; ; attempt++) {
      const fresh = await this.#freshMails(raw, delivery)
      for (const { organization, mail } of fresh) {
        if (!counted.has(mail.id)) await this.#services.limits.recipient(organization, mail.size)
        counted.add(mail.id)
      }
      if (fresh.length === 0 || (await this.#stored(raw, fresh))) return
      if (attempt === maxAttempts) throw new Error(`${maxAttempts} deliveries of one message came at the same moment.`)
    }
  }

  async #freshMails(raw: Buffer, { envelope, content, source }: Delivery): Promise<FreshMail[]> {
    const { clock, ids, store } = this.#services
    const received_at = timestamp(clock.now())
    const [day] = received_at.split("T")
    const fresh: FreshMail[] = []
    for (const { route, recipients: all } of await this.#byRoute(envelope.recipients)) {
      const content_key = mailId(route, [content])
      const earlier = await store.open(InboundMailCollection, route.organization).find({ content_key }, { limit: maxDeliveries })
      const taken = recipientsOf(earlier.filter(({ source_key }) => source_key === source))
      const recipients = all.filter((one) => !taken.has(normalAddress(one)))
      if (recipients.length === 0) continue
      const id = earlier.length === 0 ? content_key : mailId(route, [content, source, ...recipients.map(normalAddress).sort()])
      const mail: StoredMail = {
        id,
        domain: route.domain,
        kind: route.kind,
        envelope: envelopeOf({ ...envelope, recipients }),
        received_at,
        size: raw.length,
        raw_key: `inbound-mail/${day}/${ids.uuid()}.eml`,
        handled_by: null,
        event_id: ids.uuid(),
        content_key,
        source_key: source,
      }
      fresh.push({ organization: route.organization, mail })
    }
    return fresh
  }

  async #byRoute(recipients: readonly string[]): Promise<{ route: MailRoute; recipients: string[] }[]> {
    const groups = new Map<string, { route: MailRoute; recipients: string[] }>()
    for (const recipient of recipients) {
      const route = await this.route(recipient)
      const address = recipient.includes("@") ? recipient : `${recipient}@${route.domain}`
      const key = `${route.organization} ${route.kind} ${route.domain}`
      const group = groups.get(key)
      if (group) group.recipients.push(address)
      else groups.set(key, { route, recipients: [address] })
    }
    return [...groups.values()]
  }

  /** Returns false if another delivery of the message was stored meanwhile. */
  async #stored(raw: Buffer, fresh: readonly FreshMail[]): Promise<boolean> {
    const { works, queue, clock, buckets, settings } = this.#services
    for (const { organization, mail } of fresh)
      await buckets.open(organization).put(mail.raw_key, Buffer.concat([traceOf(mail, settings.hostname), raw]))
    try {
      await works.run((work) => {
        for (const { organization, mail } of fresh) {
          const payload = { organization, mail_id: mail.id }
          const ifPresent = mail.id === mail.content_key ? "fail" : "keep"
          work.in(InboundMailCollection, organization).insert(mail, { ifPresent })
          queue.enqueue(work, processRef, payload, { organization, id: mail.id })
          queue.enqueue(
            work,
            purgeRef,
            { organization, raw_key: mail.raw_key },
            { organization, runAt: clock.now() + settings.keep_raw_days * dayMs },
          )
        }
      })
      return true
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "already_exists") throw error
      for (const { organization, mail } of fresh) await buckets.open(organization).remove(mail.raw_key)
      return false
    }
  }
}

/** Returns the trace headers of a server (RFC 5321 section 4.4). Removes line-ending characters from client values. */
function traceOf({ id, envelope, received_at }: StoredMail, hostname: string): Buffer {
  const plain = (text: string) => text.replace(/[^\x21-\x7e]|[()<>\\;]/g, "?").slice(0, 300)
  const date = new Date(received_at).toUTCString().replace("GMT", "+0000")
  const from = `${plain(envelope.helo)} ([${plain(envelope.remote_address)}])`
  return Buffer.from(
    `Return-Path: <${plain(envelope.from)}>\r\nReceived: from ${from}\r\n\tby ${hostname} with ${envelope.tls ? "ESMTPS" : "ESMTP"} id ${id};\r\n\t${date}\r\n`,
  )
}
