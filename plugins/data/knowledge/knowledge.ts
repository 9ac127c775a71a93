// Service for knowledge items. Creates and changes items; a job reads their contents. Each content is a new version.
import { type Changes, Clock, type Deps, JobQueue, Store, timestamp, type UnitOfWork } from "#core"
import {
  type ItemType,
  OpeningCollection,
  RemovalCollection,
  readRef,
  type StoredVersion,
  UploadCollection,
  VersionCollection,
  versionId,
} from "./collections.ts"
import { IndexerToken } from "./indexing/indexer.ts"
import { ItemCollection, type ItemState, KnowledgeResource, type StoredItem } from "./item.ts"
import type { KnowledgeSettings } from "./settings.ts"
import { Uploads } from "./uploads/uploads.ts"

export interface KnowledgeDeps extends Deps<typeof Knowledge.inject> {
  readonly settings: KnowledgeSettings
}

/** Content to read: bytes, an earlier upload, or a URL. */
export type Content = { readonly type: ItemType } & ({ readonly bytes: Buffer } | { readonly upload: string } | { readonly url: string })

export type ItemFields = Pick<StoredItem, "title" | "description" | "category">

/** Result of reading a version. */
export type Read =
  | { readonly ok: true; readonly type: ItemType; readonly title: string; readonly text: string; readonly bytes: number }
  | { readonly ok: false; readonly reason: string; readonly message: string }

const excerptCharacters = 2_000
/** Searches mark words only in this many characters of a text. */
const openingCharacters = 8_000

export class Knowledge {
  static readonly inject = { store: Store, clock: Clock, queue: JobQueue, indexer: IndexerToken, uploads: Uploads }
  readonly #deps: KnowledgeDeps

  constructor(deps: KnowledgeDeps) {
    this.#deps = deps
  }

  find(organization: string, id: string): Promise<StoredItem | undefined> {
    return KnowledgeResource.items.find(this.#deps.store, organization, id)
  }

  /** Like `find`, but throws `not_found`. */
  require(organization: string, id: string): Promise<StoredItem> {
    return KnowledgeResource.items.require(this.#deps.store, organization, id)
  }

  version(organization: string, item: string, version: number): Promise<StoredVersion | undefined> {
    return this.#deps.store.open(VersionCollection, organization).get(versionId(item, version))
  }

  /** Returns the text of the latest read version, or "" if no version was read. */
  async text(organization: string, { id, content_version }: StoredItem): Promise<string> {
    return content_version === 0 ? "" : ((await this.version(organization, id, content_version))?.text ?? "")
  }

  /** Returns the beginnings of the items' texts in the order of the items, up to the length in which searches mark words. */
  async openings(organization: string, items: readonly StoredItem[]): Promise<string[]> {
    const { store } = this.#deps
    const long = items.filter(({ characters }) => characters > openingCharacters)
    const limit = items.length
    const kept =
      long.length === 0 ? [] : await store.open(OpeningCollection, organization).find({ id: { $in: long.map(({ id }) => id) } }, { limit })
    const openings = new Map(kept.map(({ id, version, text }) => [versionId(id, version), text]))
    const idOf = ({ id, content_version }: StoredItem) => versionId(id, content_version)
    const others = items.map(idOf).filter((id) => !openings.has(id))
    const whole = others.length === 0 ? [] : await store.open(VersionCollection, organization).find({ id: { $in: others } }, { limit })
    for (const { id, text } of whole) openings.set(id, text.slice(0, openingCharacters))
    return items.map((item) => openings.get(idOf(item)) ?? "")
  }

  /** Stages the first version of a new item. Returns fields of the item. */
  async create(
    work: UnitOfWork,
    organization: string,
    { id, title }: Pick<StoredItem, "id" | "title">,
    content: Content,
  ): Promise<ItemState> {
    await this.#stageVersion(work, organization, id, 1, content)
    const empty = { content_version: 0, excerpt: "", characters: 0, entry: 0, index_due: false, vector_due: false }
    return { ...unread(content, 1), ...empty, title_given: title !== "" }
  }

  /** Stages a version with new content. Returns fields of the item. The earlier text stays until the new version is read. */
  async update(
    work: UnitOfWork,
    organization: string,
    item: StoredItem,
    fields: Partial<ItemFields>,
    content: Content | undefined,
  ): Promise<Partial<ItemState>> {
    const { indexer, settings, store } = this.#deps
    const version = item.version + 1
    const isIndexed = Object.keys(fields).length > 0 && item.content_version > 0
    if (content) {
      await this.#stageVersion(work, organization, item.id, version, content)
      const before = version - settings.max_versions
      const old = { item_id: item.id, version: { $lte: before } }
      // Keep the current text even if all later versions failed.
      for (const { id, version: number } of await store.open(VersionCollection, organization).find(old, { limit: 100 }))
        if (number !== item.content_version) work.in(VersionCollection, organization).remove(id, { optional: true })
    }
    if (isIndexed) indexer.soon(work, organization)
    return {
      ...(fields.title === undefined ? {} : { title_given: fields.title !== "" }),
      ...(content ? unread(content, version) : {}),
      ...(isIndexed ? { index_due: true } : {}),
    }
  }

  /** Stages the removal of an item's versions, unread uploads and index entries. */
  async remove(work: UnitOfWork, organization: string, item: StoredItem): Promise<void> {
    const { store, indexer, uploads } = this.#deps
    for (const collection of [VersionCollection, UploadCollection] as const)
      for await (const { id } of store.open<StoredVersion>(collection as never, organization).stream({ item_id: item.id }))
        work.in(collection as typeof VersionCollection, organization).remove(id, { optional: true })
    await uploads.dropOf(work, organization, item.id)
    work.in(OpeningCollection, organization).remove(item.id, { optional: true })
    work.in(RemovalCollection, organization).insert({ id: item.id }, { ifPresent: "keep" })
    indexer.soon(work, organization)
  }

  /** Stages the result of reading a version. Skips an item that no longer exists. */
  async keep(work: UnitOfWork, organization: string, item: StoredItem, version: StoredVersion, read: Read): Promise<void> {
    const state = read.ok ? "ready" : "failed"
    const why = read.ok ? { content_reason: "", content_message: "" } : { content_reason: read.reason, content_message: read.message }
    const found = read.ok ? { text: read.text, bytes: read.bytes, type: read.type } : {}
    const $set: Changes = { content_state: state, ...why, ...found }
    work.in(VersionCollection, organization).update(version.id, { $set }, { where: { content_state: "pending" } })
    work.in(UploadCollection, organization).remove(version.id, { optional: true })
    if (version.upload_id !== undefined) this.#deps.uploads.drop(work, organization, version.upload_id)
    const { content_version } = item
    const isLatest = version.version === item.version
    const isNewer = read.ok && version.version > content_version
    const change: Changes = {
      ...(isLatest ? { content_state: state, ...why } : {}),
      ...(isLatest && read.ok ? { type: read.type } : {}),
      ...(isNewer
        ? {
            content_version: version.version,
            excerpt: read.text.slice(0, excerptCharacters),
            characters: read.text.length,
            index_due: true,
          }
        : {}),
      ...(isNewer && !item.title_given ? { title: read.title || titleOf(item, read.text) } : {}),
    }
    work.in(ItemCollection, organization).update(item.id, { $set: change }, { where: { revision: item.revision, content_version } })
    if (!isNewer) return
    const openings = work.in(OpeningCollection, organization)
    const opening = { version: version.version, text: read.text.slice(0, openingCharacters) }
    if (read.text.length > openingCharacters) openings.update(item.id, { $set: opening }, { upsert: true })
    else openings.remove(item.id, { optional: true })
    this.#deps.indexer.soon(work, organization)
  }

  async #stageVersion(work: UnitOfWork, organization: string, item_id: string, version: number, content: Content): Promise<void> {
    const { queue, clock, uploads } = this.#deps
    const id = versionId(item_id, version)
    const bytes = "bytes" in content ? content.bytes.length : 0
    const source_url = "url" in content ? content.url : ""
    const created_at = timestamp(clock.now())
    const none = { content_state: "pending", content_reason: "", content_message: "", text: "" } as const
    const upload = "upload" in content ? { upload_id: content.upload } : {}
    const stored = { id, item_id, version, type: content.type, ...none, source_url, ...upload, bytes, created_at }
    work.in(VersionCollection, organization).insert(stored)
    if ("upload" in content) await uploads.claim(work, organization, content.upload, item_id)
    if ("bytes" in content) work.in(UploadCollection, organization).insert({ id, item_id, base64: content.bytes.toString("base64") })
    const key = "url" in content ? new URL(content.url).host : ""
    queue.enqueue(work, readRef, { item_id, version }, { organization, key })
  }
}

function unread(content: Content, version: number) {
  const source_url = "url" in content ? content.url : ""
  return { version, source_url, content_state: "pending", content_reason: "", content_message: "" } as const
}

/** Derives the title of an item without a title. */
function titleOf({ source_url }: StoredItem, text: string): string {
  const [line = ""] = text.split("\n", 1)
  return line.replace(/^#+ */, "").trim().slice(0, 120).toWellFormed() || source_url.slice(0, 120) || "Untitled"
}
