// Making, reading, changing, publishing and unpublishing pages.
import { z } from "zod"
import { AppError, defineList, defineOperation, requireRevision, resultOf, Slug, SlugOrId, Timestamp, Uuid } from "#core"
import { PagesCollection, pageStatuses, type StoredPage } from "../collections.ts"
import { Pages } from "../pages.ts"
import { type Owner, PageParts } from "../serving/parts.ts"
import { Serving } from "../serving/routes.ts"
import type { PageServing } from "../serving/serve.ts"
import { warningsOf } from "../warnings.ts"

/** A page comes in one request, whose body holds 1 MiB as JSON: what is escaped in it, and the rest, need room beside the HTML. */
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

const Title = z.string().trim().min(1).max(300)

const SinglePage = z
  .boolean()
  .describe(
    "Whether the page is a single-page application: `pushState` and changes of the fragment count as separate page views, named by the fragment.",
  )

const PageSummary = z.object({
  id: Uuid,
  slug: z.string(),
  title: z.string(),
  status: z.enum(pageStatuses),
  single_page: SinglePage,
  url: z.string().describe("URL of the published page: the origin of pages, /p/, the slugs of organization and page."),
  revision: z.int(),
  created_at: Timestamp,
  updated_at: Timestamp,
  published_at: Timestamp.nullable(),
})

const PageResource = PageSummary.extend({ variants: z.array(z.object({ key: z.string(), html: z.string(), weight: z.number() })) })

const CheckedPage = PageResource.extend({
  warnings: z.array(z.string()).describe("Problems that lose events or entries of visitors; shown for drafts and published pages."),
})

const bySlug = { slug: SlugOrId.describe("Slug or UUID of the page.") }
const madePage = { given: { page: "pages.create" }, input: { slug: resultOf("page.slug") } }

export const createPage = defineOperation({
  name: "pages.create",
  summary: "Create a page, as a draft.",
  http: { method: "POST", path: "/v1/pages" },
  access: { scope: "pages:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    title: Title,
    slug: Slug.optional().describe("Derived from the title when absent, with the suffix -2 if taken."),
    variants: Variants.optional(),
    single_page: SinglePage.default(false),
  }),
  output: CheckedPage,
  errors: ["invalid_argument", "already_exists"],
  examples: [{ input: { title: "Spring offer", variants: [{ key: "control", html: "<h1>Spring offer</h1>" }] } }],
  inject: { pages: Pages, parts: PageParts, serving: Serving },
  handle: async ({ input, caller, deps, work }) =>
    checked(deps, caller.organization, await deps.pages.create(work, caller.organization.id, input)),
})

export const listPages = defineList({
  name: "pages.list",
  summary: "List the organization's pages, newest first, without their variants.",
  path: "/v1/pages",
  access: { scope: "pages:read", role: "guest" },
  columns: ["slug", "title", "status", "published_at", "updated_at"],
  input: { status: z.enum(pageStatuses).optional() },
  inject: { serving: Serving },
  collection: PagesCollection,
  items: { pages: PageSummary },
  view: (page, { caller, deps }) => {
    const { variants: _variants, ...summary } = resourceOf(deps.serving, caller.organization, page)
    return summary
  },
})

export const getPage = defineOperation({
  name: "pages.get",
  summary: "Read a page with its variants.",
  http: { method: "GET", path: "/v1/pages/{slug}" },
  access: { scope: "pages:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: CheckedPage,
  errors: ["not_found"],
  examples: [madePage],
  inject: { pages: Pages, parts: PageParts, serving: Serving },
  async handle({ input, caller, deps }) {
    return checked(deps, caller.organization, await deps.pages.require(caller.organization.id, input.slug))
  },
})

export const updatePage = defineOperation({
  name: "pages.update",
  summary: "Change a page's title or variants, or archive it.",
  http: { method: "PATCH", path: "/v1/pages/{slug}" },
  access: { scope: "pages:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...bySlug,
    title: Title.optional(),
    variants: Variants.optional().describe("Replaces the list."),
    single_page: SinglePage.optional(),
    status: z.enum(["draft", "archived"]).optional().describe("`draft` and `archived` are not public; publishing has its own operation."),
    expected_revision: z.int().optional().describe("Revision that the change is based on; the change is refused if there is a newer one."),
  }),
  output: CheckedPage,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ ...madePage, input: { ...madePage.input, title: "Summer offer", expected_revision: resultOf("page.revision") } }],
  inject: { pages: Pages, parts: PageParts, serving: Serving },
  async handle({ input, caller, deps, work }) {
    const { slug, expected_revision, title, variants, single_page, status } = input
    const page = await deps.pages.require(caller.organization.id, slug)
    requireRevision("page", page.revision, expected_revision)
    if (variants?.length === 0 && (status ?? page.status) === "published") {
      throw new AppError("failed_precondition", "variants: a published page needs at least one; unpublish it first.", {
        reason: "no_variants",
      })
    }
    const change = {
      ...(title === undefined ? {} : { title }),
      ...(variants ? { variants } : {}),
      ...(single_page === undefined ? {} : { single_page }),
      ...(status ? { status } : {}),
    }
    if (Object.keys(change).length === 0) return checked(deps, caller.organization, page)
    return checked(deps, caller.organization, deps.pages.update(work, caller.organization.id, page, change))
  },
  onConflict: async ({ error }) => error,
})

export const publishPage = defineOperation({
  name: "pages.publish",
  summary: "Publish a page; publishing it again changes nothing.",
  description: "`warnings` lists forms without a pipeline, fields without a name, and other problems that lose entries of visitors.",
  http: { method: "POST", path: "/v1/pages/{slug}/publish" },
  access: { scope: "pages:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject(bySlug),
  output: CheckedPage,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [madePage],
  inject: { pages: Pages, parts: PageParts, serving: Serving },
  async handle({ input, caller, deps, work }) {
    const page = await deps.pages.require(caller.organization.id, input.slug)
    return checked(deps, caller.organization, await deps.pages.publish(work, caller.organization, page))
  },
  onConflict: async ({ error }) => error,
})

export const unpublishPage = defineOperation({
  name: "pages.unpublish",
  summary: "Unpublish a page: it becomes a draft, and its public endpoints refuse events once this call returns.",
  http: { method: "POST", path: "/v1/pages/{slug}/unpublish" },
  access: { scope: "pages:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject(bySlug),
  output: PageResource,
  errors: ["not_found", "aborted"],
  examples: [{ given: { page: "pages.publish" }, input: { slug: resultOf("page.slug") } }],
  inject: { pages: Pages, serving: Serving },
  async handle({ input, caller, deps, work }) {
    const page = await deps.pages.require(caller.organization.id, input.slug)
    if (page.status !== "published") return resourceOf(deps.serving, caller.organization, page)
    return resourceOf(deps.serving, caller.organization, deps.pages.update(work, caller.organization.id, page, { status: "draft" }))
  },
  onConflict: async ({ error }) => error,
})

function bytesOf(variants: readonly { readonly html: string }[]): number {
  return variants.reduce((sum, { html }) => sum + Buffer.byteLength(html), 0)
}

interface Shown {
  readonly serving: PageServing
  readonly parts: PageParts
}

async function checked({ serving, parts }: Shown, organization: Owner, page: StoredPage) {
  return { ...resourceOf(serving, organization, page), warnings: await warningsOf(parts, organization, page) }
}

function resourceOf(serving: PageServing, organization: Owner, { organization_id: _organization, ...page }: StoredPage) {
  return { ...page, single_page: page.single_page ?? false, url: serving.visits.addressOf({ organization, page }) }
}
