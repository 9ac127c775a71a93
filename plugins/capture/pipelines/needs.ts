// Requirements of a document before a save: it compiles, and its datasets, page, secret and connections are valid.
import { AppError, type Caller, type UnitOfWork } from "#core"
import type { Declarations, Finding, Graph, PipelineDocument, PipelineEngine } from "#core/engine"
import type { Integrations } from "../../agents/integrations/index.ts"
import type { Datasets } from "../../data/datasets/index.ts"
import type { Pages } from "../../pages/pages/index.ts"
import { connectionWarnings, missingConnections, namedConnections } from "./called-connections.ts"
import type { PipelineRecord } from "./collections.ts"
import { invalid, secretNeed } from "./rules.ts"
import { unpublishedPage } from "./unpublished-page.ts"

type Organization = Caller["organization"]

export interface NeedsDeps {
  readonly engine: PipelineEngine
  readonly declared: Declarations
  readonly datasets: Datasets
  readonly pages: Pages
  readonly integrations: Integrations
}

export class Needs {
  readonly #deps: NeedsDeps

  constructor(deps: NeedsDeps) {
    this.#deps = deps
  }

  /** Throws an error with all findings of level error. */
  async compile(
    document: PipelineDocument,
    organization: Organization,
  ): Promise<{ graph: Graph; writesTo: readonly string[]; upserts: PipelineRecord["upserts"]; warnings: string[] }> {
    const compilation = await this.#deps.engine.compile(document, organization)
    if (!compilation.ok) throw refusedByFindings(compilation.findings)
    const { graph, findings } = compilation
    return {
      graph,
      writesTo: graph.writesTo,
      upserts: [...graph.upserts],
      warnings: findings.map((finding) => `${finding.rule}: ${finding.message}`),
    }
  }

  /** Returns undefined if the document no longer compiles. */
  async graphOf(document: PipelineDocument, organization: Organization): Promise<Graph | undefined> {
    const compilation = await this.#deps.engine.compile(document, organization)
    return compilation.ok ? compilation.graph : undefined
  }

  /** Creates the missing datasets in the same unit of work. */
  async datasets(
    work: UnitOfWork,
    organization: Organization,
    slugs: readonly string[],
  ): Promise<{ targets: string[]; created: string[] }> {
    const created: string[] = []
    const targets: string[] = []
    for (const slug of slugs) {
      const dataset = await this.#deps.datasets.ensure(work, organization, slug)
      if (dataset.created) created.push(dataset.slug)
      targets.push(`${organization.slug}.${dataset.slug}`)
    }
    return { targets: [...new Set(targets)], created: [...new Set(created)] }
  }

  checkSecret(document: PipelineDocument, secret: string): void {
    const { mode, config } = secretNeed(this.#deps.declared, document)
    mode.checkSecret?.(secret, config)
  }

  async checkOwner(organization: string, document: PipelineDocument): Promise<void> {
    if (document.owner_artifact_id !== null) {
      const page = await this.#deps.pages.get(organization, document.owner_artifact_id)
      if (!page) throw invalid("owner_artifact_id", `the page ${document.owner_artifact_id} does not exist.`)
    } else if (document.auth_mode === "public_artifact") {
      throw invalid("owner_artifact_id", "public_artifact needs the published page that the pipeline belongs to.")
    }
  }

  /** Throws `failed_precondition` if the save would activate steps whose connection is missing or private. */
  async requireConnections(organization: string, document: PipelineDocument, stored?: PipelineDocument): Promise<void> {
    if (document.state !== "active") return
    const before = stored?.state === "active" ? namedConnections(stored) : new Set<string>()
    if ([...namedConnections(document)].every((connection) => before.has(connection))) return
    const missing = (await missingConnections(this.#deps.integrations, organization, document)).filter(
      ({ connection }) => !before.has(connection),
    )
    const [first] = missing
    if (!first) return
    const message = `The pipeline is not activated. ${first.message} To activate it now, give \`force\`.`
    const fields = missing.map((finding) => ({ path: finding.pointer.slice(1).replaceAll("/", "."), message: finding.message }))
    throw new AppError("failed_precondition", message, { reason: "connection_missing", fields })
  }

  /** Returns warnings about the document's page and called connections. */
  async dependencyWarnings(organization: string, document: PipelineDocument): Promise<string[]> {
    const found = await unpublishedPage(this.#deps.pages, organization, document)
    const warnings = await connectionWarnings(this.#deps.integrations, organization, document)
    return [...(found ? [`${found.rule}: ${found.message}`] : []), ...warnings]
  }
}

/** Returns an error with all findings and their pointers. */
function refusedByFindings(findings: readonly Finding[]): AppError {
  const errors = findings.filter((finding) => finding.level === "error")
  const fields = errors.map(({ pointer, message }) => ({ path: pointer.slice(1).replaceAll("/", ".") || "(document)", message }))
  const first = fields[0]
  const more = fields.length > 1 ? ` (and ${fields.length - 1} more)` : ""
  return new AppError("invalid_argument", `The pipeline does not compile: ${first?.path}: ${first?.message}${more}`, {
    reason: "compile_failed",
    fields,
    findings: [...findings],
  })
}
