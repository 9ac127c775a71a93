// `public_artifact`: any visitor of a published page, without a credential. The event must name the page of the pipeline, and the
// page must be published.
import { z } from "zod"
import { defineAuthMode, type Verdict } from "#core"
import type { Token } from "#core/engine"
import { guardCheck } from "../request/guarded.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"

/** Requirements of this mode on the provider of pages. */
export interface PublishedPages {
  published(organization: string, artifactId: string): Promise<boolean>
}

export function publicArtifactMode(pages: Token<PublishedPages>) {
  return defineAuthMode({
    mode: "public_artifact",
    summary: "Anyone on the published page that the pipeline belongs to.",
    description: "No credential. `owner_artifact_id` must be a published page, and the body's `_envelope.artifact_id` must equal it.",
    config: z.strictObject({}),
    examples: [
      {
        title: "The form of a published page",
        yaml: "source_kind: browser_form\nauth_mode: public_artifact\nowner_artifact_id: 0190a000-0000-7000-8000-000000000001",
      },
    ],
    secret: () => "none",
    inject: { pages },
    prepare({ pipeline, deps }) {
      const verify = async (view: RequestView): Promise<Verdict> => {
        const page = pipeline.owner_artifact_id
        if (page === null)
          throw new Refused("wrong_artifact", "The pipeline has no owner_artifact_id; public_artifact needs the page it belongs to.")
        const artifact = namedPage(view)
        if (artifact === undefined)
          throw new Refused("wrong_artifact", "The body's _envelope.artifact_id is absent; it must name the page.")
        if (artifact !== page)
          throw new Refused("wrong_artifact", `The body names page "${artifact.slice(0, 64)}"; this pipeline belongs to page ${page}.`)
        if (!(await deps.pages.published(pipeline.organization_id, page)))
          throw new Refused("unpublished_artifact", `Page ${page} is not published.`)
        return { ok: true }
      }
      return { verify: guardCheck(verify), coversBody: false, retries: false }
    },
    sign: () => ({}),
  })
}

/** Reads the page's ID from the object `_envelope`, or from the form field `_envelope.artifact_id`. */
function namedPage(view: RequestView): string | undefined {
  const { document } = view
  if (typeof document !== "object" || document === null || Array.isArray(document)) return undefined
  const [nested] = view.body("_envelope.artifact_id")
  const flat = (document as Record<string, unknown>)["_envelope.artifact_id"]
  return nested ?? (typeof flat === "string" ? flat : undefined)
}
