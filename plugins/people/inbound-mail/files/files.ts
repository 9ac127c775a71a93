// Files of received messages: the message as it came, and its attachments, which are taken out of it when they are read.
// That is done one at a time, in a thread of its own, so that no download holds up what comes in.
import { AppError, type Store, token } from "#core"
import type { Buckets } from "../../../data/buckets/index.ts"
import { InboundMailCollection, type StoredMail } from "../collections.ts"
import { MessageCollection } from "../conversations/collections.ts"
import type { MailParser } from "../parse/mail-parser.ts"
import type { FileRef } from "./link.ts"

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
/** Downloads that wait for each other. */
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

  /** When the message as it came is removed. */
  keptUntil({ received_at }: Pick<StoredMail, "received_at">): number {
    return Date.parse(received_at) + this.#services.keepDays * dayMs
  }

  /** Throws `not_found` where it is not there any more, `unavailable` where too many are read at once. */
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
    // Not as what its author calls it, which a browser might show.
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
