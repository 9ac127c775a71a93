// What does not stop a page from being published, and keeps it from doing what it was made for.
import type { StoredPage } from "./collections.ts"
import { hasOwnForm, prepare } from "./serving/html.ts"
import type { Owner, PageParts } from "./serving/parts.ts"

/** Of a published page; others have no visitors. */
export async function warningsOf(parts: PageParts, organization: Owner, page: StoredPage): Promise<string[]> {
  if (page.status !== "published") return []
  const withForm = page.variants.filter(({ html }) => hasOwnForm(prepare(html))).map(({ key }) => key)
  if (withForm.length === 0 || (await parts.formTarget(organization, page)) !== undefined) return []
  return [
    `form_not_connected: No active record_capture pipeline takes the form of ${withForm.join(", ")}, so nothing that visitors send is kept. Make one with owner_artifact_id ${page.id} and auth_mode public_artifact.`,
  ]
}
