// A real DNS server on loopback, over UDP and TCP, with a test's records and failures.
import { Socket } from "node:net"
import { createServer, Packet, type Resource } from "dns2"

type Type = "A" | "CNAME" | "MX" | "NS" | "TXT"

/**
 * `lame`: answers without authority for the zone. `garbage`: sends bytes other than DNS. The others truncate over UDP, so clients
 * switch to TCP. Over TCP, `long` is complete, `twice` is truncated again, `closes` ends in the middle, `hangs` stops there,
 * `other` answers another question.
 */
type Failure = "servfail" | "silence" | "garbage" | "lame" | OverTcp
const overTcpOnly = ["long", "twice", "closes", "hangs", "other"] as const
type OverTcp = (typeof overTcpOnly)[number]

export interface DnsServer {
  /** In the form of the setting `dns_servers`. */
  readonly address: string
  /**
   * Replaces the records of a name; without values removes them. TXT values are split into strings as servers do; MX is
   * `10 host`.
   */
  set(name: string, type: Type, ...values: string[]): void
  /** Sets a cache's answer for recursive questions about a name; undefined restores the current records. */
  remember(name: string, type: Type, values: string[] | undefined): void
  /** Sets the failure for questions about a name. */
  fail(name: string, how: Failure | undefined): void
  /** True to answer recursive questions like a cache. */
  cached: boolean
  /** Names in questions, in order. */
  readonly asked: string[]
  close(): Promise<void>
}

export async function listenForDns(): Promise<DnsServer> {
  const records = new Map<string, readonly string[]>()
  const remembered = new Map<string, readonly string[]>()
  const failing = new Map<string, Failure>()
  const queries: string[] = []
  const state = { cached: false }
  const handle = (request: Packet, send: (response: Packet) => unknown, peer: unknown) => {
    const [question] = request.questions
    const name = (question?.name ?? "").toLowerCase()
    const type = (Object.keys(Packet.TYPE) as (keyof typeof Packet.TYPE)[]).find((value) => Packet.TYPE[value] === question?.type)
    queries.push(name)
    const how = failing.get(name)
    if (how === "silence") return
    if (how === "garbage") return void send(Buffer.from("nonsense") as unknown as Packet)
    const cached = state.cached && request.header.rd === 1
    const response = Packet.createResponseFromRequest(request)
    response.header.aa = cached ? 0 : 1
    if (how === "servfail") response.header.rcode = 2
    if (how === "lame" && request.header.rd === 0) response.header.rcode = 5
    const key = `${name} ${type}`
    const values = (cached ? remembered.get(key) : undefined) ?? records.get(key) ?? []
    if (response.header.rcode === 0 && type) response.answers.push(...values.map((value) => answerOf(name, type as Type, value, cached)))
    sendAs(how, response, send, peer)
  }
  const peers = new Set<Socket>()
  const handleTcp: typeof handle = (request, send, peer) => {
    if (peer instanceof Socket) peers.add(peer)
    handle(request, send, peer)
  }
  const [overTcp, overUdp] = [createServer({ tcp: true, handle: handleTcp }), createServer({ udp: true, handle })]
  const { tcp } = await overTcp.listen({ tcp: { port: 0, address: "127.0.0.1" } })
  const { port } = tcp as { port: number }
  await overUdp.listen({ udp: { port, address: "127.0.0.1" } })
  return {
    address: `127.0.0.1:${port}`,
    set: (name, type, ...values) => void (values.length > 0 ? records.set(`${name} ${type}`, values) : records.delete(`${name} ${type}`)),
    remember: (name, type, values) => void (values ? remembered.set(`${name} ${type}`, values) : remembered.delete(`${name} ${type}`)),
    fail: (name, how) => void (how ? failing.set(name, how) : failing.delete(name)),
    get cached() {
      return state.cached
    },
    set cached(value) {
      state.cached = value
    },
    asked: queries,
    close: async () => {
      for (const peer of peers) peer.destroy()
      await Promise.all([overUdp.close(), overTcp.close()])
    },
  }
}

/** `peer` is the socket of a client over TCP. */
function sendAs(failure: Failure | undefined, response: Packet, send: (response: Packet) => unknown, peer: unknown): void {
  const how = overTcpOnly.find((behavior) => behavior === failure)
  if (!how) return void send(response)
  const isTcp = peer instanceof Socket
  if (!isTcp || how === "twice") {
    response.header.tc = 1
    response.answers.length = 0
  }
  if (!isTcp || how === "twice" || how === "long") return void send(response)
  if (how === "other") {
    response.header.id = (response.header.id + 1) % 65_536
    return void send(response)
  }
  const message = response.toBuffer()
  const length = Buffer.alloc(2)
  length.writeUInt16BE(message.length)
  peer.write(Buffer.concat([length, message.subarray(0, message.length / 2)]), () => (how === "closes" ? peer.destroy() : undefined))
}

/** Splits long texts into several strings, as servers do. */
function answerOf(name: string, type: Type, value: string, cached: boolean): Resource {
  const common = { name, type: Packet.TYPE[type], class: Packet.CLASS.IN, ttl: cached ? 120 : 300 }
  const [priority, exchange = ""] = value.split(" ")
  if (type === "TXT") return { ...common, data: value.match(/.{1,255}/gs) ?? [""] } as unknown as Resource
  if (type === "MX") return { ...common, priority: Number(priority), exchange } as Resource
  return { ...common, ...(type === "A" ? { address: value } : type === "NS" ? { ns: value } : { domain: value }) } as Resource
}
