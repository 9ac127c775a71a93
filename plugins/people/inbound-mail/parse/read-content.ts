// Parses a message with postal-mime within bounds, and converts the result to MailContent.
import type { Address, Attachment, Email } from "postal-mime"
import { decodeText } from "./charset/decode.ts"
import type { MailAddress, MailContent } from "./content.ts"
import { headerSectionOf } from "./header-section.ts"
import { textOfHtml } from "./html-text.ts"
import { parseMessage } from "./postal-mime-charsets.ts"

const maxNesting = 30
const maxHeadersBytes = 512 * 1_024
/** Lines with the form of a part boundary. */
const maxBoundaryLines = 10_000
const maxParts = 200
const maxHeaders = 500
const maxAddresses = 100
const maxReferences = 50
const maxText = 256 * 1_024
const maxHtml = 512 * 1_024
const maxReportText = 64 * 1_024

/** Does not throw on any message content. */
export async function readContent(raw: Uint8Array): Promise<MailContent> {
  try {
    if (boundaryLinesOf(raw) > maxBoundaryLines) return await headersAlone(raw, "too_complex")
    const mail = await parse(raw)
    return mail.attachments.length > maxParts ? await headersAlone(raw, "too_complex") : contentOf(mail, "")
  } catch (error) {
    return await headersAlone(raw, /nesting depth|header size/i.test(String(error)) ? "too_complex" : "malformed")
  }
}

/**
 * Returns the content of an attachment by its index in `attachments`. Returns undefined if parsing fails or the index does not
 * exist.
 */
export async function readAttachment(raw: Uint8Array, index: number): Promise<Uint8Array | undefined> {
  if (boundaryLinesOf(raw) > maxBoundaryLines) return undefined
  const part = (await parse(raw).catch(() => undefined))?.attachments[index]
  return part && bytesOf(part)
}

function parse(raw: Uint8Array): Promise<Email> {
  return parseMessage(raw, { maxNestingDepth: maxNesting, maxHeadersSize: maxHeadersBytes, forceRfc822Attachments: true })
}

/** Reads the headers alone. Removes the headers about the body's type and encoding first. */
export async function headersAlone(raw: Uint8Array, problem: MailContent["problem"]): Promise<MailContent> {
  const text = Buffer.from(headerSectionOf(raw)).toString("latin1")
  const plain = text.replace(/^content-(?:type|transfer-encoding):.*(?:\r?\n[ \t].*)*/gim, "X-Unread: 1")
  return contentOf(await parse(Buffer.from(plain, "latin1")), problem)
}

function contentOf(mail: Email, problem: MailContent["problem"]): MailContent {
  const headers = mail.headers.slice(0, maxHeaders).map(({ key, value }) => ({ key, value: line(value, 10_000) }))
  const { text = textOfHtml((mail.html ?? "").slice(0, maxHtml)) } = mail
  const references = [...idsOf(mail.inReplyTo), ...idsOf(mail.references).reverse()]
  const content: MailContent = {
    problem,
    message_id: idsOf(mail.messageId)[0] ?? "",
    references: [...new Set(references)].slice(0, maxReferences),
    from: flat(mail.from && [mail.from])[0],
    reply_to: flat(mail.replyTo),
    to: flat(mail.to),
    cc: flat(mail.cc),
    subject: line(mail.subject ?? "", 1_000),
    date: dateOf(mail.date),
    text: block(text, maxText),
    headers,
    attachments: mail.attachments.map((part) => ({
      filename: line(part.filename ?? "", 200).replace(/[/\\]/g, "_"),
      media_type: mediaTypeOf(part),
      size: bytesOf(part).byteLength,
      inline: part.related === true || part.disposition === "inline",
    })),
    report: reportOf(mail, headers),
  }
  return problem === "" && isBroken(content) ? { ...content, problem: "undecodable" } : content
}

/** Returns true if a text contains an undecodable character. */
function isBroken({ subject, text, from, to, cc, attachments }: MailContent): boolean {
  const texts = [
    subject,
    text,
    ...[...(from ? [from] : []), ...to, ...cc].map(({ name }) => name),
    ...attachments.map(({ filename }) => filename),
  ]
  return texts.some((one) => one.includes("\ufffd"))
}

function reportOf(mail: Email, headers: MailContent["headers"]): MailContent["report"] {
  const type = headers.find(({ key }) => key === "content-type")?.value ?? ""
  // Some servers put their report into another multipart type.
  const holdsReport = mail.attachments.some((part) => /^message\/(?:(?:global-)?delivery-status|feedback-report)$/.test(mediaTypeOf(part)))
  if (!holdsReport && !/^\s*multipart\/report\b/i.test(type)) return undefined
  const [, quoted, plain = ""] = /;\s*report-type\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i.exec(type) ?? []
  const parts = mail.attachments.map((part) => ({
    media_type: mediaTypeOf(part),
    text: block(decodeText(bytesOf(part).subarray(0, maxReportText), {}), maxReportText),
  }))
  return { type: (quoted ?? plain).toLowerCase(), parts }
}

function bytesOf({ content }: Attachment): Uint8Array {
  return typeof content === "string" ? Buffer.from(content) : new Uint8Array(content)
}

function mediaTypeOf({ mimeType }: Attachment): string {
  return /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/.test(mimeType) ? mimeType : "application/octet-stream"
}

function flat(addresses: readonly Address[] | undefined): MailAddress[] {
  return (addresses ?? [])
    .flatMap((one) => one.group ?? [{ name: one.name, address: one.address ?? "" }])
    .filter(({ address }) => address !== "")
    .slice(0, maxAddresses)
    .map(({ name, address }) => ({ name: line(name, 200), address: line(address, 320) }))
}

function idsOf(text: string | undefined): string[] {
  return (text?.slice(0, 100_000).match(/<[^<>\s]{1,900}>/g) ?? []).map((id) => id.toWellFormed())
}

function dateOf(text: string | undefined): string {
  const time = Date.parse(text ?? "")
  return Number.isFinite(time) && time > 0 && time < 4e12 ? new Date(time).toISOString() : ""
}

/** Remainder of a cut in the middle of a character. */
const halfCharacter = /[\ud800-\udbff]$/

function line(text: string, length: number): string {
  return text
    .slice(0, 4 * length)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, length)
    .replace(halfCharacter, "")
    .toWellFormed()
}

function block(text: string, length: number): string {
  return text
    .slice(0, length)
    .replace(halfCharacter, "")
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .toWellFormed()
}

function boundaryLinesOf(raw: Uint8Array): number {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  let count = 0
  for (let at = bytes.indexOf("\n--"); at >= 0 && count <= maxBoundaryLines; at = bytes.indexOf("\n--", at + 3)) count++
  return count
}
