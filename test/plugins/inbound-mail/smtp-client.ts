// An SMTP client with control of every byte, for tests beyond the reach of a mail library.
import { once } from "node:events"
import { connect, type Socket } from "node:net"

export class SmtpClient {
  readonly socket: Socket
  #text = ""
  #wake: () => void = () => undefined
  #ended = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding("latin1")
    socket.on("data", (text: string) => {
      this.#text += text
      this.#wake()
    })
    socket.on("close", () => {
      this.#ended = true
      this.#wake()
    })
    socket.on("error", () => undefined)
  }

  /** Connects without reading the greeting. */
  static async connect(port: number, localAddress = "127.0.0.1"): Promise<SmtpClient> {
    const socket = connect({ port, host: "127.0.0.1", localAddress })
    const client = new SmtpClient(socket)
    await once(socket, "connect")
    return client
  }

  /** Connects, reads the greeting and sends EHLO. */
  static async open(port: number, localAddress?: string): Promise<SmtpClient> {
    const client = await SmtpClient.connect(port, localAddress)
    await client.reply()
    await client.say("EHLO client.test")
    return client
  }

  write(text: string | Buffer): void {
    this.socket.write(typeof text === "string" ? Buffer.from(text, "latin1") : text)
  }

  /** Returns the next reply with all its lines; "closed" if the server ended the connection. */
  async reply(): Promise<string> {
    for (;;) {
      const match = /^(?:\d{3}-.*\r\n)*\d{3} .*\r\n/.exec(this.#text)
      if (match) {
        this.#text = this.#text.slice(match[0].length)
        return match[0].trimEnd()
      }
      if (this.#ended) return "closed"
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  async say(command: string): Promise<string> {
    this.write(`${command}\r\n`)
    return this.reply()
  }

  /** Runs one transaction up to the answer to its data. Sends the data unchanged except for dots. Returns unusual replies. */
  async send(from: string, to: readonly string[], message: string | Buffer): Promise<string> {
    const mail = await this.say(`MAIL FROM:<${from}>`)
    if (!mail.startsWith("250")) return mail
    const replies = []
    for (const value of to) replies.push(await this.say(`RCPT TO:<${value}>`))
    if (!replies.some((reply) => reply.startsWith("250"))) return replies.join("\n")
    const data = await this.say("DATA")
    if (!data.startsWith("354")) return data
    this.write(
      Buffer.from(
        Buffer.from(message as string, "utf8")
          .toString("latin1")
          .replace(/^\./gm, ".."),
        "latin1",
      ),
    )
    this.write("\r\n.\r\n")
    return this.reply()
  }

  close(): void {
    this.socket.destroy()
  }
}
