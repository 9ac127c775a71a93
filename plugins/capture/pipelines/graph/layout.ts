// Places the steps of a compiled pipeline in layers: from the event to the reply, then to later steps. Each step is below its
// dependencies, and handlers are beside their steps. Pure.
import type { Graph, Step } from "#core/engine"

export interface Placed {
  /** ID of a step. `event` and `reply` are the ends of the part before the reply. */
  readonly node: string
  readonly step: Step | undefined
  readonly layer: number
  readonly column: number
}

export interface Edge {
  readonly from: string
  readonly to: string
  readonly isFailure: boolean
}

export interface Layout {
  readonly nodes: readonly Placed[]
  readonly edges: readonly Edge[]
  readonly layers: number
  readonly columns: number
}

/** IDs of steps cannot contain parentheses. */
export const eventNode = "(event)"
export const replyNode = "(reply)"

export function layoutOf({ immediate, deferred, handlers, byId }: Graph): Layout {
  const inList = new Set([...immediate, ...deferred].map(({ id }) => id))
  const needsOf = ({ needs }: Step) => needs.filter((need) => inList.has(need))
  const layerOf = new Map<string, number>([[eventNode, 0]])
  const below = (step: Step, start: number) => 1 + Math.max(start, ...needsOf(step).map((need) => layerOf.get(need) ?? start))
  for (const step of immediate) layerOf.set(step.id, below(step, 0))
  const reply = 1 + Math.max(0, ...immediate.map(({ id }) => layerOf.get(id) ?? 0))
  layerOf.set(replyNode, reply)
  for (const step of deferred) layerOf.set(step.id, below(step, reply))
  const edges: Edge[] = [...immediate, ...deferred].flatMap((step) => {
    const needs = needsOf(step)
    const from = needs.length > 0 ? needs : [step.deferred ? replyNode : eventNode]
    return from.map((one) => ({ from: one, to: step.id, isFailure: false }))
  })
  const waitedFor = new Set(immediate.flatMap(({ needs }) => needs))
  const last = immediate.filter(({ id }) => !waitedFor.has(id)).map(({ id }) => id)
  for (const from of last.length > 0 ? last : [eventNode]) edges.push({ from, to: replyNode, isFailure: false })
  for (const { id, onError } of byId.values())
    if (typeof onError === "object") edges.push({ from: id, to: onError.handler, isFailure: true })
  for (const { id } of handlers.values()) {
    const served = edges.filter(({ to, isFailure }) => isFailure && to === id).map(({ from }) => layerOf.get(from) ?? 1)
    layerOf.set(id, served.length > 0 ? Math.min(...served) : 1)
  }
  const used = new Map<number, number>()
  const nodes = [eventNode, ...immediate.map(({ id }) => id), replyNode, ...deferred.map(({ id }) => id), ...handlers.keys()].map(
    (node) => {
      const layer = layerOf.get(node) ?? 0
      const column = used.get(layer) ?? 0
      used.set(layer, column + 1)
      return { node, step: byId.get(node), layer, column }
    },
  )
  return { nodes, edges, layers: 1 + Math.max(...layerOf.values()), columns: Math.max(...used.values()) }
}
