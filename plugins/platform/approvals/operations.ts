// Approvals: listing, reading and deciding.
import { z } from "zod"
import { AnyJson, AppError, defineOperation, type Json, Pager, pageInput, resultOf, Store, Timestamp, Uuid } from "#core"
import { Actions, Declarations, fieldProblems, Jobs, literalConfig, Operations, risks } from "#core/engine"
import { ApiKeys, Organizations, Principals } from "../organizations/index.ts"
import { Approvals } from "./approvals.ts"
import { ApprovalCollection, refuseHalves, type StoredApproval, states } from "./collections.ts"
import { requireDecider } from "./deciders.ts"
import { restoreRedacted } from "./shown-input.ts"

const Approval = z
  .object({
    id: Uuid,
    state: z
      .enum(states)
      .describe(
        "`pending`; `approved`: to be carried out; `rejected`; `expired`: nobody decided; `done` and `failed`: carried out, see `receipt`.",
      ),
    gate: z.string(),
    risk: z.enum(risks),
    subject: z.object({
      kind: z.enum(["operation", "step", "job"]),
      name: z.string().describe("The operation, pipeline and step, or type of job."),
    }),
    what: z.string().describe("What would be done."),
    why: z.string(),
    requester: z.object({
      credential_id: z.string().nullable().describe("null: a pipeline, or the service itself."),
      user_id: z.string().nullable(),
      surface: z.string(),
    }),
    input: AnyJson.describe(
      "Exactly what would be done, but for values that are named like secrets. Texts of mails and messages are shown in full.",
    ),
    hidden: z
      .array(z.object({ path: z.string().describe("Dotted path in `input`."), characters: z.int() }))
      .describe("Values of `input` that are redacted, with their number of characters."),
    target: AnyJson.describe(
      "Who it reaches beside the input: connections with revision and host, or the sender of mail. It is refused if this changed. Null: the input says it all.",
    ),
    digest: z.string().describe("HMAC-SHA-256 of the exact input and the target: the same here, on the job and on the receipt."),
    asked_digest: z.string().nullable().describe("Of the input as it was asked for, where a person edited it."),
    decided_by: z.object({ credential_id: z.string(), user_id: z.string().nullable() }).nullable(),
    decided_at: Timestamp.nullable(),
    note: z.string(),
    receipt: z
      .object({
        at: Timestamp,
        digest: z.string(),
        ok: z.boolean(),
        result: AnyJson,
        error: z
          .object({ code: z.string(), message: z.string(), reason: z.string().nullish().describe("As in `details.reason` of an error.") })
          .nullable(),
      })
      .nullable(),
    created_at: Timestamp,
    expires_at: Timestamp.describe("Undecided until then, it is expired; it is removed `keep_days` later."),
  })
  .meta({ id: "Approval" })

function toResource(approval: StoredApproval, state: StoredApproval["state"]): z.input<typeof Approval> {
  const {
    organization_id: _organization,
    sealed: _sealed,
    digest_key: _key,
    job: _job,
    removed_at: _removed,
    contents: _contents,
    ...fields
  } = approval
  return { ...fields, hidden: fields.hidden ?? [], target: fields.target ?? null, state }
}

/** A pipeline step with a pending approval. */
const example = {
  gates: { operation: "autonomy_gates.set", input: { gates: null } },
  pipeline: {
    operation: "event_pipelines.create",
    input: {
      name: "Tell the partner",
      state: "active",
      pipeline: [{ id: "tell", type: "http.request", gate: true, url: "https://partner.example.com/leads" }],
    },
  },
  event: { operation: "event_pipelines.send_event", input: { slug: resultOf("pipeline.slug"), payload: { email: "ada@example.com" } } },
  waiting: "approvals.list",
}
const thatOne = { given: example, input: { id: resultOf("waiting.approvals.0.id") } }

export const listApprovals = defineOperation({
  name: "approvals.list",
  summary: "List what waits or waited for a person's approval, newest first.",
  http: { method: "GET", path: "/v1/approvals" },
  access: { scope: "approvals:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  columns: ["state", "risk", "gate", "what", "created_at", "id"],
  input: z.strictObject({ state: z.enum(states).optional(), ...pageInput }),
  output: z.object({ approvals: z.array(Approval), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  inject: { store: Store, pager: Pager, approvals: Approvals },
  async handle({ input: { state, limit, cursor }, caller, deps }) {
    const organization = caller.organization.id
    const page = await deps.pager.page({
      collection: deps.store.open(ApprovalCollection, organization),
      organization,
      cursorScope: `approvals.list ${state ?? ""}`,
      filter: deps.approvals.filterOf(state),
      sort: { created_at: -1 },
      request: { limit, cursor },
    })
    return {
      approvals: page.items.map((approval) => toResource(approval, deps.approvals.stateOf(approval))),
      next_cursor: page.next_cursor,
    }
  },
})

export const getApproval = defineOperation({
  name: "approvals.get",
  summary: "Read an approval.",
  http: { method: "GET", path: "/v1/approvals/{id}" },
  access: { scope: "approvals:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: Uuid }),
  output: Approval,
  errors: ["not_found"],
  examples: [thatOne],
  inject: { approvals: Approvals },
  async handle({ input, caller, deps }) {
    const approval = await deps.approvals.require(caller.organization.id, input.id)
    return toResource(approval, deps.approvals.stateOf(approval))
  },
})

export const decideApproval = defineOperation({
  name: "approvals.decide",
  summary: "Approve, reject or edit a pending approval.",
  description:
    "A person decides. Credentials of the requester's root, user or manager are refused. In a session, a person also decides own requests, unless the organization requires a second person. A job runs the approved input once. `digest` identifies the input. `edit` replaces it. Redacted values stay unchanged.",
  http: { method: "POST", path: "/v1/approvals/{id}/decide" },
  access: { scope: "approvals:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({
    id: Uuid,
    decision: z.enum(["approve", "reject", "edit"]),
    note: z
      .string()
      .trim()
      .max(2_000)
      .refine((text) => text.isWellFormed(), "holds half of a surrogate pair")
      .default(""),
    digest: z.string().optional().describe("Of the input that you saw; refused where it is another."),
    input: AnyJson.optional().describe("Of `edit`: what is to be done instead, whole."),
  }),
  output: Approval,
  errors: ["not_found", "invalid_argument", "permission_denied", "failed_precondition", "aborted"],
  examples: [{ ...thatOne, input: { ...thatOne.input, decision: "approve", note: "Go ahead." } }],
  mcp: { absent: "An agent must not approve the calls of agents." },
  auditSize: ["input"],
  inject: { approvals: Approvals, declarations: Declarations, apiKeys: ApiKeys, principals: Principals, organizations: Organizations },
  async handle({ input: { id, decision, note, digest, input }, caller, deps, work }) {
    const organization = caller.organization.id
    const { approvals, declarations } = deps
    const approval = await approvals.require(organization, id)
    await requireDecider(deps, approval, caller)
    const state = approvals.stateOf(approval)
    if (state !== "pending") throw alreadyDecided(`The approval is ${state}, not pending.`)
    if (digest !== undefined && digest !== approval.digest)
      throw fieldRefused("digest", "is not that of the input that waits; read the approval again")
    if ((decision === "edit") !== (input !== undefined))
      throw fieldRefused("input", decision === "edit" ? "is what `edit` needs" : "is only for `edit`")
    const by = { credential_id: caller.credential.id, user_id: caller.user?.id ?? null }
    const exact = approvals.inputOf(approval)
    if (input !== undefined) refuseHalves(input, "input")
    const edited =
      input === undefined
        ? {}
        : { edited: await checkInput(declarations, approval, exact, restoreRedacted(input, { shown: approval.input, exact })) }
    return toDecidedResource(
      approvals.decide(work, organization, approval, { by, note, state: decision === "reject" ? "rejected" : "approved", ...edited }),
    )
  },
  // Another decision was committed first. This node may not see it yet.
  onConflict: async ({ error }) =>
    error.details["collection"] === ApprovalCollection.name ? alreadyDecided("Another decision came first.") : error,
})

function alreadyDecided(message: string): AppError {
  return new AppError("failed_precondition", message, { reason: "already_decided" })
}

const toDecidedResource = (approval: StoredApproval) => toResource(approval, approval.state)

/** Throws `invalid_argument` with the wrong fields. */
async function checkInput(declarations: Declarations, { subject, gate }: StoredApproval, original: Json, input: Json): Promise<Json> {
  if (subject.kind === "step") {
    const action = declarations.get(Actions, gate)
    if (!action) throw subjectGone(`the action ${gate}`)
    const runs = (original as Json[]).length
    if (!Array.isArray(input) || input.length !== runs)
      throw fieldRefused("input", `is a list with the fields of each run of the step, which are ${runs}`)
    return input.map((config, index) => literalConfig(action, config, `input.${index}`) as Json)
  }
  const schema = subject.kind === "job" ? declarations.get(Jobs, subject.name)?.payload : declarations.get(Operations, subject.name)?.input
  if (!schema) throw subjectGone(`the ${subject.kind} ${subject.name}`)
  const parsed = await schema.safeParseAsync(input)
  if (parsed.success) return input
  const fields = fieldProblems({ schema, value: input, issues: parsed.error.issues }).map((problem) => ({
    ...problem,
    path: `input.${problem.path}`,
  }))
  throw new AppError(
    "invalid_argument",
    `The edited input is not valid: ${fields.map(({ path, message }) => `${path}: ${message}`).join("; ")}`,
    {
      reason: "invalid_fields",
      fields,
    },
  )
}

function subjectGone(subject: string): AppError {
  const message = `No loaded plugin declares ${subject}, so an edited input cannot be checked; load its plugin again, or reject.`
  return new AppError("failed_precondition", message, { reason: "subject_gone" })
}

function fieldRefused(path: string, message: string): AppError {
  return new AppError("invalid_argument", `${path} ${message}.`, { reason: "invalid_fields", fields: [{ path, message }] })
}
