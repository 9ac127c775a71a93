// Action types and auth modes with realistic configs and no effect, for tests of the compiler.
import { z } from "zod"
import { type AnyAction, defineAction } from "../../core/contract/action.ts"
import { type AnyAuthMode, defineAuthMode } from "../../core/contract/auth-mode.ts"
import { Slug } from "../../core/contract/fields.ts"
import { template, templateJson, templateRecord } from "../../core/contract/template.ts"
import type { AuthFacts, CompileEnvironment, Named } from "../../core/pipeline/compile.ts"
import type { TemplateScope } from "../../core/pipeline/graph.ts"
import type { ProgramProblem } from "../../core/pipeline/sandbox/sandbox.ts"

const none = { examples: [], run: () => ({}) }

const datasetWrite = defineAction({
  ...none,
  type: "dataset.write",
  summary: "Write a row.",
  timing: "commit",
  config: z.strictObject({
    dataset_slug: z.string().regex(/^[a-z0-9-]+(?:\.[a-z0-9-]+)?$/),
    key: z.string().min(1).optional(),
    row: templateRecord().optional(),
  }),
  result: z.object({ row_id: z.string(), dataset_slug: z.string() }),
  writesTo: (config) => [config.dataset_slug],
  keyedBy: (config) => config.key,
  run: () => ({ row_id: "", dataset_slug: "" }),
})

const address = template(z.email())

const emailSend = defineAction({
  ...none,
  type: "email.send",
  summary: "Send an email.",
  timing: "deferred",
  config: z.strictObject({
    to: z.union([address, z.array(address)]),
    heading: template(z.string().max(200)),
    fields: templateRecord().optional(),
    button: z.strictObject({ label: template(z.string()), url: template(z.url()) }).optional(),
  }),
  result: z.object({ message_id: z.string() }),
  run: () => ({ message_id: "" }),
})

const integrationCall = defineAction({
  ...none,
  type: "integration.call",
  summary: "Call an integration.",
  timing: "deferred",
  config: z.strictObject({ integration: Slug, action: z.string(), input: templateJson().optional() }),
  result: z.json(),
})

const liveBroadcast = defineAction({
  ...none,
  type: "live.broadcast",
  summary: "Broadcast a message.",
  timing: "commit",
  config: z.strictObject({
    channel: z.string().min(1),
    event: z.string().optional(),
    public: z.boolean().optional(),
    data: templateJson(),
  }),
  result: z.object({ message_id: z.string() }),
  broadcastsTo: (config) => [config.channel],
  run: () => ({ message_id: "" }),
})

const respond = defineAction({
  ...none,
  type: "respond",
  summary: "Answer the caller.",
  timing: "commit",
  replies: true,
  config: z.strictObject({
    status: template(z.int().min(200).max(599)).optional(),
    headers: templateRecord(z.string()).optional(),
    body: templateJson(),
  }),
  result: z.object({ status: z.number() }),
  run: () => ({ status: 200 }),
})

const httpRequest = defineAction({
  ...none,
  type: "http.request",
  summary: "Call a URL.",
  timing: "deferred",
  config: z.strictObject({
    url: template(z.url()),
    method: z.enum(["GET", "POST", "PUT"]).default("POST"),
    headers: templateRecord(z.string()).optional(),
    body: templateJson().optional(),
  }),
  result: z.object({ status: z.number(), body: z.json() }),
  run: () => ({ status: 200, body: null }),
})

const pipelineSend = defineAction({
  ...none,
  type: "pipeline.send",
  summary: "Send to another pipeline.",
  timing: "deferred",
  config: z.strictObject({ pipeline: Slug, payload: templateJson().optional() }),
  result: z.object({ execution_id: z.string() }),
  run: () => ({ execution_id: "" }),
})

export const actions: readonly AnyAction[] = [
  ...[datasetWrite, emailSend, integrationCall, liveBroadcast, respond, httpRequest, pipelineSend],
]

const mode = (name: string, config: z.ZodObject = z.strictObject({})): AnyAuthMode =>
  defineAuthMode({
    mode: name,
    summary: name,
    config,
    secret: () => "none",
    prepare: () => ({ verify: () => ({ ok: true }), coversBody: false, retries: false }),
  })

export const authModes: readonly AnyAuthMode[] = [
  mode("hmac_sha256", z.strictObject({ header: z.string().optional(), encoding: z.enum(["hex", "base64"]).default("hex") })),
  mode("authenticated_viewer", z.strictObject({ audience: z.enum(["viewers", "public_and_viewers"]).default("viewers") })),
  mode("provider_signature", z.strictObject({ provider: z.string() })),
  mode("public_artifact"),
  mode("none"),
]

const signed: AuthFacts = { coversBody: true, retries: true, ackTimeoutS: 10 }

function byName<T>(items: readonly T[], nameOf: (item: T) => string): Named<T> {
  return { get: (name) => items.find((item) => nameOf(item) === name), names: () => items.map(nameOf) }
}

/** A program compiler with two errors: an invalid type, and unbalanced braces. */
export const environment: CompileEnvironment = {
  actions: byName(actions, (action) => action.type),
  authModes: byName(authModes, (item) => item.mode),
  authFacts: (item) => (["hmac_sha256", "provider_signature"].includes(item.mode) ? signed : { coversBody: false, retries: false }),
  compileProgram: async ({ schema, transform }) => {
    const problems: ProgramProblem[] = []
    if ((schema as { type?: string } | null)?.type === "objekt")
      problems.push({ part: "schema", message: '"objekt" is not a type.', pointer: "/type" })
    const broken = transform?.split("\n").findIndex((line) => line.includes("return {") && !line.includes("}")) ?? -1
    if (broken >= 0) problems.push({ part: "transform", message: "Unexpected end.", line: broken + 1, column: 3 })
    return { program: problems.length > 0 ? null : { digest: "p", validator: null, transform, fields: null, mapping: null }, problems }
  },
  organizationSlug: "acme",
  channels: ["executions", "approvals", "datasets:*"],
}

export const scope: TemplateScope = {
  event: {
    email: "ada@acme.test",
    name: "Ada",
    budget: 1500,
    tags: ["a", "b"],
    nested: { deep: [1, { x: "y" }] },
    "odd key": 7,
    flag: false,
  },
  payload: { id: "evt_1" },
  query: { ref: "mail" },
  envelope: { page_url: "https://acme.test/p", is_test: false, received_at: "2026-01-02T03:04:05.678Z" },
  steps: { save: { row_id: "r1", dataset_slug: "leads" } },
  pipeline: { id: "p", slug: "lead", name: "Lead", endpoint_id: null },
  organization: { id: "o", slug: "acme" },
}
