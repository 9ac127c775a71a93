// PUT /v1/workstreams/{slug}/external-refs: sets the provider objects governed by a workstream. Agents can read the list, but
// cannot extend it: the operation has no MCP tool and no command.
import { z } from "zod"
import { AppError, defineOperation, requireRevision, Store } from "#core"
import type { ExternalRef } from "../collections.ts"
import { ReadModel, shownWhole, wholeOf } from "../read-model.ts"
import { actorOf, Workstreams } from "../workstreams.ts"
import { bySlug, madeWorkstream, ofThatWorkstream, path } from "./resource.ts"

const reason = "Agents have the tools and commands, and cannot widen what they may touch."
const Text = z.string().trim().max(500)

export const setExternalRefs = defineOperation({
  name: "workstreams.set_external_refs",
  summary: "Replace the list of provider-owned objects that a workstream governs.",
  description: "The whole list, for the consumer that holds the mapping.",
  http: { method: "PUT", path: `${path}/{slug}/external-refs` },
  access: { scope: "workstreams:write", role: "admin" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    expected_revision: z.int().describe("Revision of the workstream that the list was made for."),
    external_refs: z
      .array(
        z.strictObject({
          account_id: Text.default(""),
          external_id: Text.min(1),
          kind: Text.min(1),
          label: Text.default(""),
          provider: Text.min(1),
        }),
      )
      .max(200)
      .describe("No entry is empty, and none occurs twice."),
  }),
  output: ReadModel,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: madeWorkstream,
      input: {
        ...ofThatWorkstream,
        expected_revision: 1,
        external_refs: [{ provider: "ads.example", account_id: "77", kind: "campaign", external_id: "c-1", label: "Autumn" }],
      },
    },
  ],
  mcp: { absent: reason },
  cli: { absent: reason },
  inject: { store: Store, workstreams: Workstreams },
  async handle({ input: { slug, expected_revision, external_refs }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    requireRevision("workstream", workstream.revision, expected_revision)
    refuseDuplicates(external_refs)
    const body = `Governs ${external_refs.length} objects of providers.`
    const news = { actor: actorOf(caller), event: "external_refs_set", body }
    const updated = deps.workstreams.update(work, organization, workstream, { external_refs }, news)
    return shownWhole(await wholeOf(deps.store, organization, updated.workstream, [updated.event]), caller)
  },
  onConflict: async ({ error }) => error,
})

function refuseDuplicates(refs: readonly ExternalRef[]): void {
  const objects = new Set<string>()
  const fields = refs.flatMap(({ provider, account_id, kind, external_id }, index) => {
    const key = JSON.stringify([provider, account_id, kind, external_id])
    if (!objects.has(key)) return objects.add(key) && []
    return [{ path: `external_refs.${index}`, message: `is listed before: ${provider} ${kind} ${external_id}` }]
  })
  if (fields.length === 0) return
  const message = `external_refs lists an object twice: ${fields.map(({ path, message: problem }) => `${path} ${problem}`).join("; ")}.`
  throw new AppError("invalid_argument", message, { reason: "duplicate_external_refs", fields })
}
