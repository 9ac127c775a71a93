// Present and former slugs. A former slug stays valid, and no other item gets it.
import { type CollectionSpec, type Document, defineCollection } from "../contract/collection.ts"
import { SlugOrId } from "../contract/fields.ts"
import type { Store } from "../contract/store.ts"
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import { derivedUuid } from "../kernel/ids.ts"

export interface FormerSlugsSpec {
  /** Name of the collection of slugs. */
  readonly collection: string
  /** Field of its documents for the id of the item. */
  readonly column: string
  /** Field of an update for a new slug. */
  readonly rename: string
  /** Part of the ids of its documents. Never change it. */
  readonly label: string
}

export class FormerSlugs {
  readonly #spec: FormerSlugsSpec
  readonly collection: CollectionSpec<Document & Record<string, string>, "organization">

  constructor(spec: FormerSlugsSpec) {
    this.#spec = spec
    this.collection = defineCollection<Document & Record<string, string>>()({
      name: spec.collection,
      scope: "organization",
      times: [],
      indexes: [{ fields: [spec.column] }],
    })
  }

  get storedFields(): readonly string[] {
    return ["id", "organization_id", "slug", this.#spec.column]
  }

  /** Id of the owner of a present or former slug. */
  async ownerOf(store: Store, organization: string, slug: string): Promise<string | undefined> {
    return (await store.open(this.collection, organization).get(this.#idOf(organization, slug)))?.[this.#spec.column]
  }

  /** Stages the slug of an item. The commit fails as `already_exists` if another item owns it. */
  take(work: UnitOfWork, organization: string, slug: string, owner: string): void {
    work.in(this.collection, organization).insert({ id: this.#idOf(organization, slug), slug, [this.#spec.column]: owner })
  }

  /** Stages the release of all slugs of a deleted item. */
  async release(store: Store, work: UnitOfWork, organization: string, owner: string): Promise<void> {
    for await (const { id } of store.open(this.collection, organization).stream({ [this.#spec.column]: owner }))
      work.in(this.collection, organization).remove(id, { optional: true })
  }

  #idOf(organization: string, slug: string): string {
    return derivedUuid(this.#spec.label, organization, slug)
  }
}

/** The path field of a resource with former slugs. */
export function slugOrFormer(word: string) {
  return SlugOrId.describe(`Slug, former slug or UUID of the ${word}.`)
}
