// The pages of an organization, and whether one is published: asked for every event that a public page sends, and so
// kept in memory until the page changes.
import {
  AppError,
  allKeys,
  CacheInvalidation,
  Clock,
  type Deps,
  defineExtensionPoint,
  derivedUuid,
  Ids,
  isUuid,
  Store,
  slugOf,
  slugTaken,
  stageRevision,
  timestamp,
  token,
  type UnitOfWork,
  uniqueSlug,
} from "#core"
import { PagesCollection, type StoredPage, type Variant, type WeightChange, WeightChangesCollection } from "./collections.ts"
import { KeptBySize } from "./kept-by-size.ts"

export interface NewPage {
  readonly title: string
  /** Absent: made from the title, with -2, -3, ... where that is taken. */
  readonly slug?: string | undefined
  readonly variants?: Variant[] | undefined
  readonly single_page?: boolean | undefined
}

export type PageChange = Partial<Pick<StoredPage, "title" | "status" | "variants" | "single_page" | "published_at">>

/** Runs when a page is published, in the same unit of work. */
export type PublishHook = (work: UnitOfWork, organization: { id: string; slug: string }, page: StoredPage) => Promise<void> | void

export const PublishHooks = defineExtensionPoint<PublishHook>({ id: "pages.publish-hooks" })

export interface Pages {
  /** By UUID or slug. */
  get(organization: string, idOrSlug: string): Promise<StoredPage | undefined>
  /** As `get`; throws `not_found`. */
  require(organization: string, idOrSlug: string): Promise<StoredPage>
  published(organization: string, artifactId: string): Promise<boolean>
  /** The published page of a slug, from memory where it is known; for serving. */
  servable(organization: string, slug: string): Promise<StoredPage | undefined>
  create(work: UnitOfWork, organization: string, given: NewPage): Promise<StoredPage>
  /** Stages a change made for the page as read; one made meanwhile has the commit `aborted`. */
  update(work: UnitOfWork, organization: string, page: StoredPage, change: PageChange): StoredPage
  publish(work: UnitOfWork, organization: { id: string; slug: string }, page: StoredPage): Promise<StoredPage>
  /** How the weights of its variants changed after a time (milliseconds since the epoch), oldest first. */
  weightChanges(organization: string, pageId: string, after: number): Promise<WeightChange[]>
}

export const Pages = token<Pages>("Pages")

/** Invalidation topic; announced with `<organization id>/<page id>` when a page changes. */
const pagesTopic = "pages"

const maxKnown = 50_000

export const pagesNeeds = { store: Store, invalidation: CacheInvalidation, clock: Clock, ids: Ids, hooks: PublishHooks }

export function createPages({ store, invalidation, clock, ids, hooks }: Deps<typeof pagesNeeds>): Pages {
  const known = new Map<string, boolean>()
  /** Published pages by organization and slug, whole. */
  const servable = new KeptBySize<StoredPage>(({ variants }) => variants.reduce((sum, { html }) => sum + html.length, 0))
  let generation = 0
  invalidation.onChange(pagesTopic, (key) => {
    generation++
    // A page is seldom changed and its slug never; which slug the id has is not worth keeping.
    servable.clear()
    if (key === allKeys) known.clear()
    else known.delete(key)
  })

  async function get(organization: string, idOrSlug: string): Promise<StoredPage | undefined> {
    const pages = store.open(PagesCollection, organization)
    return isUuid(idOrSlug) ? pages.get(idOrSlug) : pages.first({ slug: idOrSlug })
  }

  function update(work: UnitOfWork, organization: string, page: StoredPage, change: PageChange): StoredPage {
    const changed = stageRevision(work.in(PagesCollection, organization), page, change, clock.now())
    if (change.variants) noteWeights(work, organization, page, changed)
    invalidation.announce(work, pagesTopic, `${organization}/${page.id}`, { settled: true })
    return changed
  }

  /** Part of the change itself, so that no time of other weights is ever taken for one of these. */
  function noteWeights(work: UnitOfWork, organization: string, page: StoredPage, changed: StoredPage) {
    const [before, after] = [weightsOf(page.variants), weightsOf(changed.variants)]
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    if ([...keys].every((key) => before[key] === after[key])) return
    const id = derivedUuid("page weights", page.id, String(changed.revision))
    work.in(WeightChangesCollection, organization).insert({ id, page_id: page.id, at: changed.updated_at, before, after })
  }

  return {
    get,
    update,
    weightChanges: (organization, pageId, after) =>
      store.open(WeightChangesCollection, organization).find({ page_id: pageId, at: { $gt: timestamp(after) } }, { sort: { at: 1 } }),
    async require(organization, idOrSlug) {
      const found = await get(organization, idOrSlug)
      if (found) return found
      throw new AppError("not_found", `The page "${idOrSlug}" does not exist.`, { reason: "page_not_found" })
    },
    async published(organization, artifactId) {
      const key = `${organization}/${artifactId}`
      const seen = known.get(key)
      if (seen !== undefined) return seen
      if (!isUuid(artifactId)) return false
      const before = generation
      const page = await store.open(PagesCollection, organization).get(artifactId)
      const published = page?.status === "published"
      // Pages that are not there are not kept: anyone may ask for any id.
      if (page && before === generation) {
        if (known.size >= maxKnown) known.clear()
        known.set(key, published)
      }
      return published
    },
    async servable(organization, slug) {
      const key = `${organization}/${slug}`
      const seen = servable.get(key)
      if (seen) return seen
      const before = generation
      const page = await store.open(PagesCollection, organization).first({ slug })
      if (page?.status !== "published") return undefined
      if (before === generation) servable.set(key, page)
      return page
    },
    async create(work, organization, given) {
      const slug =
        given.slug ?? (await uniqueSlug(slugOf(given.title, "page"), async (one) => (await get(organization, one)) !== undefined))
      if (given.slug !== undefined && (await get(organization, slug)))
        throw slugTaken(`There is a page "${slug}" already; use another slug.`)
      const at = timestamp(clock.now())
      const page: StoredPage = {
        id: ids.uuid(),
        slug,
        title: given.title,
        status: "draft",
        variants: given.variants ?? [],
        single_page: given.single_page ?? false,
        revision: 1,
        created_at: at,
        updated_at: at,
        published_at: null,
      }
      work.in(PagesCollection, organization).insert(page)
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

function weightsOf(variants: readonly Variant[]): Record<string, number> {
  return Object.fromEntries(variants.map(({ key, weight }) => [key, weight]))
}
