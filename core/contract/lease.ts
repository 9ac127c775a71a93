// Leases on names, for work that one node of the cluster does.
import { token } from "../kernel/di.ts"

/** Decides which node does what only one may do: the one that claims first. By wall clocks, so nodes whose clocks are apart by more than the lease may both hold it for a while. The lease of a process that has ended is free. */
export interface Leases {
  /** True when the name is this node's for that many milliseconds from now; claiming it again extends it. */
  claim(name: string, milliseconds: number): Promise<boolean>
  /** Gives the name back before its time. */
  release(name: string): Promise<void>
}

export const Leases = token<Leases>("Leases")
