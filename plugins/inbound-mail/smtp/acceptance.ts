// Decides about recipients, and keeps a message on disk before the client is told that it was taken.
import { type Clock, type Ids, type JobQueue, type Store, timestamp, type UnitsOfWork } from "#core"
import type { Buckets } from "../../buckets/index.ts"
import type { MailRoute, MailRoutes } from "../../sending-domains/index.ts"
import { envelopeOf, InboundMailCollection, mailId, type StoredMail } from "../collections.ts"
import type { MailEnvelope, MailHandlers } from "../handlers.ts"
import { processRef, purgeRef } from "../jobs.ts"
import { firstLook, hasBareNewline, headerSectionOf } from "../parse/header-section.ts"
import type { Settings } from "../settings.ts"
import type { SmtpLimits } from "./limits.ts"
import { SmtpRefusal } from "./reply.ts"

const maxHeaderBytes = 256 * 1_024
/** Received headers of a message; RFC 5321 section 6.3 ends loops by their count. */
const maxHops = 50
const dayMs = 86_400_000

interface AcceptanceServices {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly queue: JobQueue
  readonly clock: Clock
  readonly ids: Ids
  readonly buckets: Buckets
  readonly routes: MailRoutes
  readonly handlers: MailHandlers
  readonly limits: SmtpLimits
  readonly settings: Settings
}

export class Acceptance {
  readonly #services: AcceptanceServices

  constructor(services: AcceptanceServices) {
    this.#services = services
  }

  /** The route of an address; throws the refusal where there is none. */
  async route(address: string): Promise<MailRoute> {
    const at = address.lastIndexOf("@")
    const [localPart, host] = [address.slice(0, at), address.slice(at + 1)]
    const route = at > 0 ? await this.#services.routes.of(host) : undefined
    if (!route) throw new SmtpRefusal(550, "5.7.1", "No domain of the service receives mail for this address; nothing is relayed")
    if (route.kind === "bounce" && !this.#services.handlers.accepts({ address, localPart, route }))
      throw new SmtpRefusal(550, "5.1.1", "The address does not exist")
    return route
  }

  /** Resolves once the message is on disk for every recipient. Throws the refusal of what is not taken. */
  async take(raw: Buffer, envelope: MailEnvelope): Promise<void> {
    const section = headerSectionOf(raw)
    if (hasBareNewline(raw))
      throw new SmtpRefusal(550, "5.6.11", "A line ends in a bare CR or LF; lines end in CRLF (RFC 5321 section 2.3.8)")
    if (section.length > maxHeaderBytes) throw new SmtpRefusal(554, "5.6.0", `The headers are longer than ${maxHeaderBytes} bytes`)
    const { messageId, from, receivedCount } = firstLook(section)
    if (receivedCount > maxHops) throw new SmtpRefusal(554, "5.4.6", `The message has passed more than ${maxHops} servers, as in a loop`)
    const mails = await this.#mails(raw, envelope, messageId === "" ? [raw.toString("latin1")] : [messageId, from])
    await this.#keep(raw, mails)
  }

  async #mails(
    raw: Buffer,
    envelope: MailEnvelope,
    identity: readonly string[],
  ): Promise<Map<string, [organization: string, mail: StoredMail]>> {
    const { clock, ids } = this.#services
    const received_at = timestamp(clock.now())
    const mails = new Map<string, [organization: string, mail: StoredMail]>()
    for (const recipient of envelope.recipients) {
      const route = await this.route(recipient)
      const id = mailId(route, identity)
      const earlier = mails.get(id)
      if (earlier) {
        earlier[1].envelope.recipients.push(recipient)
        continue
      }
      await this.#services.limits.recipient(route.organization)
      const [day] = received_at.split("T")
      mails.set(id, [
        route.organization,
        {
          id,
          domain: route.domain,
          kind: route.kind,
          envelope: envelopeOf({ ...envelope, recipients: [recipient] }),
          received_at,
          size: raw.length,
          raw_key: `inbound-mail/${day}/${ids.uuid()}.eml`,
          handled_by: null,
          event_id: ids.uuid(),
        },
      ])
    }
    return mails
  }

  async #keep(raw: Buffer, mails: ReadonlyMap<string, [organization: string, mail: StoredMail]>): Promise<void> {
    const { store, works, queue, clock, buckets, settings } = this.#services
    const fresh: [organization: string, mail: StoredMail][] = []
    for (const [organization, mail] of mails.values())
      if (!(await store.open(InboundMailCollection, organization).get(mail.id))) fresh.push([organization, mail])
    for (const [organization, mail] of fresh)
      await buckets.open(organization).put(mail.raw_key, Buffer.concat([traceOf(mail, settings.hostname), raw]))
    if (fresh.length === 0) return
    await works.run((work) => {
      for (const [organization, mail] of fresh) {
        const payload = { organization, mail_id: mail.id }
        work.in(InboundMailCollection, organization).insert(mail, { ifPresent: "keep" })
        queue.enqueue(work, processRef, payload, { organization, id: mail.id })
        queue.enqueue(
          work,
          purgeRef,
          { organization, raw_key: mail.raw_key },
          { organization, runAt: clock.now() + settings.keep_raw_days * dayMs },
        )
      }
    })
  }
}

/** What a server adds in front (RFC 5321 section 4.4); values that clients gave are cut to what cannot end a line. */
function traceOf({ id, envelope, received_at }: StoredMail, hostname: string): Buffer {
  const plain = (text: string) => text.replace(/[^\x21-\x7e]|[()<>\\;]/g, "?").slice(0, 300)
  const date = new Date(received_at).toUTCString().replace("GMT", "+0000")
  const from = `${plain(envelope.helo)} ([${plain(envelope.remote_address)}])`
  return Buffer.from(
    `Return-Path: <${plain(envelope.from)}>\r\nReceived: from ${from}\r\n\tby ${hostname} with ${envelope.tls ? "ESMTPS" : "ESMTP"} id ${id};\r\n\t${date}\r\n`,
  )
}
