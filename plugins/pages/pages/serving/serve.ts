// GET /p/{org}/{page}: a published page in the visitor's variant, with its envelope and beacon.
// Missing and unpublished pages return the same 404.
import { AppError, type Deps, PublicUrl, type RouteRequest, type RouteResponse } from "#core"
import { Authenticator, type PageEnvelope, Pauses, taggedAsTest } from "#core/engine"
import { Organizations } from "../../../platform/organizations/index.ts"
import { KeptBySize } from "../kept-by-size.ts"
import type { StoredPage, Variant } from "../page.ts"
import { Pages } from "../pages.ts"
import type { PageSettings } from "../settings.ts"
import { Visitors } from "../visitors.ts"
import { campaignOf, campaignOr } from "./campaign.ts"
import { pageHeaders } from "./headers.ts"
import { escapeAttribute, fill, type Parts, type Prepared, prepare } from "./html.ts"
import { PageParts } from "./parts.ts"
import { chooseVariant } from "./variants.ts"
import { type PublicPage, Visits } from "./visits.ts"

export interface ServingDeps extends Deps<typeof PageServing.inject> {
  readonly settings: PageSettings
}

export interface Pictured {
  readonly address: string
  readonly html: string
  readonly headers: Record<string, string>
  /** Redirect after a submitted form; undefined if no pipeline receives the page's forms. */
  readonly thanks: string | undefined
}

/** Anchor of the page for the redirect after an accepted form. */
export const thankYouAnchor = "thank-you"

/** Estimated size of an insertion, in characters. */
const insertionCharacters = 128

export class PageServing {
  static readonly inject = {
    pages: Pages,
    organizations: Organizations,
    pauses: Pauses,
    visitors: Visitors,
    parts: PageParts,
    authenticator: Authenticator,
    publicUrl: PublicUrl,
  }
  readonly #deps: ServingDeps
  /** By page, revision and variant. */
  readonly #prepared = new KeptBySize<Prepared>(({ html, insertions }) => html.length + insertionCharacters * insertions.length)

  readonly visits: Visits

  constructor(deps: ServingDeps) {
    this.#deps = deps
    this.visits = new Visits({ ...deps, origin: () => this.origin })
  }

  /** Origin of published pages. */
  get origin(): string {
    return this.#deps.settings.origin ?? this.#publicOrigin
  }

  /** All origins on which pages answer. Other origins than `origin` redirect there. */
  get origins(): readonly string[] {
    return [...new Set([this.origin, this.#publicOrigin])]
  }

  /** Response headers of all pages. */
  headers(): Record<string, string> {
    return pageHeaders(this.#deps.settings, this.origins)
  }

  async serve(request: RouteRequest): Promise<RouteResponse> {
    const elsewhere = this.#elsewhere(request)
    if (elsewhere) return elsewhere
    const publicPage = await this.published(request)
    if (!publicPage) return notFound()
    const { organization, page } = publicPage
    const { visitors, parts } = this.#deps
    const refusesTracking = this.visits.refusesTracking(request)
    const { visitor, cookie } = await this.visits.shownTo(request, organization)
    const preview = await this.#preview(request, publicPage)
    const variant = preview ?? chooseVariant(page.variants, visitor, page.id)
    if (!variant) return notFound()
    const endpoint = refusesTracking ? undefined : await parts.eventTarget(organization, page)
    const session = endpoint === undefined ? undefined : await visitors.session(organization.id, visitor)
    const campaign = campaignOf(request.query)
    const envelope: PageEnvelope = {
      page_url: this.visits.addressOf(publicPage),
      artifact_id: page.id,
      variant: variant.key,
      ...(refusesTracking ? {} : { visitor_id: visitor }),
      ...(session ? { session_id: session.id } : {}),
      ...campaign,
      ...campaignOr(campaign, session?.campaign),
    }
    const { visitor_id = "", session_id = "" } = envelope
    const visit = { organization: organization.id, page: page.id, visitor: visitor_id, session: session_id, variant: variant.key }
    const proved = { ...envelope, visitor_proof: visitors.prove(visit, session?.begins ?? false) }
    // Unload requests carry no headers of a test runner, so the page itself marks the visit as a test.
    const isTest = preview !== undefined || taggedAsTest(request.headers)
    const head = endpoint === undefined ? "" : this.#beacon(endpoint, proved, { isTest, singlePage: page.single_page === true })
    const html = this.#filled(publicPage, variant, { head, form: hiddenFields(proved, isTest) })
    return { headers: cookie === undefined ? this.headers() : { ...this.headers(), "Set-Cookie": cookie }, body: html }
  }

  /**
   * Returns a variant as visitors see it, published or not. It has no beacon and counts as a test, since a picture is not a
   * visit.
   */
  async pictured(of: PublicPage, variant: Variant): Promise<Pictured> {
    const address = this.visits.addressOf(of)
    const envelope = { page_url: address, artifact_id: of.page.id, variant: variant.key }
    const html = this.#filled(of, variant, { head: "", form: hiddenFields(envelope, true) })
    const hasTarget = (await this.#deps.parts.formTarget(of.organization, of.page)) !== undefined
    return { address, html, headers: this.headers(), thanks: hasTarget ? `${address}#${thankYouAnchor}` : undefined }
  }

  /** Returns the public page of a path. */
  async published({ params }: Pick<RouteRequest, "params">): Promise<PublicPage | undefined> {
    const organization = await this.#deps.organizations.bySlug(params["org"] ?? "")
    if (!organization) return undefined
    this.#deps.pauses.refuse(organization.id)
    const page = await this.#deps.pages.servable(organization.id, params["page"] ?? "")
    return page && { organization, page }
  }

  get #publicOrigin(): string {
    return new URL(this.#deps.publicUrl()).origin
  }

  /** Redirects to the configured page origin. Pages are then served from no other origin. */
  #elsewhere({ headers, url }: RouteRequest): RouteResponse | undefined {
    const { origin } = this.#deps.settings
    if (origin === undefined || headers["host"] === new URL(origin).host) return undefined
    return { status: 308, headers: { Location: origin + url, "Cache-Control": "no-store" } }
  }

  /** `?variant=` requires a key of this organization. For other callers it is ignored. */
  async #preview(request: RouteRequest, { organization, page }: PublicPage): Promise<Variant | undefined> {
    const variantKey = request.query.get("variant")
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers["authorization"] ?? "")?.[1]
    if (variantKey === null || bearer === undefined) return undefined
    const { requestId, log, address } = request
    const credentials = { bearer, organization: organization.slug, surface: "rest" as const, address, requestId, log }
    const caller = await this.#deps.authenticator.authenticate(credentials).catch(() => undefined)
    const may = caller?.organization?.id === organization.id && (caller.scopes === undefined || caller.scopes.has("pages:read"))
    if (!may) return undefined
    const variant = page.variants.find(({ key }) => key === variantKey)
    if (variant) return variant
    const keys = page.variants.map(({ key }) => key).join(", ")
    throw new AppError("not_found", `The page has no variant "${variantKey.slice(0, 64)}"; it has ${keys}.`, {
      reason: "variant_not_found",
    })
  }

  #beacon(endpoint: string, envelope: object, { isTest, singlePage }: { isTest: boolean; singlePage: boolean }): string {
    const base = this.origin
    const data = {
      u: `${base}/v1/inbound/${endpoint}`,
      e: envelope,
      ...(isTest ? { t: 1 } : {}),
      ...(singlePage ? { v: 1 } : {}),
      ...(this.#deps.settings.honour_gpc ? { g: 1 } : {}),
    }
    return `<script defer src="${escapeAttribute(base)}/v1/beacon.js" data-mr="${escapeAttribute(JSON.stringify(data))}"></script>`
  }

  #filled(page: PublicPage, variant: Variant, parts: Omit<Parts, "tag">): string {
    // Added even without a target for the form: otherwise the browser would put the entered values into the URL.
    const tag = ` action="${escapeAttribute(formPath(page))}" method="post"`
    return fill(this.#prepare(page.page, variant), { ...parts, tag })
  }

  #prepare(page: StoredPage, variant: Variant): Prepared {
    const key = `${page.id} ${page.revision} ${variant.key}`
    const prepared = this.#prepared.get(key)
    if (prepared) return prepared
    const created = prepare(variant.html)
    this.#prepared.set(key, created)
    return created
  }
}

export function formPath({ organization, page }: PublicPage): string {
  return `/p/${organization.slug}/${page.slug}`
}

/** Returns hidden fields with the envelope and the form's name, for forms without scripts. */
function hiddenFields(envelope: PageEnvelope, isTest: boolean): (form: string) => string {
  const fields = Object.entries(envelope).map(([name, value]): [string, string] => [`_envelope.${name}`, String(value)])
  if (isTest) fields.push(["is_test", "true"])
  const same = fields.map(([name, value]) => hidden(name, escapeAttribute(value))).join("")
  return (form) => same + hidden("_envelope.form", form.replaceAll('"', "&quot;"))
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${value}">`
}

/** The same answer for a page that is missing, unpublished or archived, and for an unknown organization. */
export function notFound(): RouteResponse {
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
  }
  return { status: 404, headers, body: notFoundPage }
}

const notFoundPage =
  '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not found</title><p style="font:1rem sans-serif;margin:4rem">This page does not exist.</p></html>'
