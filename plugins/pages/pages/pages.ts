// Pages of an organization and their publication state. Each event of a public page reads the state, so it is cached until the
// page changes.
import {
  AppError,
  allKeys,
  CacheInvalidation,
  Clock,
  type Deps,
  defineExtensionPoint,
  isUuid,
  Store,
  stageRevision,
  timestamp,
  token,
  type UnitOfWork,
} from "#core"
import { type WeightChange, WeightChangesCollection } from "./collections.ts"
import { KeptBySize } from "./kept-by-size.ts"
import { PageResource, PagesCollection, pagesTopic, type StoredPage, stageNews } from "./page.ts"

export type PageChange = Partial<Pick<StoredPage, "title" | "status" | "variants" | "single_page" | "published_at">>

/** Runs when a page is published, in the same unit of work. */
export type PublishHook = (work: UnitOfWork, organization: { id: string; slug: string }, page: StoredPage) => Promise<void> | void

export const PublishHooks = defineExtensionPoint<PublishHook>({ id: "pages.publish-hooks" })

export interface Pages {
  /** Finds a page by UUID or slug. */
  get(organization: string, idOrSlug: string): Promise<StoredPage | undefined>
  /** Like `get`, but throws `not_found` if the page is missing. */
  require(organization: string, idOrSlug: string): Promise<StoredPage>
  published(organization: string, artifactId: string): Promise<boolean>
  /** Returns the published page of a slug, from the cache if possible. For serving. */
  servable(organization: string, slug: string): Promise<StoredPage | undefined>
  /** Stages a change of the page as read. After a concurrent change the commit fails with `aborted`. */
  update(work: UnitOfWork, organization: string, page: StoredPage, change: PageChange): StoredPage
  publish(work: UnitOfWork, organization: { id: string; slug: string }, page: StoredPage): Promise<StoredPage>
  /** Returns changes of the variants' weights after a time (milliseconds since the epoch), oldest first. */
  weightChanges(organization: string, pageId: string, after: number): Promise<WeightChange[]>
}

export const Pages = token<Pages>("Pages")

const maxKnown = 50_000

export const pagesNeeds = { store: Store, invalidation: CacheInvalidation, clock: Clock, hooks: PublishHooks }

export function createPages({ store, invalidation, clock, hooks }: Deps<typeof pagesNeeds>): Pages {
  const servedHosts = new Map<string, boolean>()
  /** Whole published pages, by organization and slug. */
  const servable = new KeptBySize<StoredPage>(({ variants }) => variants.reduce((sum, { html }) => sum + html.length, 0))
  let generation = 0
  invalidation.onChange(pagesTopic, (key) => {
    generation++
    // Pages seldom change, so the cache is cleared instead of mapping ids to slugs.
    servable.clear()
    if (key === allKeys) servedHosts.clear()
    else servedHosts.delete(key)
  })

  function update(work: UnitOfWork, organization: string, page: StoredPage, change: PageChange): StoredPage {
    const changed = stageRevision(work.in(PagesCollection, organization), page, change, clock.now())
    stageNews(invalidation, work, organization, page, changed)
    return changed
  }

  return {
    get: (organization, idOrSlug) => PageResource.items.find(store, organization, idOrSlug),
    require: (organization, idOrSlug) => PageResource.items.require(store, organization, idOrSlug),
    update,
    weightChanges: (organization, pageId, after) =>
      store.open(WeightChangesCollection, organization).find({ page_id: pageId, at: { $gt: timestamp(after) } }, { sort: { at: 1 } }),
    async published(organization, artifactId) {
      const key = `${organization}/${artifactId}`
      const isServed = servedHosts.get(key)
      if (isServed !== undefined) return isServed
      if (!isUuid(artifactId)) return false
      const before = generation
      const page = await store.open(PagesCollection, organization).get(artifactId)
      const published = page?.status === "published"
      // Missing pages are not cached: anyone may request any id.
      if (page && before === generation) {
        if (servedHosts.size >= maxKnown) servedHosts.clear()
        servedHosts.set(key, published)
      }
      return published
    },
    async servable(organization, slug) {
      const key = `${organization}/${slug}`
      const cached = servable.get(key)
      if (cached) return cached
      const before = generation
      const page = await store.open(PagesCollection, organization).first({ slug })
      if (page?.status !== "published") return undefined
      if (before === generation) servable.set(key, page)
      return page
    },
    async publish(work, organization, page) {
      if (page.status === "published") return page
      if (page.variants.length === 0) {
        throw new AppError("failed_precondition", `The page "${page.slug}" has no variant; add one with PATCH /v1/pages/${page.slug}.`, {
          reason: "no_variants",
        })
      }
      const published = update(work, organization.id, page, { status: "published", published_at: timestamp(clock.now()) })
      for (const hook of hooks) await hook(work, organization, published)
      return published
    },
  }
}
