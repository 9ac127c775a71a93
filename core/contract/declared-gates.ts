// The gates of the loaded plugins. Operations and jobs declare gates. Each deferred action type has one too, for steps with
// `gate: true`. An organization chooses its active gates. Standing gates of operations are always active.
import type { Registry } from "../kernel/registry.ts"
import { Actions, type AnyAction } from "./action.ts"
import type { Gate } from "./gate.ts"
import { Jobs } from "./job.ts"
import { Operations } from "./operation.ts"

/** A gate with the operations, actions and jobs it covers. */
export interface DeclaredGate extends Gate {
  readonly operations: readonly string[]
  readonly actions: readonly string[]
  readonly jobs: readonly string[]
  /** False: the gate is active in every organization. */
  readonly liftable: boolean
}

/** Returns the gate for steps of this action type. The gate has the type's name. */
export function gateOfAction({ type, summary, risk = "medium" }: AnyAction): Gate {
  return { name: type, risk, summary }
}

/** All gates, by name. */
export function declaredGates(registry: Registry): DeclaredGate[] {
  const found = new Map<string, DeclaredGate & { operations: string[]; actions: string[]; jobs: string[]; liftable: boolean }>()
  const gateOf = ({ name, risk, summary }: Gate) => {
    const known = found.get(name) ?? { name, risk, summary, operations: [], actions: [], jobs: [], liftable: true }
    found.set(name, known)
    return known
  }
  for (const { name, gate, standingGate } of registry.items(Operations)) {
    if (gate) gateOf(gate).operations.push(name)
    if (!standingGate) continue
    const standing = gateOf(standingGate)
    standing.operations.push(name)
    standing.liftable = false
  }
  for (const { type, gate } of registry.items(Jobs)) if (gate) gateOf(gate).jobs.push(type)
  for (const action of registry.items(Actions)) if (action.timing === "deferred") gateOf(gateOfAction(action)).actions.push(action.type)
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}
