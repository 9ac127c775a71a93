// Mail on the return path: bounces and complaints. They count only with the token of a sent message, and for one of its
// recipients. All other content of the mail can be forged.
import type { Clock, Logger, Store, UnitOfWork } from "#core"
import { normalAddress } from "../../email/index.ts"
import type { MailHandler, ReceivedMail } from "../../inbound-mail/index.ts"
import type { SuppressionReason, SuppressionSource } from "../collections.ts"
import { isDeadAddress } from "../guard.ts"
import type { Suppressions } from "../suppressions.ts"
import {
  deliveryStatusType,
  feedbackType,
  type ReportedRecipient,
  readDeliveryReport,
  readFeedbackReport,
  readTextReport,
} from "./reports.ts"
import { findSent, type SentMail, tokenOf } from "./sent-mail.ts"
import { countSoftBounce, type Settings } from "./soft-bounces.ts"

export interface BounceServices {
  readonly store: Store
  readonly clock: Clock
  readonly suppressions: Suppressions
  readonly settings: Settings
  readonly log: Logger
}

/** Mailbox for complaints of mailbox providers. */
const complaintsLocalPart = "complaints"

export function bounceHandler(services: BounceServices): MailHandler {
  return {
    name: "bounces",
    accepts: ({ localPart }) => isOurs(localPart),
    claims: ({ route, envelope }) => route.kind === "bounce" && envelope.recipients.map(localPartOf).some(isOurs),
    async handle(mail, work) {
      const ignored = await take(services, mail, work)
      if (ignored !== undefined) services.log.info({ mail: mail.id, why: ignored }, "mail on the return path was ignored")
    },
  }
}

function isOurs(localPart: string): boolean {
  return localPart.toLowerCase() === complaintsLocalPart || tokenOf(localPart) !== undefined
}

function localPartOf(address: string): string {
  return address.slice(0, address.lastIndexOf("@"))
}

/** Returns the reason if the mail does not count. */
async function take(services: BounceServices, mail: ReceivedMail, work: UnitOfWork): Promise<string | undefined> {
  const parts = mail.content.report?.parts ?? []
  const textOf = (type: RegExp) => parts.find(({ media_type }) => type.test(media_type))?.text
  const tokens = mail.envelope.recipients.flatMap((address) => tokenOf(localPartOf(address)) ?? [])
  const feedback = parts.find(({ media_type }) => media_type === feedbackType)?.text
  if (feedback !== undefined)
    return complaint(services, work, { feedback, original: textOf(/^(?:message\/rfc822|text\/rfc822-headers)$/) ?? "", tokens })
  const status = textOf(deliveryStatusType)
  const reported = status === undefined ? readTextReport(mail.content) : readDeliveryReport(status)
  if (status === undefined && reported.length === 0) return "not_a_report"
  /** A repeated address in a report counts once. */
  const seen = new Set<string>()
  for (const token of new Set(tokens)) {
    const sent = await findSent(services.store, token)
    if (!sent) return "unknown_token"
    const matched = reported.flatMap((one) => {
      const address = recipientOf(sent, one.addresses)
      return address === undefined ? [] : [{ ...one, address }]
    })
    if (matched.length === 0) return "no_recipient_of_the_message"
    for (const one of matched) {
      const key = `${sent.owner_id} ${one.address}`
      if (!seen.has(key)) await bounced(services, work, sent, one)
      seen.add(key)
    }
  }
  return undefined
}

async function bounced(
  { store, clock, suppressions, settings }: BounceServices,
  work: UnitOfWork,
  sent: SentMail,
  { address, action, status, text }: ReportedRecipient & { readonly address: string },
): Promise<void> {
  const enter = (report: string) => add(suppressions, work, sent, { address, reason: "hard_bounce", source: "bounce", status, report })
  if (action === "failed" && isDeadAddress(status)) return enter(text)
  const digest = await suppressions.digestOf(sent.owner_id, address)
  const counted = { organization: sent.owner_id, digest, messageId: sent.message_id, now: clock.now() }
  const dead = await countSoftBounce(store, work, settings, counted)
  if (dead !== undefined) await enter(`${dead} The last: ${text}`)
}

interface Complaint {
  readonly feedback: string
  readonly original: string
  readonly tokens: readonly string[]
}

async function complaint(
  services: BounceServices,
  work: UnitOfWork,
  { feedback, original, tokens }: Complaint,
): Promise<string | undefined> {
  const report = readFeedbackReport(feedback, original)
  if (!report) return "not_a_complaint"
  const token = report.token ?? tokens[0]
  const sent = token === undefined ? undefined : await findSent(services.store, token)
  if (!sent) return "unknown_token"
  const [only, ...others] = sent.recipients
  const address = report.address === "" ? (others.length === 0 ? only : undefined) : recipientOf(sent, [report.address])
  if (address === undefined) return "no_recipient_of_the_message"
  const { reason, text } = report
  await add(services.suppressions, work, sent, { address, reason, source: "feedback_report", status: null, report: text })
  return undefined
}

interface Entry {
  readonly address: string
  readonly reason: SuppressionReason
  readonly source: SuppressionSource
  readonly status: string | null
  readonly report: string
}

async function add(suppressions: Suppressions, work: UnitOfWork, sent: SentMail, { status, report, ...entry }: Entry): Promise<void> {
  const evidence = { message_id: sent.message_id, smtp_status: status, report }
  await suppressions.add(work, sent.owner_id, { ...entry, evidence })
}

function recipientOf({ recipients }: SentMail, addresses: readonly string[]): string | undefined {
  return addresses.map(normalAddress).find((address) => recipients.includes(address))
}
