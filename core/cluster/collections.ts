// What nodes share: who they are and what has changed. To be declared to the store with the other collections.
import { defineCollection } from "../contract/collection.ts"

export interface NodeDocument {
  id: string
  /** Counts up with each renewal of the lease; others judge the node by its own pace, not by comparing wall clocks. */
  renewals: number
  lease_ms: number
  /** The process, which registers again under another id after its lease ran out. Absent on nodes of earlier versions. */
  process?: string
  started_at: string
  /** When nobody needs this document any more, should nobody remove it. */
  expires_at: string
}

/** Age at which the registration of a node is removed; counted again with each renewal. */
export const nodeKeptMs = 3_600_000

export const nodes = defineCollection<NodeDocument>()({
  name: "nodes",
  scope: "global",
  times: ["started_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
})

export interface ChangeDocument {
  id: string
  topic: string
  key: string
  /** Node that announced it. */
  origin: string
  settled: boolean
  /** Ids of nodes that have dropped what they held; kept only where somebody waits for it. */
  confirmed: string[]
  expires_at: string
}

export const changes = defineCollection<ChangeDocument>()({
  name: "changes",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})

export interface LeaseDocument {
  id: string
  holder: string
  until: string
  /** The holder is a process that registers as a node. */
  watched?: boolean
  expires_at: string
}

export const leases = defineCollection<LeaseDocument>()({
  name: "leases",
  scope: "global",
  times: ["until", "expires_at"],
  indexes: [],
  expires: "expires_at",
})

export const clusterCollections = [nodes, changes, leases] as const
