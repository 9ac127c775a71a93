// Autonomy: the actions of an organization with required approval.
import { z } from "zod"
import { definePlugin, Store, token } from "#core"
import { Declarations, declaredGates } from "#core/engine"
import { AutonomyGateCollection, gatesId, getGates, setGates } from "./operations.ts"
import { reasons } from "./reasons.ts"

/** The gates of an organization. */
export interface AutonomyGates {
  /** Returns true if a person must approve actions behind this gate. */
  holds(organization: string, gate: string): Promise<boolean>
}

export const AutonomyGates = token<AutonomyGates>("AutonomyGates")

export default definePlugin({
  id: "autonomy",
  reasons,
  needs: [],
  config: z.strictObject({}),
  register(registrar) {
    registrar.collections(AutonomyGateCollection)
    registrar.operations(getGates, setGates)
    registrar.rehearsal({
      name: "open_gates",
      async run({ call }) {
        await call(setGates, { gates: [] })
      },
    })
    registrar.provide(AutonomyGates, {
      inject: { store: Store, declarations: Declarations },
      create({ store, declarations }) {
        const permanent = new Set(declaredGates(declarations).flatMap(({ name, liftable }) => (liftable ? [] : [name])))
        return {
          async holds(organization, gate) {
            if (permanent.has(gate)) return true
            const document = await store.open(AutonomyGateCollection, organization).get(gatesId(organization))
            return document?.gates?.includes(gate) ?? true
          },
        }
      },
    })
  },
})
