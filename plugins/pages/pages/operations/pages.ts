// Lists, publishes and unpublishes pages.
import { z } from "zod"
import { CacheInvalidation, defineList, defineOperation, resultOf } from "#core"
import { pageStatuses } from "../collections.ts"
import { PageResource, PagesCollection } from "../page.ts"
import { Pages } from "../pages.ts"
import { PageParts, Serving } from "../serving/parts.ts"

const inject = { invalidation: CacheInvalidation, pages: Pages, parts: PageParts, serving: Serving }
const createdPage = { given: { page: "pages.create" }, input: { slug: resultOf("page.slug") } }

export const listPages = defineList({
  name: "pages.list",
  summary: "List the organization's pages, newest first, without their variants.",
  path: "/v1/pages",
  access: { scope: "pages:read", role: "guest" },
  columns: ["slug", "title", "status", "published_at", "updated_at"],
  input: { status: z.enum(pageStatuses).optional() },
  inject: { serving: Serving },
  collection: PagesCollection,
  items: { pages: PageResource.answer.omit({ variants: true, warnings: true }) },
  view: (page, { caller: { organization }, deps }) => {
    const { variants: _variants, warnings: _warnings, ...summary } = PageResource.show(page)
    return { ...summary, url: deps.serving.visits.addressOf({ organization, page }) }
  },
})

export const publishPage = defineOperation({
  name: "pages.publish",
  summary: "Publish a page; publishing it again changes nothing.",
  description: "`warnings` lists forms without a pipeline, fields without a name, and other problems that lose entries of visitors.",
  http: { method: "POST", path: "/v1/pages/{slug}/publish" },
  access: { scope: "pages:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject({ slug: PageResource.ref }),
  output: PageResource.answer,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [createdPage],
  inject,
  async handle({ input, caller, deps, work }) {
    const page = await deps.pages.require(caller.organization.id, input.slug)
    return PageResource.whole(await deps.pages.publish(work, caller.organization, page), { caller, deps })
  },
  onConflict: async ({ error }) => error,
})

export const unpublishPage = defineOperation({
  name: "pages.unpublish",
  summary: "Unpublish a page: it becomes a draft, and its public endpoints refuse events once this call returns.",
  http: { method: "POST", path: "/v1/pages/{slug}/unpublish" },
  access: { scope: "pages:write", role: "member" },
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({ slug: PageResource.ref }),
  output: PageResource.answer,
  errors: ["not_found", "aborted"],
  examples: [{ given: { page: "pages.publish" }, input: { slug: resultOf("page.slug") } }],
  inject,
  async handle({ input, caller, deps, work }) {
    const page = await deps.pages.require(caller.organization.id, input.slug)
    const draft = page.status === "published" ? deps.pages.update(work, caller.organization.id, page, { status: "draft" }) : page
    return PageResource.whole(draft, { caller, deps })
  },
  onConflict: async ({ error }) => error,
})
