// A real DNS server on loopback, over UDP and TCP, that serves the records a test gives it and fails as a test says.
import { createServer, Packet, type Resource } from "dns2"

type Type = "A" | "CNAME" | "MX" | "NS" | "TXT"

/** `lame`: not as a name server of the zone; `garbage`: what is not DNS. */
type Failure = "servfail" | "silence" | "garbage" | "lame"

export interface DnsServer {
  /** As the setting `dns_servers` takes it. */
  readonly address: string
  /** Replaces the records of a name; none removes them. TXT values are split into strings as servers do; MX is `10 host`. */
  set(name: string, type: Type, ...values: string[]): void
  /** What caches hold of a name, to those who want to have others asked; with nothing given, as it is. */
  remember(name: string, type: Type, values: string[] | undefined): void
  /** How questions about a name fail. */
  fail(name: string, how: Failure | undefined): void
  /** Whether it answers as a cache does, to those who want to have others asked. */
  cached: boolean
  /** Names asked for, in order. */
  readonly asked: string[]
  close(): Promise<void>
}

export async function listenForDns(): Promise<DnsServer> {
  const records = new Map<string, readonly string[]>()
  const remembered = new Map<string, readonly string[]>()
  const failing = new Map<string, Failure>()
  const asked: string[] = []
  const state = { cached: false }
  const handle = (request: Packet, send: (response: Packet) => unknown) => {
    const [question] = request.questions
    const name = (question?.name ?? "").toLowerCase()
    const type = (Object.keys(Packet.TYPE) as (keyof typeof Packet.TYPE)[]).find((one) => Packet.TYPE[one] === question?.type)
    asked.push(name)
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
    send(response)
  }
  const [overTcp, overUdp] = [createServer({ tcp: true, handle }), createServer({ udp: true, handle })]
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
    asked,
    close: async () => {
      await Promise.all([overUdp.close(), overTcp.close()])
    },
  }
}

/** Long texts in several strings, as servers send them. */
function answerOf(name: string, type: Type, value: string, cached: boolean): Resource {
  const common = { name, type: Packet.TYPE[type], class: Packet.CLASS.IN, ttl: cached ? 120 : 300 }
  const [priority, exchange = ""] = value.split(" ")
  if (type === "TXT") return { ...common, data: value.match(/.{1,255}/gs) ?? [""] } as unknown as Resource
  if (type === "MX") return { ...common, priority: Number(priority), exchange } as Resource
  return { ...common, ...(type === "A" ? { address: value } : type === "NS" ? { ns: value } : { domain: value }) } as Resource
}
