// Bounces in plain text: of qmail (QSBMF) and of older versions of Exim, which name the recipients in a header.
import { headersOf, type MailContent } from "../../inbound-mail/index.ts"
import type { ReportedRecipient } from "./delivery-report.ts"

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

/** The text repeats each address, with the reason in the indented lines below. */
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
