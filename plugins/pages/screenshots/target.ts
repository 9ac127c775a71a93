// Target of a screenshot: a public URL, or a variant of an own page, published or not.
import { AppError, type Caller, type OutgoingHttp } from "#core"
import type { PageServing, Pages, StoredPage } from "../pages/index.ts"
import { isOwnPage, type OwnPages } from "./proxy/targets.ts"
import type { HtmlDocument } from "./render/order.ts"

export interface TargetInput {
  readonly url?: string | undefined
  readonly page?: string | undefined
  readonly variant?: string | undefined
}

export interface TargetDeps {
  readonly pages: Pages
  readonly serving: Pick<PageServing, "origins" | "pictured">
  readonly http: Pick<OutgoingHttp, "check">
}

/** Path prefix of published pages. */
const prefix = "/p/"

export function ownPagesOf({ origins }: Pick<PageServing, "origins">): OwnPages {
  return { origins, prefix }
}

/** Throws for errors that are visible before a browser starts. */
export async function checkTarget(
  deps: TargetDeps,
  organization: Caller["organization"],
  { url, page, variant }: TargetInput,
): Promise<{ url: string | null; page_id: string | null; variant: string | null }> {
  if (url !== undefined) {
    if (!URL.canParse(url) || !isOwnPage(new URL(url), ownPagesOf(deps.serving))) deps.http.check(url)
    return { url, page_id: null, variant: null }
  }
  const match = await deps.pages.require(organization.id, page ?? "")
  return { url: null, page_id: match.id, variant: variantOf(match, variant).key }
}

/** Returns the document of a variant, with its address and headers for visitors. */
export async function pageAt(
  serving: Pick<PageServing, "pictured">,
  organization: { readonly id: string; readonly slug: string },
  page: StoredPage,
  variant: string,
): Promise<{ url: string; document: HtmlDocument }> {
  const { address, ...document } = await serving.pictured({ organization, page }, variantOf(page, variant))
  return { url: address, document }
}

function variantOf(page: StoredPage, key: string | undefined) {
  const match = key === undefined ? page.variants[0] : page.variants.find((variant) => variant.key === key)
  if (match) return match
  const keys = page.variants.map((variant) => variant.key).join(", ")
  const message = keys
    ? `The page "${page.slug}" has no variant "${key}"; it has ${keys}.`
    : `The page "${page.slug}" has no variant; add one with PATCH /v1/pages/${page.slug}.`
  throw new AppError("invalid_argument", message, { reason: "unknown_variant", fields: [{ path: "variant", message }] })
}
