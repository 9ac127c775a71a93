// The default transport: writes each message to a file under <data_dir>/outbox. For development, and for programs that collect
// mail. Files appear atomically. A retry writes the same file.
import { createHash } from "node:crypto"
import { mkdir, open, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { asNodemailer, type FinishedMail, type Transport } from "./transport.ts"

export function outboxTransport(folder: string): Transport {
  // Loaded with the first message: commands declare the plugin and send no mail.
  let composer: ReturnType<typeof openComposer> | undefined
  return {
    isOutbox: true,
    async deliver(mail) {
      composer ??= openComposer()
      const { message } = await (await composer).sendMail(asNodemailer(mail))
      if (!Buffer.isBuffer(message)) throw new Error("The composer returned a stream instead of a buffer.")
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const path = join(folder, fileNameOf(mail))
      const partial = `${path}.${process.pid}.partial`
      try {
        const file = await open(partial, "w", 0o600)
        try {
          await file.writeFile(message)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(partial, path)
      } catch (error) {
        await rm(partial, { force: true })
        throw error
      }
      return { accepted: [...mail.to, ...mail.cc, ...mail.bcc].map(({ address }) => address), refusals: [] }
    },
    close: async () => (await composer)?.close(),
  }
}

async function openComposer() {
  const { createTransport } = await import("nodemailer")
  return createTransport({ streamTransport: true, buffer: true, newline: "windows" })
}

/** Returns a file name. It starts with the time for sorting, and the remainder identifies the message. */
function fileNameOf(mail: Pick<FinishedMail, "at" | "messageId">): string {
  const time = mail.at.replace(/[^0-9TZ.]/g, "").replace(".", "")
  return `${time}-${createHash("sha256").update(mail.messageId).digest("hex").slice(0, 16)}.eml`
}
