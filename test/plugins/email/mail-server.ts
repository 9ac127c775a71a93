// A real SMTP server on loopback. Stores received mail as envelope and parsed message.
import type { AddressInfo, Socket } from "node:net"
import PostalMime, { type Email } from "postal-mime"
import { SMTPServer } from "smtp-server"

export interface ReceivedMail {
  readonly from: string
  readonly recipients: string[]
  readonly raw: string
  readonly mail: Email
}

export interface MailServer {
  readonly url: string
  readonly received: ReceivedMail[]
  close(): Promise<void>
}

export interface MailServerOptions {
  /** Called with each accepted message, before its confirmation. */
  readonly accepted?: (mail: ReceivedMail) => void
  /** Returns true for a message that the server reads and never confirms. */
  readonly isSilent?: (recipients: readonly string[]) => boolean
}

type Answer = number | string | undefined

/**
 * `refuse` returns the status for a refused recipient, or the whole reply with its status in front. The reply waits for a
 * promise.
 */
export async function listenForMail(
  refuse: (recipient: string) => Answer | Promise<Answer> = () => undefined,
  { accepted, isSilent = () => false }: MailServerOptions = {},
): Promise<MailServer> {
  const received: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    onRcptTo({ address }, _session, callback) {
      void Promise.resolve(refuse(address)).then((answer) => {
        if (answer === undefined) return callback(null)
        const [, code, text = "refused"] = /^(\d{3})(?: (.*))?$/.exec(String(answer)) ?? []
        callback(Object.assign(new Error(text), { responseCode: Number(code) }))
      })
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = []
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        const raw = Buffer.concat(chunks)
        const from = session.envelope.mailFrom ? session.envelope.mailFrom.address : ""
        const recipients = session.envelope.rcptTo.map(({ address }) => address)
        if (isSilent(recipients)) return
        PostalMime.parse(raw).then((mail) => {
          const item = { from, recipients, raw: raw.toString("utf8"), mail }
          received.push(item)
          accepted?.(item)
          callback()
        }, callback)
      })
    },
  })
  server.on("error", () => undefined)
  const sockets = new Set<Socket>()
  server.server.on("connection", (socket: Socket) => sockets.add(socket.on("close", () => sockets.delete(socket))))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
