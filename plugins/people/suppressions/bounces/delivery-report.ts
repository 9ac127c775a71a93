// Delivery status notifications (RFC 3464, RFC 6533): what became of each recipient, as the reporting server says.
import { addressIn, fieldGroups, type ReportFields } from "./report-fields.ts"

export interface ReportedRecipient {
  /** Addresses by which it is known: as the message had it, and where it was delivered to. */
  readonly addresses: readonly string[]
  readonly action: "failed" | "delayed"
  /** Enhanced status code (RFC 3463), of class 4 or 5. */
  readonly status: string
  readonly text: string
}

export const deliveryStatusType = /^message\/(?:global-)?delivery-status$/

/** Recipients whose mail failed or is late; those that got it are left out. */
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

/** The field Status, or what the diagnosis says where that is missing or says only that it failed. */
function statusOf(group: ReportFields): string | undefined {
  const given = /\b([45]\.\d{1,3}\.\d{1,3})\b/.exec(group.get("status") ?? "")?.[1]
  const [, reply, enhanced] = /\b([45])\d{2}(?:[ -]#?([45]\.\d{1,3}\.\d{1,3})\b)?/.exec(group.get("diagnostic-code") ?? "") ?? []
  if (given === undefined) return enhanced ?? (reply && `${reply}.0.0`)
  return given.endsWith(".0.0") && enhanced?.startsWith(given.slice(0, 2)) ? enhanced : given
}
