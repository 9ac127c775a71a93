// Identifies the visitor of a page from a request. Page views and forms use the same rules, so both have the same variant and
// session.
import { randomBytes } from "node:crypto"
import type { RouteRequest } from "#core"
import type { StoredPage } from "../page.ts"
import type { PageSettings } from "../settings.ts"
import type { ShownSession, Visitors } from "../visitors.ts"
import { campaignOf, campaignOr } from "./campaign.ts"
import type { Owner, PageParts } from "./parts.ts"
import { chooseVariant, shownVariant } from "./variants.ts"

export interface VisitsDeps {
  readonly settings: PageSettings
  readonly visitors: Visitors
  readonly parts: PageParts
  /** Origin of published pages. */
  readonly origin: () => string
}

export interface PublicPage {
  readonly organization: Owner
  readonly page: StoredPage
}

type Request = Pick<RouteRequest, "headers" | "address" | "query">

const cookieName = "mr_visitor"
const cookieValue = /^[A-Za-z0-9_-]{22}$/

export class Visits {
  readonly #deps: VisitsDeps

  constructor(deps: VisitsDeps) {
    this.#deps = deps
  }

  /** Global Privacy Control: the visitor's id still chooses the variant but is not disclosed. */
  refusesTracking({ headers }: Request): boolean {
    return this.#deps.settings.honour_gpc && headers["sec-gpc"] === "1"
  }

  /** Identifies the visitor of a page view. A visitor without a cookie receives one if cookies are enabled. */
  async shownTo(request: Request, organization: Owner): Promise<{ visitor: string; cookie?: string }> {
    if (!this.#byCookie(request)) return { visitor: await this.#derived(request, organization) }
    const visitor = cookieOf(request) ?? randomBytes(17).toString("base64url").slice(0, 22)
    return { visitor, cookie: this.#cookie(visitor) }
  }

  /** Returns the page's canonical URL, for any requested address. */
  addressOf({ organization, page }: PublicPage): string {
    return `${this.#deps.origin()}/p/${organization.slug}/${page.slug}`
  }

  /**
   * Returns the envelope of an event sent to a page's own address. The address identifies the page. Other fields come from the
   * event, or from the page's own data if the event omits them. The proof is checked here and removed.
   */
  async envelopeOf(
    request: Request,
    publicPage: PublicPage,
    { visitor_proof: proof, ...fields }: Readonly<Record<string, unknown>>,
  ): Promise<Record<string, unknown>> {
    const { organization, page } = publicPage
    const visitorId = fields["visitor_id"]
    const visitor = typeof visitorId === "string" ? visitorId : await this.#known(request, organization)
    const chosen = visitor === undefined ? undefined : chooseVariant(page.variants, visitor, page.id)
    const session = visitor === undefined ? undefined : await this.#session(request, publicPage, visitor)
    const campaign = { ...campaignOf(request.query), ...fields }
    return {
      ...(visitorId === undefined && visitor !== undefined && !this.refusesTracking(request) ? { visitor_id: visitor } : {}),
      ...(visitorId === undefined && session ? { session_id: session.id } : {}),
      ...(fields["session_id"] === undefined || fields["session_id"] === session?.id ? campaignOr(campaign, session?.campaign) : {}),
      ...campaign,
      page_url: this.addressOf(publicPage),
      artifact_id: page.id,
      variant: fields["variant"] === undefined ? (chosen?.key ?? "") : this.#shownVariant(publicPage, fields, proof),
    }
  }

  #shownVariant({ organization, page }: PublicPage, fields: Readonly<Record<string, unknown>>, proof: unknown): string {
    const text = (value: unknown) => (typeof value === "string" ? value : "")
    const variant = text(fields["variant"])
    const visit = { organization: organization.id, page: page.id, visitor: text(fields["visitor_id"]), session: text(fields["session_id"]) }
    const proven = this.#deps.visitors.proven({ ...visit, variant }, text(proof))
    return shownVariant(page.variants, variant, proven !== undefined)
  }

  async #session(request: Request, { organization, page }: PublicPage, visitor: string): Promise<ShownSession | undefined> {
    if (this.refusesTracking(request)) return undefined
    const { parts, visitors } = this.#deps
    const counted = (await parts.eventTarget(organization, page)) !== undefined
    return counted ? visitors.session(organization.id, visitor) : undefined
  }

  /**
   * Returns undefined if only a cookie identifies the visitor and the request has no cookie. A sandboxed page's forms send no
   * cookies.
   */
  async #known(request: Request, organization: Owner): Promise<string | undefined> {
    return this.#byCookie(request) ? cookieOf(request) : this.#derived(request, organization)
  }

  #derived({ headers, address }: Request, organization: Owner): Promise<string> {
    const agent = headers["user-agent"] ?? ""
    return this.#deps.visitors.of({ organization: organization.id, origin: this.#deps.origin(), address, agent })
  }

  #byCookie(request: Request): boolean {
    return this.#deps.settings.visitor_cookie && !this.refusesTracking(request)
  }

  #cookie(id: string): string {
    const seconds = this.#deps.settings.visitor_cookie_days * 86_400
    const secure = this.#deps.origin().startsWith("https:") ? "; Secure" : ""
    return `${cookieName}=${id}; Max-Age=${seconds}; Path=/p/; HttpOnly; SameSite=Lax${secure}`
  }
}

function cookieOf({ headers }: Request): string | undefined {
  const pairs = (headers["cookie"] ?? "").split(";").map((pair) => pair.trim().split("="))
  return pairs.find(([name, value]) => name === cookieName && cookieValue.test(value ?? ""))?.[1]
}
