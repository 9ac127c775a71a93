// A dataset: its fields, and the operations that create, read and change it.
import { z } from "zod"
import { CacheInvalidation, defineResource, derivedUuid, type ItemOf, Name, slugFrom } from "#core"
import { datasetsTopic, keyOf, withFirstColumns } from "./collections.ts"
import { columnsOf, columnTypes } from "./column-types.ts"
import { ReservationsToken } from "./reservations.ts"

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

/** The same dataset made twice at once is one. */
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
