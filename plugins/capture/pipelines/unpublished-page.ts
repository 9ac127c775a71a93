// Finds active pipelines of an unpublished page. Such a pipeline refuses all events, and only the page's visitors would notice.
import type { Finding, PipelineDocument } from "#core/engine"
import type { Pages } from "../../pages/pages/index.ts"

const rule = "unpublished-page"

type Served = Partial<Pick<PipelineDocument, "state" | "auth_mode" | "owner_artifact_id" | "acknowledged_warnings">>

/** Returns undefined if the page is published, or missing. A save refuses a missing page. */
export async function unpublishedPage(pages: Pick<Pages, "get">, organization: string, document: Served): Promise<Finding | undefined> {
  const { state, auth_mode, owner_artifact_id, acknowledged_warnings = [] } = document
  if (state !== "active" || auth_mode !== "public_artifact" || !owner_artifact_id || acknowledged_warnings.includes(rule)) return undefined
  const page = await pages.get(organization, owner_artifact_id)
  if (!page || page.status === "published") return undefined
  const message = `The page "${page.slug}" is not published (its status is ${page.status}), so every event is refused with 401 unpublished_artifact. Publish it by POST /v1/pages/${page.slug}/publish, or name this rule in \`acknowledged_warnings\`.`
  return { rule, level: "warning", message, pointer: "/owner_artifact_id" }
}
