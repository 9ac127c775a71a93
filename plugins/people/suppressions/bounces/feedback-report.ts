// Complaint feedback reports (ARF, RFC 5965): a mailbox provider tells that its user called a message spam.
import { addressIn, fieldGroups } from "./report-fields.ts"
import { tokenOf } from "./sent-mail.ts"

export interface FeedbackReport {
  /** Of the message that it is about; undefined where the provider took it out. */
  readonly token: string | undefined
  /** Empty where the provider took it out. */
  readonly address: string
  readonly reason: "complaint" | "unsubscribe"
  readonly text: string
}

export const feedbackType = "message/feedback-report"

const reasonOf: Readonly<Record<string, FeedbackReport["reason"]>> = {
  abuse: "complaint",
  fraud: "complaint",
  "opt-out": "unsubscribe",
  "opt-out-list": "unsubscribe",
}

/** Undefined where nobody complains, as in `not-spam`. `original`: the message that it is about, or its headers. */
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
