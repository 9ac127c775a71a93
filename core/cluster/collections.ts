// Shared documents of all nodes: registrations and changes. Declare them to the store with the other collections.
import { defineCollection } from "../contract/collection.ts"

export interface NodeDocument {
  id: string
  /** Increases with each renewal of the lease. Other nodes judge the lease by this counter and never compare wall clocks. */
  renewals: number
  lease_ms: number
  /** The process. It registers under a new id after its lease expired. Absent on nodes of earlier versions. */
  process?: string
  started_at: string
  /** Removal time of the document, in case no node removes it earlier. */
  expires_at: string
}

/** Age at which a node's registration is removed. Each renewal restarts the age. */
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
  /** The announcing node. */
  origin: string
  settled: boolean
  /** Ids of nodes that have dropped their cached values. Stored only if a caller waits for them. */
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
  /** True if the holder is a process that registers as a node. */
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
