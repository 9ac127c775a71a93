// Creates and changes event pipelines, and rotates their secrets. Each change is one commit: the pipeline, its endpoint, its
// revision and missing datasets. The commit also invalidates the caches of every node.
import {
  AppError,
  CacheInvalidation,
  type Caller,
  Clock,
  changesOf,
  type Deps,
  Ids,
  Pager,
  PublicUrl,
  requireRevision,
  Store,
  slugOf,
  timestamp,
  type UnitOfWork,
  Vault,
} from "#core"
import { Declarations, isFedFromInside, type PipelineDocument, PipelineEngine, pipelineTopic } from "#core/engine"
import { Integrations } from "../../agents/integrations/index.ts"
import { Datasets } from "../../data/datasets/index.ts"
import { Pages } from "../../pages/pages/index.ts"
import { agentFieldsAfter, agentFieldsOfNew, checkAgentChange } from "./agent-changes.ts"
import { type AppliedFile, Endpoints, newEndpointId, type PipelineRecord, Pipelines, Revisions } from "./collections.ts"
import { LeadSplits } from "./lead-splits.ts"
import { Needs } from "./needs.ts"
import { PipelineRecords } from "./records.ts"
import { type Reserved, refuseReservedChange } from "./reserved.ts"
import { internalAuth, invalid, planSecret, purposeOf, refuseFixed, secretNeed, splitSecret, stillApplied } from "./rules.ts"
import { checkGiven, generateSecret, type SecretKeeper, secretKeeper } from "./secrets.ts"

export type Organization = Caller["organization"]

export interface Saved {
  readonly record: PipelineRecord
  readonly created_datasets: string[]
  readonly warnings: string[]
  readonly secret: string | undefined
}

/** A change from a file: the file's data, and the secret of its variable if the secret is new. */
export interface FileUpdate {
  readonly mark: AppliedFile
  readonly secret?: string | undefined
}

export interface SaveOptions {
  /** Set for many pipelines saved together. The caller then checks `leadSplits.among` once. */
  readonly amongMany?: boolean
  readonly byAgent?: boolean
  /** Activates steps whose connection is missing or private. */
  readonly force?: boolean
}

export type Overlap = "1h" | "24h" | "7d"
const overlaps: Record<Overlap, number> = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 }

export class EventPipelines extends PipelineRecords {
  static readonly inject = {
    store: Store,
    clock: Clock,
    ids: Ids,
    vault: Vault,
    invalidation: CacheInvalidation,
    engine: PipelineEngine,
    declared: Declarations,
    datasets: Datasets,
    pages: Pages,
    integrations: Integrations,
    pager: Pager,
    publicUrl: PublicUrl,
  }
  readonly #deps: Deps<typeof EventPipelines.inject>
  readonly #needs: Needs
  readonly secrets: SecretKeeper
  readonly leadSplits: LeadSplits

  constructor(deps: Deps<typeof EventPipelines.inject>) {
    super(deps)
    this.#deps = deps
    this.#needs = new Needs(deps)
    this.secrets = secretKeeper(deps.vault, deps.ids)
    this.leadSplits = new LeadSplits(deps.store)
  }

  get publicUrl(): string {
    return this.#deps.publicUrl()
  }

  /** `reserved` creates a pipeline of the service. Callers cannot request its purpose. The creator is responsible for its datasets. */
  async create(
    organization: Organization,
    given: PipelineDocument,
    work: UnitOfWork,
    file: PipelineRecord["file"] = null,
    reserved?: Reserved,
    { amongMany = false, byAgent = false, force = false }: SaveOptions = {},
  ): Promise<Saved> {
    const { ids, clock, declared, engine } = this.#deps
    const { config, secret: givenSecret } = splitSecret(given.auth_config)
    const slug = given.slug ?? slugOf(given.name, "pipeline")
    const asked = internalAuth({ ...given, slug, auth_config: config }, givenSecret)
    const compiled = await this.#needs.compile(asked, organization)
    const isActive = asked.state === "active"
    const held = byAgent
      ? await checkAgentChange(engine, { organization: organization.id, before: undefined, after: compiled.graph, isActive })
      : []
    const document = reserved ? { ...asked, purpose: reserved.purpose } : asked
    if (!force) await this.#needs.requireConnections(organization.id, document)
    const purpose = reserved?.purpose ?? purposeOf(asked.purpose, compiled.writesTo)
    const plan = planSecret(declared, document, givenSecret, generateSecret)
    if (!reserved) await this.#needs.checkOwner(organization.id, document)
    const id = reserved?.id ?? ids.uuid()
    const now = clock.now()
    const at = timestamp(now)
    const datasets = reserved
      ? { targets: compiled.writesTo.map((target) => `${organization.slug}.${target}`), created: [] }
      : await this.#needs.datasets(work, organization, compiled.writesTo)
    const secrets = plan.secret === null ? [] : [this.secrets.keep(id, plan.secret, now)]
    const record: PipelineRecord = {
      id,
      slug,
      name: document.name,
      state: document.state,
      source_kind: document.source_kind,
      purpose,
      endpoint_id: isFedFromInside(document.source_kind) ? null : newEndpointId(),
      owner_artifact_id: document.owner_artifact_id,
      document,
      secrets,
      write_target_datasets: datasets.targets,
      upserts: [...compiled.upserts],
      revision: 1,
      agent_fields: agentFieldsOfNew(document, byAgent),
      file: file && { ...file, applied_revision: 1, applied_secret: secrets[0]?.id ?? null },
      created_at: at,
      updated_at: at,
    }
    await this.#refuseTaken(organization.id, slug)
    work.in(Pipelines, organization.id).insert(record)
    if (record.endpoint_id !== null) {
      work
        .in(Endpoints)
        .insert({ id: record.endpoint_id, organization: organization.id, organization_slug: organization.slug, pipeline_id: id })
    }
    this.#stageRevision(work, organization.id, record, at)
    this.#deps.invalidation.announce(work, pipelineTopic, id)
    const warnings = [
      ...compiled.warnings,
      ...held,
      ...(plan.warning ? [plan.warning] : []),
      ...(await this.dependencyWarnings(organization.id, record)),
      ...(amongMany ? [] : await this.leadSplits.of(organization.id, record)),
    ]
    return { record, created_datasets: datasets.created, warnings, secret: plan.secret ?? undefined }
  }

  /** Changes the given fields. `reference` is a slug or UUID. Throws `aborted` if `expectedRevision` is not the stored revision. */
  async update(
    organization: Organization,
    reference: string,
    given: Partial<PipelineDocument>,
    work: UnitOfWork,
    expectedRevision?: number,
    file?: FileUpdate,
    { amongMany = false, byAgent = false, force = false }: SaveOptions = {},
  ): Promise<Saved> {
    const stored = await this.get(organization.id, reference)
    requireRevision("pipeline", stored.revision, expectedRevision, { slug: stored.slug })
    refuseFixed(stored.document, given)
    if (stored.purpose === "page_events") refuseReservedChange(stored.document, given)
    const { source_kind: _s, auth_mode: _m, auth_config: _c, slug: _slug, ...changes } = given
    const document = { ...stored.document, ...changes }
    const compiled = await this.#needs.compile(document, organization)
    const held = byAgent
      ? await checkAgentChange(this.#deps.engine, {
          organization: organization.id,
          before: await this.#needs.graphOf(stored.document, organization),
          after: compiled.graph,
          isActive: document.state === "active",
        })
      : []
    if (!force) await this.#needs.requireConnections(organization.id, document, stored.document)
    const purpose = stored.purpose === "page_events" ? stored.purpose : purposeOf(document.purpose, compiled.writesTo)
    if (changes.owner_artifact_id !== undefined) await this.#needs.checkOwner(organization.id, document)
    const datasets =
      stored.purpose === "page_events"
        ? { targets: stored.write_target_datasets, created: [] }
        : await this.#needs.datasets(work, organization, compiled.writesTo)
    const now = this.#deps.clock.now()
    const at = timestamp(now)
    const revision = stored.revision + 1
    if (file?.secret !== undefined) this.#needs.checkSecret(document, file.secret)
    const fresh = file?.secret === undefined ? undefined : this.secrets.keep(stored.id, file.secret, now)
    const record: PipelineRecord = {
      ...stored,
      ...(fresh && { secrets: [fresh] }),
      name: document.name,
      state: document.state,
      purpose,
      owner_artifact_id: document.owner_artifact_id,
      document,
      write_target_datasets: datasets.targets,
      upserts: [...compiled.upserts],
      revision,
      agent_fields: agentFieldsAfter(stored, document, { byAgent, given: Object.keys(given), rotates: fresh !== undefined }),
      file: file === undefined ? stored.file : { ...file.mark, applied_revision: revision, ...(fresh && { applied_secret: fresh.id }) },
      updated_at: at,
    }
    this.#stageReplacement(work, organization.id, stored, record, at)
    const warnings = [
      ...compiled.warnings,
      ...held,
      ...(await this.dependencyWarnings(organization.id, record)),
      ...(amongMany ? [] : await this.leadSplits.of(organization.id, record)),
    ]
    return { record, created_datasets: datasets.created, warnings, secret: undefined }
  }

  /** Returns warnings about the current state of dependencies: an unpublished page, failing connections. */
  async dependencyWarnings(organization: string, { purpose, document }: Pick<PipelineRecord, "purpose" | "document">): Promise<string[]> {
    return purpose === "page_events" ? [] : await this.#needs.dependencyWarnings(organization, document)
  }

  /** Stores a new secret. The old secret ends on every node, at once or after the overlap. */
  async rotateSecret(
    organization: string,
    reference: string,
    options: { secret?: string | undefined; overlap?: Overlap | undefined; byAgent?: boolean },
    work: UnitOfWork,
  ): Promise<Saved> {
    const stored = await this.get(organization, reference)
    const { mode, config, need } = secretNeed(this.#deps.declared, stored.document)
    if (need === "none") {
      throw new AppError("failed_precondition", `The auth mode ${stored.document.auth_mode} carries no secret that could be rotated.`, {
        reason: "no_secret",
      })
    }
    if (need === "provided" && options.secret === undefined) {
      throw invalid("secret", 'this provider issues the secret itself; send it as { "secret": … }.')
    }
    if (options.secret !== undefined) checkGiven(options.secret, (secret) => mode.checkSecret?.(secret, config))
    const plain = options.secret ?? generateSecret()
    const now = this.#deps.clock.now()
    const ends = options.overlap === undefined ? undefined : timestamp(now + overlaps[options.overlap])
    const kept =
      ends === undefined ? [] : stored.secrets.filter((secret) => secret.ends_at === null).map((secret) => ({ ...secret, ends_at: ends }))
    const at = timestamp(now)
    const record = {
      ...stored,
      secrets: [this.secrets.keep(stored.id, plain, now), ...kept],
      agent_fields: agentFieldsAfter(stored, stored.document, { byAgent: options.byAgent ?? false, given: [], rotates: true }),
      revision: stored.revision + 1,
      file: stillApplied(stored),
      updated_at: at,
    }
    this.#stageReplacement(work, organization, stored, record, at)
    return { record, created_datasets: [], warnings: [], secret: plain }
  }

  /** Ends a secret before the end of its overlap, at once on every node. Returns the time. */
  async endSecret(organization: string, stored: PipelineRecord, secretId: string, work: UnitOfWork): Promise<string> {
    const at = timestamp(this.#deps.clock.now())
    const secrets = stored.secrets.filter(({ id }) => id !== secretId)
    const record = { ...stored, secrets, revision: stored.revision + 1, file: stillApplied(stored), updated_at: at }
    this.#stageReplacement(work, organization, stored, record, at)
    return at
  }

  async #refuseTaken(organization: string, slug: string): Promise<void> {
    const taken = await this.#deps.store.open(Pipelines, organization).first({ slug })
    if (taken)
      throw new AppError("already_exists", `There is an event pipeline "${slug}" already; give another name or slug.`, {
        reason: "slug_taken",
        slug,
      })
  }

  #stageReplacement(work: UnitOfWork, organization: string, stored: PipelineRecord, record: PipelineRecord, at: string): void {
    const { id, organization_id: _, slug: _slug, created_at: _created, endpoint_id: _endpoint, source_kind: _source, ...set } = record
    work.in(Pipelines, organization).update(id, { $set: changesOf(set) }, { where: { revision: stored.revision } })
    this.#stageRevision(work, organization, record, at)
    this.#deps.invalidation.announce(work, pipelineTopic, id, { settled: true })
  }

  #stageRevision(work: UnitOfWork, organization: string, record: PipelineRecord, at: string): void {
    work.in(Revisions, organization).insert({
      id: `${record.id}:${record.revision}`,
      pipeline_id: record.id,
      revision: record.revision,
      document: record.document as never,
      agent_fields: record.agent_fields ?? [],
      at,
    })
  }
}
