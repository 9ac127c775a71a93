// What a screenshot is of: a public URL, or a variant of a page of the caller's own, published or not.
import { AppError, type Caller } from "#core"
import type { OutgoingHttp } from "../outgoing-http/index.ts"
import type { Pages, StoredPage } from "../pages/index.ts"
import { isOwnPage, type OwnPages } from "./proxy/targets.ts"

export interface TargetInput {
  readonly url?: string | undefined
  readonly page?: string | undefined
  readonly variant?: string | undefined
}

export interface TargetDeps {
  readonly pages: Pages
  readonly http: Pick<OutgoingHttp, "check">
  readonly ownPages: () => OwnPages
}

/** Path that published pages are served under. */
export const pagesPrefix = "/p/"

/** Throws for what can be seen to be wrong before a browser is started. */
export async function checkTarget(
  deps: TargetDeps,
  organization: Caller["organization"],
  { url, page, variant }: TargetInput,
): Promise<{ url: string | null; page_id: string | null; variant: string | null }> {
  if (url !== undefined) {
    if (!URL.canParse(url) || !isOwnPage(new URL(url), deps.ownPages())) deps.http.check(url)
    return { url, page_id: null, variant: null }
  }
  const found = await deps.pages.require(organization.id, page ?? "")
  return { url: null, page_id: found.id, variant: variantOf(found, variant).key }
}

/** The document of a variant and the address it would be served at. */
export function pageAt(own: OwnPages, organizationSlug: string, page: StoredPage, variant: string): { url: string; html: string } {
  const { key, html } = variantOf(page, variant)
  const url = `${own.origin}${own.prefix}${organizationSlug}/${page.slug}?variant=${encodeURIComponent(key)}`
  return { url, html }
}

function variantOf(page: StoredPage, key: string | undefined) {
  const found = key === undefined ? page.variants[0] : page.variants.find((variant) => variant.key === key)
  if (found) return found
  const keys = page.variants.map((variant) => variant.key).join(", ")
  const message = keys
    ? `The page "${page.slug}" has no variant "${key}"; it has ${keys}.`
    : `The page "${page.slug}" has no variant to show; add one by PATCH /v1/pages/${page.slug}.`
  throw new AppError("invalid_argument", message, { reason: "unknown_variant", fields: [{ path: "variant", message }] })
}
