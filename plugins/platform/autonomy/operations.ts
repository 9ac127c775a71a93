// Reading and replacing the list of gates.
import { isDeepStrictEqual } from "node:util"
import { z } from "zod"
import {
  AppError,
  Clock,
  type Document,
  defineCollection,
  defineOperation,
  derivedUuid,
  omitReadOnly,
  readOnlyInput,
  Store,
  timestamp,
} from "#core"
import { Declarations, declaredGates, didYouMean, risks } from "#core/engine"

const GateResource = z
  .object({
    name: z.string(),
    risk: z.enum(risks).describe("How much harm is done where it was wrong."),
    summary: z.string(),
    operations: z.array(z.string()).describe("Operations whose calls wait."),
    actions: z.array(z.string()).describe("Action types whose steps wait, where they say `gate: true`."),
    jobs: z.array(z.string()).describe("Jobs whose runs wait."),
    holds: z.boolean().describe("Whether a person has to approve it in this organization."),
    liftable: z.boolean().describe("False: it holds in every organization, whether or not it is in `gates`."),
  })
  .meta({ id: "AutonomyGate" })

const Gates = z.object({
  gates: z.array(z.string()).describe("Names of the gates that hold by the organization's choice."),
  gate_everything: z.boolean().describe("True while the organization has no list of its own: every gate holds, later ones too."),
})

export const getGates = defineOperation({
  name: "autonomy_gates.get",
  summary: "Read what a person has to approve before it happens, and what else could be.",
  http: { method: "GET", path: "/v1/autonomy-gates" },
  access: { scope: "autonomy:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: Gates.extend({ known: z.array(GateResource).describe("Every gate that the loaded plugins declare.") }),
  errors: [],
  inject: { store: Store, declarations: Declarations },
  handle: ({ caller, deps }) => toResource(deps, caller.organization.id),
})

async function toResource({ store, declarations }: { store: Store; declarations: Declarations }, organization: string) {
  const chosenGates = (await store.open(AutonomyGateCollection, organization).get(gatesId(organization)))?.gates ?? null
  const isChosen = (name: string) => chosenGates?.includes(name) ?? true
  const gates = declaredGates(declarations).map((gate) => ({
    ...gate,
    operations: [...gate.operations],
    actions: [...gate.actions],
    jobs: [...gate.jobs],
    holds: !gate.liftable || isChosen(gate.name),
  }))
  return { gates: gates.map(({ name }) => name).filter(isChosen), gate_everything: chosenGates === null, known: gates }
}

const readOnly = ["gate_everything", "known"] as const

export const setGates = defineOperation({
  name: "autonomy_gates.set",
  summary: "Replace the list of what a person has to approve before it happens.",
  description:
    "`gates: null` asks for approval of everything that has a gate, also of what later plugins declare; `[]` of nothing but what `known` shows as not `liftable`.",
  http: { method: "PUT", path: "/v1/autonomy-gates" },
  access: { scope: "autonomy:write", role: "admin", closedToAgents: true, freshSignIn: true },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ gates: z.array(z.string().min(1).max(200)).max(1_000).nullable(), ...readOnlyInput(readOnly) }),
  output: Gates,
  errors: ["invalid_argument"],
  examples: [{ input: { gates: ["email.send"] } }, { title: "Everything waits", input: { gates: null } }],
  mcp: { absent: "An agent must not change its own gates." },
  inject: { store: Store, clock: Clock, declarations: Declarations },
  async handle({ input, caller, deps, work }) {
    const current = await toResource(deps, caller.organization.id)
    omitReadOnly(input, current, readOnly)
    // A read value sent back unchanged preserves the stored setting.
    if (input.gate_everything === true && isDeepStrictEqual(input.gates, current.gates))
      return { gates: current.gates, gate_everything: true }
    const names = declaredGates(deps.declarations).map(({ name }) => name)
    const fields = (input.gates ?? []).flatMap((gate, index) =>
      names.includes(gate) ? [] : [{ path: `gates.${index}`, message: `"${gate}" is not a gate.${didYouMean(gate, names)}` }],
    )
    if (fields.length > 0) {
      const [first] = fields
      throw new AppError("invalid_argument", `${first?.message} GET /v1/autonomy-gates lists the known ones.`, {
        reason: "unknown_gate",
        fields,
      })
    }
    const organization = caller.organization.id
    const gates = input.gates && [...new Set(input.gates)].sort()
    const $set = { gates, updated_at: timestamp(deps.clock.now()) }
    work.in(AutonomyGateCollection, organization).update(gatesId(organization), { $set }, { upsert: true })
    return { gates: gates ?? names, gate_everything: gates === null }
  },
})

interface StoredGates extends Document {
  gates: string[] | null
  updated_at: string
}

/** The gates chosen by an organization. Without a document, or with null `gates`, every gate requires approval. */
export const AutonomyGateCollection = defineCollection<StoredGates>()({
  name: "autonomy_gates",
  scope: "organization",
  times: ["updated_at"],
  indexes: [],
})

/** The id of an organization's single document. */
export function gatesId(organization: string): string {
  return derivedUuid(organization, "autonomy-gates")
}
