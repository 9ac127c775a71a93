// Creates cases from stored data: an event or a page. Secrets are redacted as elsewhere.
import { AppError, type Clock, type Store } from "#core"
import { type CoreConfig, EntryCollection, redactedText, storedPayload } from "#core/engine"
import type { EventPipelines } from "../../capture/pipelines/index.ts"
import { type Pages, pageText } from "../../pages/pages/index.ts"
import type { StoredCase } from "./suites.ts"

export interface CaptureDeps {
  readonly store: Store
  readonly clock: Clock
  readonly settings: CoreConfig
  readonly pipelines: EventPipelines
  readonly pages: Pages
}

export type Captured =
  | { readonly kind: "event"; readonly pipeline: string; readonly execution_id: string }
  | { readonly kind: "page"; readonly page: string; readonly variant?: string | undefined }

export interface CapturedInput {
  readonly source: StoredCase["source"]
  readonly name: string
  readonly text: string
}

/** Throws `not_found` if the source is missing or no longer stored. */
export function captured(deps: CaptureDeps, organization: string, from: Captured): Promise<CapturedInput> {
  return from.kind === "event" ? capturedEvent(deps, organization, from) : capturedPage(deps, organization, from)
}

async function capturedEvent(
  { store, clock, settings, pipelines }: CaptureDeps,
  organization: string,
  { pipeline: ref, execution_id }: Extract<Captured, { kind: "event" }>,
): Promise<CapturedInput> {
  const pipeline = await pipelines.get(organization, ref)
  const entries = store.open(EntryCollection, organization)
  const entry = await entries.get(execution_id)
  // A repeat or a replay stores no payload of its own.
  const first = entry?.replay_of ?? entry?.repeat_of ?? null
  const origin = entry?.pipeline_id !== pipeline.id || first === null ? entry : await entries.get(first)
  const isIts = origin?.pipeline_id === pipeline.id
  const payload = isIts ? await storedPayload(store, organization, origin, settings.retention.payloads_days, clock.now()) : undefined
  if (payload) {
    const source = { kind: "event" as const, pipeline_slug: pipeline.slug, execution_id }
    return { source, name: `Event of ${pipeline.slug}`, text: redactedText(payload.body) }
  }
  const message = `The pipeline "${pipeline.slug}" holds no payload of an execution ${execution_id}: it does not exist, was rejected, or its payload expired.`
  throw new AppError("not_found", message, { reason: "case_source_not_found" })
}

async function capturedPage(
  { pages }: CaptureDeps,
  organization: string,
  { page: ref, variant: key }: Extract<Captured, { kind: "page" }>,
): Promise<CapturedInput> {
  const page = await pages.require(organization, ref)
  const variant = key === undefined ? page.variants[0] : page.variants.find((item) => item.key === key)
  if (variant) {
    const source = { kind: "page" as const, page_id: page.id, variant_key: variant.key }
    return { source, name: page.title, text: redactedText(pageText(variant.html)) }
  }
  const names = page.variants.map((item) => item.key).join(", ") || "none"
  const which = key === undefined ? "no variant" : `no variant "${key}" (it has ${names})`
  throw new AppError("not_found", `The page "${page.slug}" has ${which}.`, { reason: "case_source_not_found" })
}
