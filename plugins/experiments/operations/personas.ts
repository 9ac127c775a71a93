// The simulated visitors that panels are made of.
import { z } from "zod"
import {
  AppError,
  Clock,
  defineList,
  defineOperation,
  Ids,
  isUuid,
  Name,
  requireRevision,
  resultOf,
  Slug,
  SlugOrId,
  Store,
  slugOf,
  slugTaken,
  stageRevision,
  Timestamp,
  timestamp,
  Uuid,
  uniqueSlug,
} from "#core"
import { PersonaCollection, type StoredPersona } from "../collections.ts"

const Points = z.array(z.string().trim().min(1).max(500)).max(20)
const fields = {
  name: Name,
  description: z.string().trim().max(4_000).describe("Who it is: work, situation, how it reads a page."),
  goals: Points.describe("What it wants."),
  fears: Points.describe("What keeps it from acting."),
}

const PersonaResource = z
  .object({
    id: Uuid,
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    goals: z.array(z.string()),
    fears: z.array(z.string()),
    revision: z.int(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "Persona" })

const bySlug = { slug: SlugOrId.describe("Slug or UUID of the persona.") }
const madePersona = { given: { persona: "personas.create" }, input: { slug: resultOf("persona.slug") } }

export const createPersona = defineOperation({
  name: "personas.create",
  summary: "Make a persona: a simulated visitor for panels.",
  http: { method: "POST", path: "/v1/personas" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...fields,
    slug: Slug.optional().describe("Made from the name when absent, with -2 where that is taken."),
    description: fields.description.default(""),
    goals: fields.goals.default([]),
    fears: fields.fears.default([]),
  }),
  output: PersonaResource,
  errors: ["invalid_argument", "already_exists"],
  examples: [
    {
      input: {
        name: "Busy founder",
        description: "Runs a company of twelve people and reads on a phone between meetings.",
        goals: ["Save an hour a day"],
        fears: ["A contract that cannot be ended"],
      },
    },
  ],
  inject: { store: Store, clock: Clock, ids: Ids },
  async handle({ input, caller, deps, work }) {
    const organization = caller.organization.id
    const isTaken = async (slug: string) => (await deps.store.open(PersonaCollection, organization).first({ slug })) !== undefined
    if (input.slug !== undefined && (await isTaken(input.slug)))
      throw slugTaken(`There is a persona "${input.slug}" already; take another slug.`)
    const at = timestamp(deps.clock.now())
    const slug = input.slug ?? (await uniqueSlug(slugOf(input.name, "persona"), isTaken))
    const persona: StoredPersona = { ...input, id: deps.ids.uuid(), slug, revision: 1, created_at: at, updated_at: at }
    work.in(PersonaCollection, organization).insert(persona)
    return persona
  },
})

export const listPersonas = defineList({
  name: "personas.list",
  summary: "List the organization's personas, newest first.",
  path: "/v1/personas",
  access: { scope: "experiments:read", role: "guest" },
  columns: ["slug", "name", "description", "updated_at"],
  collection: PersonaCollection,
  items: { personas: PersonaResource },
  view: shown,
})

export const getPersona = defineOperation({
  name: "personas.get",
  summary: "Read a persona.",
  http: { method: "GET", path: "/v1/personas/{slug}" },
  access: { scope: "experiments:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: PersonaResource,
  errors: ["not_found"],
  examples: [madePersona],
  inject: { store: Store },
  handle: async ({ input, caller, deps }) => shown(await requirePersona(deps.store, caller.organization.id, input.slug)),
})

export const updatePersona = defineOperation({
  name: "personas.update",
  summary: "Change a persona; panels that were run with it keep what they were run with.",
  http: { method: "PATCH", path: "/v1/personas/{slug}" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    name: fields.name.optional(),
    description: fields.description.optional(),
    goals: fields.goals.optional(),
    fears: fields.fears.optional(),
    expected_revision: z.int().optional().describe("Revision that the change was made for; refused when there is a newer one."),
  }),
  output: PersonaResource,
  errors: ["invalid_argument", "not_found", "aborted"],
  examples: [
    {
      ...madePersona,
      input: { ...madePersona.input, goals: ["Save two hours a day"], expected_revision: resultOf("persona.revision") },
    },
  ],
  inject: { store: Store, clock: Clock },
  async handle({ input, caller, deps, work }) {
    const { slug, expected_revision, ...given } = input
    const persona = await requirePersona(deps.store, caller.organization.id, slug)
    requireRevision("persona", persona.revision, expected_revision)
    return shown(stageRevision(work.in(PersonaCollection, caller.organization.id), persona, given, deps.clock.now()))
  },
})

export const deletePersona = defineOperation({
  name: "personas.delete",
  summary: "Remove a persona; what it said in panels stays on the ledger.",
  http: { method: "DELETE", path: "/v1/personas/{slug}" },
  access: { scope: "experiments:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(bySlug),
  output: z.object({ id: Uuid, deleted: z.literal(true) }),
  errors: ["not_found"],
  examples: [madePersona],
  inject: { store: Store },
  async handle({ input, caller, deps, work }) {
    const { id } = await requirePersona(deps.store, caller.organization.id, input.slug)
    work.in(PersonaCollection, caller.organization.id).remove(id, { optional: true })
    return { id, deleted: true as const }
  },
})

async function requirePersona(store: Store, organization: string, slugOrId: string): Promise<StoredPersona> {
  const personas = store.open(PersonaCollection, organization)
  const found = isUuid(slugOrId) ? await personas.get(slugOrId) : await personas.first({ slug: slugOrId })
  if (found) return found
  throw new AppError("not_found", `The organization has no persona "${slugOrId}"; GET /v1/personas lists them.`, {
    reason: "persona_not_found",
  })
}

function shown({ organization_id: _organization, ...persona }: StoredPersona) {
  return persona
}
