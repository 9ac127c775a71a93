// Finds items of a resource. Each read names the organization, and the container if there is one.
import type { CollectionSpec } from "../contract/collection.ts"
import type { Filter, Store } from "../contract/store.ts"
import { AppError } from "../kernel/errors.ts"
import { isUuid } from "../kernel/ids.ts"
import type { FormerSlugs } from "./former-slugs.ts"
import type { Container, Kept, Key, Shape } from "./spec.ts"

export interface ItemsSpec {
  readonly name: string
  readonly word: string
  readonly path: string
  readonly key: Pick<Key<string, Shape>, "field" | "idOf">
  readonly within?: { readonly field: string; readonly column: string } | undefined
  readonly collection: CollectionSpec<Kept, "organization">
  readonly former?: FormerSlugs | undefined
  readonly defaults: Readonly<Record<string, unknown>>
}

/** The container of a resource without a container. */
export const ofOrganization: Container = { id: "" }

/** Items of one resource. */
export class Items<D extends Kept> {
  readonly #spec: ItemsSpec

  constructor(spec: ItemsSpec) {
    this.#spec = spec
  }

  /** By key, former slug or id. An item older than a field gets the default of the field. */
  async find(store: Store, organization: string, keyOrId: string, container = ofOrganization): Promise<D | undefined> {
    const { collection, key, within, former } = this.#spec
    const items = store.open(collection, organization)
    const ofContainer: Filter = within ? { [within.column]: container.id } : {}
    const id = isUuid(keyOrId) ? keyOrId : (key.idOf?.(organization, keyOrId) ?? (await former?.ownerOf(store, organization, keyOrId)))
    if (id === undefined && former) return undefined
    const found = id === undefined ? await items.first({ ...ofContainer, [key.field]: keyOrId }) : await items.get(id)
    const isReached = found !== undefined && (!within || (found as Kept & Record<string, unknown>)[within.column] === container.id)
    return isReached ? { ...(this.#spec.defaults as Partial<D>), ...(found as D) } : undefined
  }

  /** As `find`; throws `not_found`. */
  async require(store: Store, organization: string, keyOrId: string, container = ofOrganization): Promise<D> {
    const found = await this.find(store, organization, keyOrId, container)
    if (found) return found
    const { word, path, within, name } = this.#spec
    const { id, slug = id } = container
    const owner = within ? `The ${within.field} "${slug}"` : "The organization"
    const list = within ? path.replace(`{${within.field}}`, slug) : path
    const message = `${owner} has no ${word} "${keyOrId}"; GET ${list} lists them.`
    throw AppError.from({ code: "not_found", message, details: { reason: `${name}_not_found` } })
  }
}
