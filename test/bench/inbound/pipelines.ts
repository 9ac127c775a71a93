// The measured pipelines: the full one, and its variants with one part less or more.
import type { RequestSpec } from "../load/load.ts"
import type { Service } from "../service/service.ts"

export type InboundRequest = Omit<RequestSpec, "prefix">

/** Default body size. */
export const leadBytes = 300

export function lead(bytes = leadBytes): RequestSpec["body"] {
  return { kind: "lead", bytes }
}

interface Made {
  readonly inbound_url: string
  readonly secret?: string
}

export interface PipelineOptions {
  readonly name: string
  readonly auth_mode?: string
  readonly auth_config?: Readonly<Record<string, unknown>>
  readonly owner_artifact_id?: string
  readonly schema?: boolean
  /** Text of the transform, or true for the default. */
  readonly transform?: boolean | string
  readonly steps?: readonly object[]
  readonly dedupe?: object
}

const request_schema = {
  type: "object",
  required: ["email"],
  properties: { email: { type: "string", format: "email" }, name: { type: "string" }, budget: { type: "number" } },
}

/** Writes the address to the given column. */
export function plainTransform(column: string): string {
  return `function transform(event) { return { ${column}: event.email.trim().toLowerCase(), name: event.name, budget: Number(event.budget) || 0 } }`
}

/** One row per event. The key reveals repeats. The columns name no person, so no lead follows. */
export const saveStep = { id: "save", type: "dataset.write", dataset_slug: "customers", key: "customer" }

/** A row with a person and thus a lead. */
export const ofPerson = { transform: plainTransform("email"), steps: [{ ...saveStep, dataset_slug: "leads", key: "email" }] }

/**
 * Creates a pipeline. By default an event is verified by HMAC, checked by a schema, transformed, written as a row, stamped and
 * journalled.
 */
export function makePipeline(service: Service, options: PipelineOptions): Promise<Made> {
  const {
    name,
    auth_mode = "hmac_sha256",
    auth_config,
    owner_artifact_id,
    schema = true,
    transform = true,
    steps = [saveStep],
    dedupe,
  } = options
  return service.api<Made>("POST", "/v1/event-pipelines", {
    name,
    state: "active",
    auth_mode,
    ...(auth_config === undefined ? {} : { auth_config }),
    ...(owner_artifact_id === undefined ? {} : { owner_artifact_id }),
    ...(schema ? { request_schema } : {}),
    ...(transform === false ? {} : { transform_js: transform === true ? plainTransform("customer") : transform }),
    ...(dedupe === undefined ? {} : { dedupe }),
    pipeline: steps,
  })
}

/** Returns signed bodies of this size. */
export function signedRequest({ inbound_url, secret = "" }: Made, bodyBytes = leadBytes): InboundRequest {
  return { url: inbound_url, body: lead(bodyBytes), hmac: { header: "x-signature-256", secret } }
}
