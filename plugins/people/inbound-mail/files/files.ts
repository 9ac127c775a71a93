// Files of received messages: the raw message, and attachments extracted at each read. Reads run in sequence in a separate
// thread, so a download does not delay incoming mail.

import { createHmac } from "node:crypto"
import { AppError, Clock, defineRoute, type Store, sameBytes, token, Vault } from "#core"
import type { Buckets } from "../../../data/buckets/index.ts"
import { InboundMailCollection, type StoredMail } from "../collections.ts"
import { MessageCollection } from "../conversations/collections.ts"
import type { MailParser } from "../parse/mail-parser.ts"

export interface MailFile {
  readonly fileName: string
  readonly contentType: string
  readonly body: Uint8Array
}

interface FilesServices {
  readonly store: Store
  readonly buckets: Buckets
  readonly parser: MailParser
  readonly keepDays: number
}

const dayMs = 86_400_000
/** Limit of waiting downloads. */
const maxWaiting = 8

export class MailFiles {
  readonly #services: FilesServices
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(services: FilesServices) {
    this.#services = services
  }

  stop(): Promise<void> {
    return this.#services.parser.stop()
  }

  /** Returns the expiry of the raw message, in milliseconds since the epoch. */
  keptUntil({ received_at }: Pick<StoredMail, "received_at">): number {
    return Date.parse(received_at) + this.#services.keepDays * dayMs
  }

  /** Throws `not_found` if the file was removed, and `unavailable` under too many reads. */
  async read(file: FileRef): Promise<MailFile> {
    if (this.#waiting >= maxWaiting) {
      const message = `${maxWaiting} files of messages are being read; try again in a moment.`
      throw new AppError("unavailable", message, { reason: "email_files_busy" }, { retryAfterS: 2 })
    }
    this.#waiting++
    const read = this.#turn.then(() => this.#read(file)).finally(() => this.#waiting--)
    this.#turn = read.catch(() => undefined)
    return await read
  }

  async #read({ organization, mail, part }: FileRef): Promise<MailFile> {
    const raw = await this.#raw(organization, mail)
    if (part === "message") return { fileName: "message.eml", contentType: "message/rfc822", body: raw }
    const message = await this.#services.store.open(MessageCollection, organization).get(mail)
    const attachment = message?.attachments[Number(part)]
    const body = attachment && (await this.#services.parser.attachment(raw, Number(part)))
    if (!body) throw gone()
    // Hides the author's media type. A browser might display the file.
    return { fileName: attachment.filename || `attachment-${Number(part) + 1}`, contentType: "application/octet-stream", body }
  }

  async #raw(organization: string, mail: string): Promise<Uint8Array> {
    const stored = await this.#services.store.open(InboundMailCollection, organization).get(mail)
    const object = stored && (await this.#services.buckets.open(organization).get(stored.raw_key))
    if (!object) throw gone()
    const chunks: Uint8Array[] = []
    for await (const chunk of object.chunks) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
}

export const MailFilesToken = token<MailFiles>("MailFiles")

function gone(): AppError {
  return new AppError("not_found", "The file is not kept any more; messages are removed as they came after keep_raw_days.", {
    reason: "email_file_not_found",
  })
}

interface FileRef {
  readonly organization: string
  readonly mail: string
  /** `message`, or the index of an attachment in the message. */
  readonly part: string
}

/**
 * Signed links to the files of a received message. The MAC covers organization, message, file and expiry, under a key of the
 * service.
 */
const filePath = "/v1/email-files/{organization}/{mail}/{part}"
export const macPurpose = "files of received mail"

/** Returns path and query. `expiresAt`: whole seconds since the epoch. */
export function linkTo(macKey: Buffer, { organization, mail, part }: FileRef, expiresAt: number): string {
  const signature = mac(macKey, { organization, mail, part }, String(expiresAt)).toString("base64url")
  return `/v1/email-files/${organization}/${mail}/${part}?expires=${expiresAt}&signature=${signature}`
}

/** Checks the signature first. A forged link gets no information about expiry. */
function checkLink(macKey: Buffer, file: FileRef, query: URLSearchParams, now: number): "valid" | "expired" | "forged" {
  const expires = query.get("expires") ?? ""
  const signature = query.get("signature") ?? ""
  const given = Buffer.from(signature, "base64url")
  // Encoding again rejects other spellings of the same bytes.
  if (given.toString("base64url") !== signature || !sameBytes(given, mac(macKey, file, expires))) return "forged"
  return Number(expires) * 1_000 > now ? "valid" : "expired"
}

function mac(macKey: Buffer, { organization, mail, part }: FileRef, expires: string): Buffer {
  return createHmac("sha256", macKey).update([organization, mail, part, expires].join("\n")).digest()
}

/** Route behind a file link. The answer is always a download, so a browser does not display the file. */
export const readFile = defineRoute({
  name: "email_conversations.read_file",
  summary: "Download a file of a received message by a signed link.",
  method: "GET",
  path: filePath,
  inject: { files: MailFilesToken, vault: Vault, clock: Clock },
  async handle({ request, deps }) {
    const { organization = "", mail = "", part = "" } = request.params
    const file = { organization, mail, part }
    const verdict = checkLink(deps.vault.keyFor(macPurpose), file, request.query, deps.clock.now())
    if (verdict === "forged")
      throw new AppError("permission_denied", "The link's signature does not match.", { reason: "invalid_signature" })
    if (verdict === "expired")
      throw new AppError("permission_denied", "The link has expired; ask for a new one.", { reason: "link_expired" })
    const { fileName, contentType, body } = await deps.files.read(file)
    return {
      headers: {
        "Content-Type": contentType,
        "Content-Length": String(body.length),
        "Content-Disposition": attachmentNamed(fileName),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": "private, no-store",
        "Referrer-Policy": "no-referrer",
      },
      body,
    }
  },
})

/** Returns a header by RFC 6266: plain ASCII for old clients, plus the original name. */
function attachmentNamed(fileName: string): string {
  const encoded = encodeURIComponent(fileName).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
  return `attachment; filename="${fileName.replace(/[^\x20-\x7e]|["\\%]/g, "_")}"; filename*=UTF-8''${encoded}`
}
