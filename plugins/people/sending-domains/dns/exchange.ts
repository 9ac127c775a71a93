// Sends a DNS question to a server: over UDP, and over TCP if the answer is truncated. Time and size are limited.
import { connect, isIPv6 } from "node:net"
import type { Packet } from "dns2"
import type { DnsServer } from "../settings.ts"

export interface Question {
  readonly name: string
  readonly type: "A" | "AAAA" | "CNAME" | "MX" | "NS" | "TXT"
  /** True if the server must query others. A zone's name server answers from its own data. */
  readonly recursive: boolean
}

export async function exchange({ address, port }: DnsServer, question: Question, timeoutMs: number): Promise<Packet> {
  // Imported late: commands send no questions.
  const { Packet, UDPClient } = await import("dns2")
  const { name, type, recursive } = question
  const socketType = isIPv6(address) ? "udp6" : "udp4"
  const ask = UDPClient({ dns: address, port, timeout: timeoutMs, socketType, retryOverTCP: false })
  const answer = await ask(name, type, Packet.CLASS.IN, { recursive })
  return answer.header.tc ? await overTcp({ address, port }, question, timeoutMs) : answer
}

/** Messages have two bytes of length in front, in both directions (RFC 1035 section 4.2.2). */
async function overTcp({ address, port }: DnsServer, { name, type, recursive }: Question, timeoutMs: number): Promise<Packet> {
  const { Packet } = await import("dns2")
  const query = new Packet()
  query.header.id = Packet.uuid()
  query.header.rd = recursive ? 1 : 0
  query.questions.push({ name, class: Packet.CLASS.IN, type: Packet.TYPE[type] } as Packet["questions"][number])
  const message = query.toBuffer()
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port })
    const timer = setTimeout(() => socket.destroy(new Error(`DNS query over TCP timed out after ${timeoutMs}ms`)), timeoutMs)
    let received = Buffer.alloc(0)
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 2 || received.length < 2 + received.readUInt16BE()) return
      try {
        const answer = Packet.parse(received.subarray(2, 2 + received.readUInt16BE()))
        if (answer.header.id !== query.header.id) socket.destroy(new Error("the answer is that to another question"))
        else if (answer.header.tc) socket.destroy(new Error("the answer is cut over TCP too"))
        else resolve(answer)
        socket.destroy()
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    socket.on("error", reject)
    socket.on("close", () => {
      clearTimeout(timer)
      reject(new Error("the server closed the connection before it answered"))
    })
    socket.write(Buffer.concat([length, message]))
  })
}
