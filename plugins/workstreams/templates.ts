// Templates of workstreams: found, and held against what they must be.
import { AppError, isUuid, type Store, token } from "#core"
import { type StoredTemplate, TemplateCollection, type TemplateContent } from "./collections.ts"

export interface Templates {
  /** By slug or UUID; throws `not_found`. */
  require(organization: string, slugOrId: string): Promise<StoredTemplate>
  isTaken(organization: string, slug: string): Promise<boolean>
}

export const TemplatesToken = token<Templates>("WorkstreamTemplates")

export function createTemplates({ store }: { readonly store: Store }): Templates {
  return {
    async require(organization, slugOrId) {
      const templates = store.open(TemplateCollection, organization)
      const found = isUuid(slugOrId) ? await templates.get(slugOrId) : await templates.first({ slug: slugOrId })
      if (found) return found
      const message = `The organization has no template "${slugOrId}"; GET /v1/workstream-templates lists them.`
      throw new AppError("not_found", message, { reason: "workstream_template_not_found" })
    },
    isTaken: async (organization, slug) => (await store.open(TemplateCollection, organization).first({ slug })) !== undefined,
  }
}

/** Throws `invalid_argument` for a slug that occurs twice, and for a phase that the template does not have. */
export function requireSound({ phases, assignments }: Pick<TemplateContent, "phases" | "assignments">): void {
  const known = new Set(phases.map(({ slug }) => slug))
  const unknown = assignments.flatMap(({ phase_slug }, index) =>
    phase_slug === "" || known.has(phase_slug)
      ? []
      : [{ path: `assignments.${index}.phase_slug`, message: `the template has no phase ${phase_slug}` }],
  )
  const fields = [...twice("phases", phases), ...twice("assignments", assignments), ...unknown]
  if (fields.length === 0) return
  const message = fields.map(({ path, message: said }) => `${path}: ${said}`).join("; ")
  throw new AppError("invalid_argument", message, { reason: "unknown_template_phase", fields })
}

function twice(field: string, items: readonly { readonly slug: string }[]) {
  const seen = new Set<string>()
  return items.flatMap(({ slug }, index) => {
    if (!seen.has(slug)) return seen.add(slug) && []
    return [{ path: `${field}.${index}.slug`, message: `${slug} occurs twice` }]
  })
}
