// A real DNS server on loopback, over UDP and TCP, that serves the records a test gives it and fails as a test says.
import { createServer, Packet, type Resource } from "dns2"

type Type = "A" | "CNAME" | "MX" | "TXT"

export interface DnsServer {
  /** As the setting `dns_servers` takes it. */
  readonly address: string
  /** Replaces the records of a name; none removes them. TXT values are split into strings as servers do; MX is `10 host`. */
  set(name: string, type: Type, ...values: string[]): void
  /** How questions about a name fail. */
  fail(name: string, how: "servfail" | "silence" | undefined): void
  /** Whether it answers as a cache does. */
  cached: boolean
  /** Names asked for, in order. */
  readonly asked: string[]
  close(): Promise<void>
}

export async function listenForDns(): Promise<DnsServer> {
  const records = new Map<string, readonly string[]>()
  const failing = new Map<string, "servfail" | "silence">()
  const asked: string[] = []
  const state = { cached: false }
  const server = createServer({
    udp: true,
    tcp: true,
    handle(request, send) {
      const [question] = request.questions
      const name = (question?.name ?? "").toLowerCase()
      const type = (Object.keys(Packet.TYPE) as (keyof typeof Packet.TYPE)[]).find((one) => Packet.TYPE[one] === question?.type)
      asked.push(name)
      const how = failing.get(name)
      if (how === "silence") return
      const response = Packet.createResponseFromRequest(request)
      response.header.aa = state.cached ? 0 : 1
      if (how === "servfail") response.header.rcode = 2
      if (!how && type)
        response.answers.push(...(records.get(`${name} ${type}`) ?? []).map((value) => answerOf(name, type as Type, value, state.cached)))
      send(response)
    },
  })
  const addresses = await server.listen({ udp: { port: 0, address: "127.0.0.1" } })
  const port = (addresses.udp as { port: number }).port
  return {
    address: `127.0.0.1:${port}`,
    set: (name, type, ...values) => void (values.length > 0 ? records.set(`${name} ${type}`, values) : records.delete(`${name} ${type}`)),
    fail: (name, how) => void (how ? failing.set(name, how) : failing.delete(name)),
    get cached() {
      return state.cached
    },
    set cached(value) {
      state.cached = value
    },
    asked,
    close: async () => {
      await server.close()
    },
  }
}

/** Long texts in several strings, as servers send them. */
function answerOf(name: string, type: Type, value: string, cached: boolean): Resource {
  const common = { name, type: Packet.TYPE[type], class: Packet.CLASS.IN, ttl: cached ? 120 : 300 }
  const [priority, exchange = ""] = value.split(" ")
  if (type === "TXT") return { ...common, data: value.match(/.{1,255}/gs) ?? [""] } as unknown as Resource
  if (type === "MX") return { ...common, priority: Number(priority), exchange } as Resource
  return { ...common, ...(type === "A" ? { address: value } : { domain: value }) } as Resource
}
