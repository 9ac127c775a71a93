// The dataset resource: its fields, and the operations that create, read and change it.
import { z } from "zod"
import { AppError, CacheInvalidation, defineResource, derivedUuid, type ItemOf, isUuid, Name, slugFrom, token } from "#core"
import { datasetsTopic, keyOf, withFirstColumns } from "./collections.ts"
import { columnsOf, columnTypes } from "./column-types.ts"

/** Slugs reserved by plugins. */
export class Reservations {
  readonly #uses = new Map<string, string>()

  reserve(slug: string, use: string): void {
    this.#uses.set(slug, use)
  }

  /** Returns the error for a reserved slug. */
  refusal(slug: string): Error | undefined {
    const use = this.#uses.get(slug)
    if (use === undefined) return undefined
    const message = `"${slug}" is reserved for ${use}; choose another dataset.`
    const fields = [{ path: "dataset_slug", message }]
    return new AppError("failed_precondition", message, { reason: "dataset_reserved", fields, retryable: false })
  }

  /** Throws `failed_precondition` for a reserved slug. */
  refuseArchiving(slug: string): void {
    const use = this.#uses.get(slug)
    if (use === undefined) return
    const message = `"${slug}" is reserved for ${use}, so it cannot be archived.`
    throw new AppError("failed_precondition", `status: ${message}`, { reason: "dataset_reserved", fields: [{ path: "status", message }] })
  }
}

export const ReservationsToken = token<Reservations>("DatasetReservations")

interface Hidden {
  /** True if rows may lack a key. Absent in datasets of earlier versions: their rows may lack a key too. */
  unkeyed?: boolean
  warnings?: never
}

/** Fields of the service in a new dataset. */
export const newFields = {
  ...{ type: "native" as const, sync_status: "idle" as const, integration_config_key: "", integration_id: "" },
  ...{ key: null, unkeyed: false },
}

/** Derived from the slug: concurrent creations result in one dataset. */
export function datasetId(organization: string, slug: string): string {
  return derivedUuid("dataset", organization, slug)
}

export const DatasetResource = defineResource<Hidden>()({
  name: "dataset",
  plural: "datasets",
  title: "Dataset",
  path: "/v1/datasets",
  collection: { name: "datasets", restore: withFirstColumns as never },
  access: { read: { scope: "datasets:read", role: "guest" }, write: { scope: "datasets:write", role: "member" } },
  key: { ...slugFrom("name"), idOfNew: datasetId },
  fields: {
    name: Name,
    description: z.string().max(2_000),
    class: z.enum(["table", "events"]),
    purpose: z.string().max(200),
    status: z.enum(["active", "archived"]),
  },
  fixed: ["class"],
  later: ["status"],
  defaults: { description: "", class: "table", purpose: "", status: "active" },
  shown: {
    type: z.enum(["native", "synced"]),
    sync_status: z.enum(["idle", "syncing", "error"]),
    integration_config_key: z.string(),
    integration_id: z.string(),
    key: z.string().nullable().describe("Key column; null until the first keyed write."),
    columns: z
      .array(z.object({ name: z.string(), type: z.enum(columnTypes) }))
      .describe("Inferred from rows, in order of first appearance."),
    warnings: z.array(z.string()).describe("Columns that hold mixed types."),
  },
  hidden: ["unkeyed"],
  unstored: ["warnings"],
  present: ({ columns }) => columnsOf(columns),
  columns: ["slug", "name", "class", "purpose", "type", "status", "warnings"],
  examples: [{ input: { name: "Leads", description: "Everyone who asked for a demonstration." } }],
  change: { name: "Leads of spring" },
  verbs: {
    create: { errors: ["failed_precondition"] },
    get: { summary: "Read a dataset: its columns, its key and warnings." },
    update: {
      summary: "Change a dataset's name, description, purpose or status; an archived dataset accepts no rows.",
      description: "Datasets of the service, such as page-events, cannot be archived.",
      errors: ["failed_precondition"],
    },
  },
  omit: ["list", "delete"],
  inject: { invalidation: CacheInvalidation, reservations: ReservationsToken },
  reserved: (slug, { deps }) => deps.reservations.refusal(slug),
  check(_dataset, { before, change, deps }) {
    if (before && change.status === "archived") deps.reservations.refuseArchiving(before.slug)
  },
  start: () => ({ ...newFields, columns: [] }),
  updated({ slug }, _before, { work, organization, deps }) {
    deps.invalidation.announce(work, datasetsTopic, keyOf(organization, slug))
  },
})

export const DatasetsCollection = DatasetResource.collection

export type Dataset = ItemOf<typeof DatasetResource>

const slug = "[a-z0-9]+(?:-[a-z0-9]+)*"
const reference = new RegExp(`^(?:${slug}\\.)?${slug}$`)

/** Reference to a dataset in a row write: a slug, or `<org-slug>.<dataset-slug>`. UUIDs are refused. */
export const DatasetReference = z
  .string()
  .min(1)
  .max(201)
  .regex(reference, "a slug such as leads, or <organization>.<dataset>")
  .refine((text) => !isUuid(text), "a slug, never a UUID; GET /v1/datasets lists slugs")
  .describe("Dataset to write to; created on save if it does not exist.")

/** Returns the slug in the caller's own organization. Throws `invalid_argument` for another organization and for a UUID. */
export function resolveReference(text: string, organizationSlug: string): string {
  const dot = text.indexOf(".")
  const own = dot === -1 ? text : text.slice(dot + 1)
  if (dot !== -1 && text.slice(0, dot) !== organizationSlug) {
    throw refusal(text, `names another organization; rows are written to datasets of "${organizationSlug}" only`)
  }
  if (isUuid(own)) throw refusal(text, "is a UUID; datasets are named by slug")
  return own
}

function refusal(text: string, why: string): AppError {
  return new AppError("invalid_argument", `dataset_slug: "${text}" ${why}.`, {
    reason: "invalid_fields",
    fields: [{ path: "dataset_slug", message: why }],
    retryable: false,
  })
}
