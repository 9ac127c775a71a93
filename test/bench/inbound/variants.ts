// The cost of single differences: each auth mode, with and without a transform, one to ten actions, larger bodies. All run in one
// service and take turns with the peers, each next to the peer with bodies of the same size.
import { Contest, type Contestant } from "../contest.ts"
import { Load } from "../load/load.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { express, http, startPeer } from "../peers/peers.ts"
import { type Service, startService } from "../service/service.ts"
import { median, type Row, rowOf } from "../table.ts"
import { type AuthMode, authModes, authRequest } from "./auth.ts"
import { lead, leadBytes, makePipeline, saveStep, signedRequest } from "./pipelines.ts"

/** Rows of one contestant, and its creation. */
interface Variant {
  readonly names: readonly string[]
  readonly bodyBytes: number
  readonly rowsPerEvent: number
  request(service: Service): Promise<Contestant["request"]>
}

const connections = 64

function variants(): Variant[] {
  const plain = { bodyBytes: leadBytes, rowsPerEvent: 1 }
  const byAuth = authModes.map((mode: AuthMode): Variant => {
    // The full pipeline serves three rows.
    const also = mode === "hmac_sha256" ? ["inbound/transform/with", "inbound/actions/1"] : []
    return { ...plain, names: [`inbound/auth/${mode}`, ...also], request: (service) => authRequest(service, mode) }
  })
  const withoutTransform: Variant = {
    ...plain,
    names: ["inbound/transform/without"],
    async request(service) {
      const row = { customer: "{{ event.email }}", name: "{{ event.name }}", budget: "{{ event.budget }}" }
      return signedRequest(await makePipeline(service, { name: "No transform", transform: false, steps: [{ ...saveStep, row }] }))
    },
  }
  const byActions = [3, 10].map((count): Variant => {
    const steps = Array.from({ length: count }, (_, index) => ({
      ...saveStep,
      id: `save_${index}`,
      dataset_slug: `rows-${count}-${index}`,
    }))
    const request = async (service: Service) => signedRequest(await makePipeline(service, { name: `Actions ${count}`, steps }))
    return { ...plain, names: [`inbound/actions/${count}`], rowsPerEvent: count, request }
  })
  const byBody = (
    [
      ["1k", 1_024],
      ["64k", 65_536],
    ] as const
  ).map(([size, bodyBytes]): Variant => {
    const request = async (service: Service) => signedRequest(await makePipeline(service, { name: `Body ${size}` }), bodyBytes)
    return { ...plain, names: [`inbound/body/${size}`], bodyBytes, request }
  })
  return [...byAuth, withoutTransform, ...byActions, ...byBody]
}

export async function* variantRows(options: BenchOptions): AsyncGenerator<Row> {
  const variantsToRun = variants().filter(({ names }) => names.some((name) => isSelected(options, name)))
  if (variantsToRun.length === 0) return
  const { note, runs = 3 } = options
  const seconds = Math.min(3, options.seconds)
  const service = await startService()
  const peers = [await startPeer(express), await startPeer(http)]
  const load = new Load()
  try {
    const contestants: Contestant[] = []
    for (const bodyBytes of new Set(variantsToRun.map((variant) => variant.bodyBytes))) {
      for (const { name, url } of peers) contestants.push({ name: `${name} ${bodyBytes}`, request: { url, body: lead(bodyBytes) } })
    }
    for (const { names, rowsPerEvent, request } of variantsToRun) {
      contestants.push({
        name: names[0] ?? "",
        request: await request(service),
        keeps: service,
        leaves: { rows: rowsPerEvent, entries: 1 },
      })
    }
    const contest = new Contest(load, briefly(contestants))
    note(`inbound: ${contestants.length} servers and pipelines: warming up, then ${runs} runs of ${seconds} s each`)
    await contest.warm(connections)
    const measured = await contest.runs({ connections, seconds, runs })
    for (const { names, bodyBytes } of variantsToRun) {
      const own = names[0] ?? ""
      const beside = (peer: string) => measured(`${peer} ${bodyBytes}`)
      const bare = median(beside(http))
      const detail = `${http} ${Math.round(bare)}, ratio ${(median(measured(own)) / bare).toFixed(2)}; ${Math.round(median(measured(own, "server_us")))} µs CPU an event`
      for (const name of names) {
        if (isSelected(options, name)) yield rowOf(name, "events/s", measured(own), express, beside(express), detail)
      }
    }
  } finally {
    load.stop()
    for (const peer of peers) peer.stop()
    await service.stop()
  }
}

/** The first contestant of each server compiles the server's code; the others need little warm-up for their own. */
function briefly(contestants: readonly Contestant[]): Contestant[] {
  const warmed = new Set<unknown>()
  return contestants.map((contestant) => {
    const server = contestant.keeps ?? contestant.request.url
    if (warmed.has(server)) return { ...contestant, warmSeconds: 2 }
    warmed.add(server)
    return contestant
  })
}
