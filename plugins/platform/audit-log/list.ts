// The audit log of the organization, newest first.
import { z } from "zod"
import { AppError, defineList, Timestamp, Uuid } from "#core"
import { AuditLog, type AuditRecord } from "#core/engine"

const Summary = z
  .json()
  .describe(
    "Secrets are redacted by field name and in URLs; long texts are shortened to the difference. `truncated`: larger values show only the difference. Rows and events show only ids and sizes.",
  )

const AuditEntry = z
  .object({
    id: Uuid,
    at: Timestamp,
    actor: z.object({
      credential_id: z.string().describe("The key or token used."),
      user_id: Uuid.nullable().describe("Owner of that key; null for a service principal."),
      organization_id: Uuid.nullable().describe("The organization that acted here as its manager; null for the organization itself."),
      surface: z.enum(["rest", "mcp", "live", "internal"]).describe("Commands and the client use REST."),
    }),
    operation: z.string(),
    target: Summary,
    changes: Summary.describe("Input of the call, with secrets redacted and long texts shortened; events and rows by size."),
    writes: z
      .array(z.object({ collection: z.string(), id: z.string(), before: Summary, after: Summary }))
      .describe(
        "The first forty documents (ten rows) that it created (`before` is null), changed (the changed fields) or removed (`after` is null).",
      ),
    more_writes: z.int().describe("Number of further documents that it wrote."),
    request_id: z.string(),
  })
  .meta({ id: "AuditEntry" })

export const listAuditLog = defineList({
  name: "audit_log.list",
  summary: "List who changed what, newest first.",
  description:
    "A record is committed with the change itself: changes of successful calls are listed, failed calls are not. Changes without a call are not listed: pipelines applied from files at start (see the log), events (see executions) and jobs. Records are removed after `retention.audit_days`, by default a year.",
  path: "/v1/audit-log",
  access: { scope: "audit_log:read", role: "admin" },
  columns: ["at", "operation", "actor.surface", "actor.credential_id", "request_id"],
  input: {
    actor: Uuid.optional().describe("UUID of a key, a token or a user."),
    operation: z.string().min(1).max(100).optional().describe("Name of an operation, such as event_pipelines.update."),
    since: Timestamp.optional().describe("At or after."),
    until: Timestamp.optional().describe("Before."),
  },
  examples: [{ given: { dataset: "datasets.create" }, input: { operation: "datasets.create", limit: 10 } }],
  collection: AuditLog,
  where({ actor, operation, since, until }) {
    if (since !== undefined && until !== undefined && since >= until) {
      const message = `"until" (${until}) must be after "since" (${since}).`
      throw new AppError("invalid_argument", message, { reason: "invalid_fields", fields: [{ path: "until", message }] })
    }
    return {
      ...(actor && { $or: [{ "actor.credential_id": actor }, { "actor.user_id": actor }] }),
      ...(operation && { operation }),
      ...((since || until) && { at: { ...(since && { $gte: since }), ...(until && { $lt: until }) } }),
    }
  },
  items: { audit_log: AuditEntry },
  view: toResource,
})

function toResource(record: AuditRecord): z.input<typeof AuditEntry> {
  const { id, at, actor, operation, target, changes, writes = [], more_writes = 0, request_id } = record
  return {
    id,
    at,
    actor: { ...actor, organization_id: actor.organization_id ?? null },
    operation,
    target,
    changes,
    writes,
    more_writes,
    request_id,
  }
}
