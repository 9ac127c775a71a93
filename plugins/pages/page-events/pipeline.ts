// Creates the page-events pipeline of a page at its first publication. Disabling it turns first-party analytics off for the page.
// Later publications do not create it again.
import { derivedUuid, type UnitOfWork, uniqueSlug } from "#core"
import { PipelineDocument } from "#core/engine"
import type { EventPipelines } from "../../capture/pipelines/index.ts"
import type { ReservedDataset } from "../../data/datasets/index.ts"
import type { StoredPage } from "../pages/index.ts"
import { pageEventsDataset, pageEventsKey } from "./columns.ts"

export interface PublicationDeps {
  readonly pipelines: EventPipelines
  readonly dataset: ReservedDataset
}

export function pipelineIdOf(page: string): string {
  return derivedUuid("page-events pipeline", page)
}

export async function onPublish(
  { pipelines, dataset }: PublicationDeps,
  work: UnitOfWork,
  organization: { id: string; slug: string },
  page: StoredPage,
): Promise<void> {
  const id = pipelineIdOf(page.id)
  if (await pipelines.find(organization.id, id)) return
  await dataset.ensure(work, organization, {
    name: "Page events",
    class: "events",
    purpose: "page_events",
    description: "First-party analytics of all published pages: one row per event, keyed by event_id.",
  })
  const base = `page-events-${page.slug}`.slice(0, 95).replace(/-+$/, "")
  const document = PipelineDocument.parse({
    slug: await uniqueSlug(base, async (slug) => (await pipelines.find(organization.id, slug)) !== undefined),
    name: `Page events: ${page.title}`.slice(0, 200),
    state: "active",
    source_kind: "browser_form",
    auth_mode: "public_artifact",
    owner_artifact_id: page.id,
    pipeline: [{ id: "page_events", type: "dataset.write", dataset_slug: pageEventsDataset, key: pageEventsKey }],
  })
  await pipelines.create({ ...organization, name: organization.slug }, document, work, null, { purpose: "page_events", id })
}
