// A mail server with faults: the next conversation fails as configured, and the one after that succeeds. Records the Message-IDs
// of completely received messages.
import { type AddressInfo, createServer, type Socket } from "node:net"

type Stage = "greeting" | "sender" | "recipient" | "data" | "end"
/** Fault at a stage: an optional reply instead of the usual one. The connection stays open unless it `closes`. */
export interface Fault {
  readonly at: Stage
  readonly says?: string
  readonly closes?: boolean
}

export interface FaultyMailServer {
  readonly url: string
  /** Message-IDs in order of arrival. */
  readonly handed: string[]
  /** Number of started conversations. */
  readonly conversations: () => number
  fail(fault: Fault): void
  close(): Promise<void>
}

const stages: Record<string, Stage | undefined> = { MAIL: "sender", RCPT: "recipient", DATA: "data" }

const well: Record<Stage, string> = {
  greeting: "220 faulty ESMTP\r\n",
  sender: "250 2.1.0 OK\r\n",
  recipient: "250 2.1.5 OK\r\n",
  data: "354 Go on\r\n",
  end: "250 2.0.0 Taken\r\n",
}

export async function faultyMailServer(port = 0): Promise<FaultyMailServer> {
  const handed: string[] = []
  const sockets = new Set<Socket>()
  let fault: Fault | undefined
  let conversations = 0
  const answer = (socket: Socket, stage: Stage) => {
    if (fault?.at !== stage) return void socket.write(well[stage])
    const { says, closes } = fault
    fault = undefined
    if (says !== undefined) socket.write(says)
    if (closes) socket.end()
  }
  const command = (socket: Socket, line: string) => {
    const [verb = ""] = line.toUpperCase().split(" ")
    const stage = stages[verb]
    if (stage) return answer(socket, stage)
    if (verb === "QUIT") socket.end("221 Bye\r\n")
    else socket.write("250 OK\r\n")
  }
  const server = createServer((socket) => {
    conversations++
    sockets.add(socket.on("error", () => undefined).on("close", () => sockets.delete(socket)))
    let text = ""
    let end = "\r\n"
    answer(socket, "greeting")
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1")
      for (let at = text.indexOf(end); at >= 0; at = text.indexOf(end)) {
        const [value, isMessage] = [text.slice(0, at), end !== "\r\n"]
        text = text.slice(at + end.length)
        end = !isMessage && value === "DATA" && fault?.at !== "data" ? "\r\n.\r\n" : "\r\n"
        if (!isMessage) command(socket, value)
        else {
          handed.push(/^message-id:\s*(<[^>]+>)/im.exec(value)?.[1] ?? "")
          answer(socket, "end")
        }
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    handed,
    conversations: () => conversations,
    fail(next) {
      fault = next
      // The next conversation starts with its greeting.
      for (const socket of sockets) socket.destroy()
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
