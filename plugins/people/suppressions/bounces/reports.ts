// The fields of a report's machine-readable part: groups of `Name: value` lines separated by empty lines (RFC 3464, RFC 5965).

import { headersOf, type MailContent } from "../../inbound-mail/index.ts"
import { tokenOf } from "./sent-mail.ts"

/** Values by name in lower case. The first of a repeated field counts. */
type ReportFields = ReadonlyMap<string, string>

const maxGroups = 200
const maxValue = 2_000

function fieldGroups(text: string): ReportFields[] {
  const groups: Map<string, string>[] = []
  let group: Map<string, string> | undefined
  let last = ""
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === "") {
      group = undefined
      continue
    }
    if (group && /^[ \t]/.test(line)) {
      group.set(last, `${group.get(last) ?? ""} ${line.trim()}`.slice(0, maxValue))
      continue
    }
    const colon = line.indexOf(":")
    if (colon < 1) continue
    if (!group) {
      if (groups.length === maxGroups) return groups
      group = new Map()
      groups.push(group)
    }
    last = line.slice(0, colon).trim().toLowerCase()
    if (!group.has(last))
      group.set(
        last,
        line
          .slice(colon + 1)
          .trim()
          .slice(0, maxValue),
      )
  }
  return groups
}

/** Returns the address of a typed field, such as `rfc822; ada@example.com`, or of an untyped field. Empty if absent. */
function addressIn(value: string | undefined): string {
  const [, type = "rfc822", text = ""] = /^(?:\s*([\w-]+)\s*;)?(.*)$/s.exec(value ?? "") ?? []
  const plain = text.trim().replace(/^<([^<>]*)>$/, "$1")
  // RFC 6533 section 3.
  return type.toLowerCase() === "utf-8" ? plain.replace(/\\x\{([0-9A-F]{2,6})\}/gi, (_, code: string) => characterOf(code)) : plain
}

function characterOf(code: string): string {
  const point = Number.parseInt(code, 16)
  return point > 31 && point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff) ? String.fromCodePoint(point) : ""
}

export interface ReportedRecipient {
  /** Addresses of the recipient: the original address, and the final address of delivery. */
  readonly addresses: readonly string[]
  readonly action: "failed" | "delayed"
  /** Enhanced status code (RFC 3463), of class 4 or 5. */
  readonly status: string
  readonly text: string
}

/** Delivery status notifications (RFC 3464, RFC 6533): the outcome for each recipient according to the reporting server. */
export const deliveryStatusType = /^message\/(?:global-)?delivery-status$/

/** Returns recipients with failed or delayed mail. Leaves out successful deliveries. */
export function readDeliveryReport(text: string): ReportedRecipient[] {
  const groups = fieldGroups(text)
  const reporter = groups.find((group) => group.has("reporting-mta"))?.get("reporting-mta")
  return groups.flatMap((group) => {
    const addresses = [addressIn(group.get("original-recipient")), addressIn(group.get("final-recipient"))].filter((one) => one !== "")
    const status = statusOf(group)
    const action = (group.get("action") ?? "failed").toLowerCase()
    if (addresses.length === 0 || status === undefined || (action !== "failed" && action !== "delayed")) return []
    const said = group.get("diagnostic-code") ?? group.get("status") ?? ""
    return [{ addresses, action, status, text: reporter === undefined ? said : `${said} Reported by ${reporter}.` }]
  })
}

/** Returns the field Status. If Status is missing or unspecific, returns the code of the diagnosis. */
function statusOf(group: ReportFields): string | undefined {
  const given = /\b([45]\.\d{1,3}\.\d{1,3})\b/.exec(group.get("status") ?? "")?.[1]
  const [, reply, enhanced] = /\b([45])\d{2}(?:[ -]#?([45]\.\d{1,3}\.\d{1,3})\b)?/.exec(group.get("diagnostic-code") ?? "") ?? []
  if (given === undefined) return enhanced ?? (reply && `${reply}.0.0`)
  return given.endsWith(".0.0") && enhanced?.startsWith(given.slice(0, 2)) ? enhanced : given
}

interface FeedbackReport {
  /** Token of the original message. Undefined if the provider removed the token. */
  readonly token: string | undefined
  /** Empty if the provider removed the address. */
  readonly address: string
  readonly reason: "complaint" | "unsubscribe"
  readonly text: string
}

/** Complaint feedback reports (ARF, RFC 5965): a mailbox provider reports a message marked as spam by a user. */
export const feedbackType = "message/feedback-report"

const reasonOf: Readonly<Record<string, FeedbackReport["reason"]>> = {
  abuse: "complaint",
  fraud: "complaint",
  "opt-out": "unsubscribe",
  "opt-out-list": "unsubscribe",
}

/** Returns undefined for reports without a complaint, such as `not-spam`. `original`: the reported message, or its headers. */
export function readFeedbackReport(report: string, original: string): FeedbackReport | undefined {
  const [fields] = fieldGroups(report)
  const type = fields?.get("feedback-type")?.toLowerCase() ?? ""
  const reason = Object.hasOwn(reasonOf, type) ? reasonOf[type] : undefined
  if (!fields || !reason) return undefined
  const [headers] = fieldGroups(original)
  const senders = [fields.get("original-mail-from"), headers?.get("return-path")]
  const token = senders.map((one) => tokenOf(addressIn(one).split("@")[0] ?? "")).find((one) => one !== undefined)
  const address = addressIn(fields.get("original-rcpt-to"))
  const reporter = fields.get("user-agent") ?? fields.get("reporting-mta") ?? "an unnamed program"
  return { token, address: address.includes("@") ? address : "", reason, text: `Feedback-Type: ${type}. Reported by ${reporter}.` }
}

// Bounces in plain text: of qmail (QSBMF), and of older Exim versions with the recipients in a header.

const maxRecipients = 200
const maxReason = 2_000

/** Returns the recipients of a bounce without a machine-readable part. */
export function readTextReport(content: Pick<MailContent, "text" | "headers">): ReportedRecipient[] {
  const qmail = ofQmail(content.text)
  return qmail.length > 0 ? qmail : ofExim(content)
}

/** A paragraph for each recipient: `<address>:` and the reason. The copy of the message follows a paragraph of dashes. */
function ofQmail(text: string): ReportedRecipient[] {
  const [intro = "", ...paragraphs] = text.trim().split(/\n[ \t]*\n\s*/)
  if (!/^Hi\. This is the /.test(intro)) return []
  const end = paragraphs.findIndex((one) => one.startsWith("-"))
  return paragraphs
    .slice(0, end < 0 ? paragraphs.length : end)
    .slice(0, maxRecipients)
    .flatMap((paragraph) => {
      const [, address, reason = ""] = /^<([^<>\n]{3,320})>:[ \t]*\n?([\s\S]*)$/.exec(paragraph) ?? []
      return address === undefined ? [] : [recipient(address, reason)]
    })
}

/** Reads a bounce of Exim. The text repeats each address, with the reason in the indented lines below. */
function ofExim({ text, headers }: Pick<MailContent, "text" | "headers">): ReportedRecipient[] {
  const failed = headersOf({ headers }, "x-failed-recipients").flatMap((value) => value.split(","))
  return failed.slice(0, maxRecipients).flatMap((one) => {
    const address = one.trim()
    if (!address.includes("@")) return []
    const at = text.indexOf(`\n  ${address}`)
    const [reason = ""] = at < 0 ? [] : text.slice(at + 3 + address.length, at + maxReason).split(/\n[ \t]*\n|\n {0,2}\S/)
    return [recipient(address, reason)]
  })
}

function recipient(address: string, reason: string): ReportedRecipient {
  const text = reason.replace(/\s+/g, " ").trim().slice(0, maxReason)
  const enhanced = /(?:#|\b[45]\d{2}[ -])([45]\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1]
  const reply = /\b([45])\d{2}\b/.exec(text)?.[1] ?? "5"
  return { addresses: [address], action: "failed", status: enhanced ?? `${reply}.0.0`, text }
}
