// A page: its fields, and the operations that create, read and change it.
import { z } from "zod"
import { AppError, CacheInvalidation, defineResource, derivedUuid, type ItemOf, slugFrom, Timestamp, type UnitOfWork } from "#core"
import { pageStatuses, WeightChangesCollection } from "./collections.ts"
import { PageParts, Serving } from "./serving/parts.ts"
import { warningsOf } from "./warnings.ts"

/** One request of at most 1 MiB of JSON creates a page. Escapes and other fields need room beside the HTML. */
const maxPageBytes = 768 * 1_024

const Variant = z.strictObject({
  key: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, "lower-case letters, digits, - and _, such as control")
    .describe("Key of the variant, unique in the page."),
  html: z
    .string()
    .max(512 * 1_024)
    .describe("At most 512 KiB, and 768 KiB in UTF-8 for all variants of the page together."),
  weight: z.number().min(0).max(1_000_000).default(1).describe("Relative share of visits."),
})

const Variants = z
  .array(Variant)
  .max(20)
  .refine((variants) => new Set(variants.map(({ key }) => key)).size === variants.length, "two variants have the same key")
  .refine((variants) => bytesOf(variants) <= maxPageBytes, {
    error: ({ input }) => `all html together has ${bytesOf(input as { html: string }[])} bytes; the limit of a page is ${maxPageBytes}`,
  })
  .refine((variants) => variants.length === 0 || variants.some(({ weight }) => weight > 0), "at least one variant needs a weight above 0")

/** Response fields without a stored counterpart. */
interface Unstored {
  url?: never
  warnings?: never
}

export const PageResource = defineResource<Unstored>()({
  name: "page",
  plural: "pages",
  title: "Page",
  path: "/v1/pages",
  // A version of each revision would store all HTML of the page.
  history: false,
  collection: { name: "pages", times: ["published_at"] },
  access: { read: { scope: "pages:read", role: "guest" }, write: { scope: "pages:write", role: "member" } },
  key: slugFrom("title"),
  fields: {
    title: z.string().trim().min(1).max(300),
    variants: Variants.describe("A change replaces the list."),
    single_page: z
      .boolean()
      .describe(
        "Whether the page is a single-page application: `pushState` and changes of the fragment count as separate page views, named by the fragment.",
      ),
    status: z.enum(pageStatuses).describe("`draft` and `archived` are not public; publishing has its own operation."),
  },
  later: ["status"],
  defaults: { variants: [], single_page: false, status: "draft" },
  shown: {
    url: z.string().describe("URL of the published page: the origin of pages, /p/, the slugs of organization and page."),
    published_at: Timestamp.nullable(),
    warnings: z.array(z.string()).describe("Problems that lose events or entries of visitors; shown for drafts and published pages."),
  },
  unstored: ["url", "warnings"],
  async complete(page, { caller: { organization }, deps }): Promise<{ url: string; warnings: string[] }> {
    const url = deps.serving.visits.addressOf({ organization, page })
    return { url, warnings: await warningsOf(deps.parts, organization, page) }
  },
  columns: ["slug", "title", "status", "published_at", "updated_at"],
  examples: [{ input: { title: "Spring offer", variants: [{ key: "control", html: "<h1>Spring offer</h1>" }] } }],
  change: { title: "Summer offer" },
  verbs: {
    create: { summary: "Create a page, as a draft." },
    get: { summary: "Read a page with its variants." },
    update: { summary: "Change a page's title or variants, or archive it.", errors: ["failed_precondition"], isRepeated: true },
  },
  omit: ["list", "delete"],
  inject: { invalidation: CacheInvalidation, parts: PageParts, serving: Serving },
  check({ variants, status }, { before, change }) {
    if (before && change.status === "published") throw publishRefused()
    if (before && change.variants && variants.length === 0 && status === "published")
      throw new AppError("failed_precondition", "variants: a published page needs at least one; unpublish it first.", {
        reason: "no_variants",
      })
  },
  start: () => ({ published_at: null }),
  updated(page, before, { work, organization, deps }): void {
    stageNews(deps.invalidation, work, organization, before, page)
  },
})

export const PagesCollection = PageResource.collection

export type StoredPage = ItemOf<typeof PageResource>
export type Variant = StoredPage["variants"][number]

/** Invalidation topic. A change of a page publishes `<organization id>/<page id>`. */
export const pagesTopic = "pages"

/** Stages the announcement of a changed page. New weights are part of the change itself, so they apply from exactly that time. */
export function stageNews(
  invalidation: CacheInvalidation,
  work: UnitOfWork,
  organization: string,
  page: StoredPage,
  changed: StoredPage,
): void {
  const [before, after] = [weightsOf(page), weightsOf(changed)]
  const id = derivedUuid("page weights", page.id, String(changed.revision))
  if ([...Object.keys(before), ...Object.keys(after)].some((key) => before[key] !== after[key]))
    work.in(WeightChangesCollection, organization).insert({ id, page_id: page.id, at: changed.updated_at, before, after })
  invalidation.announce(work, pagesTopic, `${organization}/${page.id}`, { settled: true })
}

function weightsOf({ variants }: StoredPage): Record<string, number> {
  return Object.fromEntries(variants.map(({ key, weight }) => [key, weight]))
}

function bytesOf(variants: readonly { readonly html: string }[]): number {
  return variants.reduce((sum, { html }) => sum + Buffer.byteLength(html), 0)
}

function publishRefused(): AppError {
  const message = "expected draft or archived; POST /v1/pages/{slug}/publish publishes a page"
  return new AppError("invalid_argument", `status: ${message}.`, { reason: "invalid_fields", fields: [{ path: "status", message }] })
}
