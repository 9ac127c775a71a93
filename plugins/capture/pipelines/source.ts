// Supplies pipelines to the engine: by endpoint, ID or slug, and at an earlier revision.
import { CacheInvalidation, Clock, type Deps, Store, timestamp, UnitsOfWork } from "#core"
import { type PipelineDocument, type PipelineSource, pipelineTopic, type StoredPipeline } from "#core/engine"
import { Organizations } from "../../platform/organizations/index.ts"
import { Endpoints, type PipelineRecord, Pipelines, Revisions } from "./collections.ts"
import { EventPipelines } from "./pipelines.ts"
import { stillApplied } from "./rules.ts"

export const pipelineSourceNeeds = {
  store: Store,
  clock: Clock,
  works: UnitsOfWork,
  invalidation: CacheInvalidation,
  pipelines: EventPipelines,
  organizations: Organizations,
}

export function pipelineSource({
  store,
  clock,
  works,
  invalidation,
  pipelines,
  organizations,
}: Deps<typeof pipelineSourceNeeds>): PipelineSource {
  const organizationSlug = async (id: string) => (await organizations.byId(id))?.slug ?? id
  const stored = (organization: StoredPipeline["organization"], record: PipelineRecord, document = record.document): StoredPipeline => ({
    id: record.id,
    organization,
    slug: record.slug,
    endpoint_id: record.endpoint_id,
    revision: record.revision,
    document,
    ...(record.agent_fields && { agentFields: record.agent_fields }),
    purpose: record.purpose,
    secrets: pipelines.secrets.open(record.id, record.secrets, clock.now()),
  })
  const inOrganization = async (organization: string, record: PipelineRecord | undefined) =>
    record && stored({ id: organization, slug: await organizationSlug(organization) }, record)
  return {
    async *all() {
      for await (const { id: organization } of organizations.all())
        for await (const { id } of store.open(Pipelines, organization).stream({})) yield { id, organization }
    },
    async byEndpoint(endpointId) {
      const endpoint = await store.open(Endpoints).get(endpointId)
      if (!endpoint) return undefined
      const record = await store.open(Pipelines, endpoint.organization).get(endpoint.pipeline_id)
      return inOrganization(endpoint.organization, record)
    },
    byId: async (organization, id) => inOrganization(organization, await store.open(Pipelines, organization).get(id)),
    bySlug: async (organization, slug) => inOrganization(organization, await pipelines.find(organization, slug)),
    async atRevision(organization, id, revision) {
      const record = await store.open(Pipelines, organization).get(id)
      const current = await inOrganization(organization, record)
      if (!current || current.revision === revision) return current
      const earlier = await store.open(Revisions, organization).get(`${id}:${revision}`)
      if (!earlier) return undefined
      return { ...current, revision, document: earlier.document as unknown as PipelineDocument, agentFields: earlier.agent_fields ?? [] }
    },
    async keepDeliveredSecret(pipeline, secret) {
      const organization = pipeline.organization.id
      return await works.retryConflicts(async (work) => {
        const record = await store.open(Pipelines, organization).get(pipeline.id)
        if (!record) return false
        // Another node may have stored a secret first.
        if (record.secrets.length > 0) return record.secrets.some((kept) => pipelines.secrets.holds(record.id, kept, secret))
        const now = clock.now()
        const secrets = [pipelines.secrets.keep(record.id, secret, now)]
        const revision = record.revision + 1
        work
          .in(Pipelines, organization)
          .update(
            record.id,
            { $set: { secrets: secrets as never, revision, file: stillApplied(record) as never, updated_at: timestamp(now) } },
            { where: { revision: record.revision } },
          )
        work.in(Revisions, organization).insert({
          id: `${record.id}:${revision}`,
          pipeline_id: record.id,
          revision,
          document: record.document as never,
          agent_fields: record.agent_fields ?? [],
          at: timestamp(now),
        })
        invalidation.announce(work, pipelineTopic, record.id)
        return true
      })
    },
  }
}
