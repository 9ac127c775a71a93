// The service behind knowledge items: made and changed here, read in by a job, each content a version of its own.
import {
  AppError,
  type Changes,
  Clock,
  changesOf,
  type Deps,
  type FieldsOf,
  Ids,
  isUuid,
  JobQueue,
  Store,
  timestamp,
  type UnitOfWork,
} from "#core"
import {
  ItemCollection,
  type ItemType,
  OpeningCollection,
  RemovalCollection,
  readRef,
  type StoredItem,
  type StoredVersion,
  UploadCollection,
  VersionCollection,
  versionId,
} from "./collections.ts"
import { IndexerToken } from "./indexing/indexer.ts"
import type { KnowledgeSettings } from "./settings.ts"
import { Uploads } from "./uploads/uploads.ts"

export interface KnowledgeDeps extends Deps<typeof Knowledge.inject> {
  readonly settings: KnowledgeSettings
}

/** What is to be read in: bytes, what was uploaded before, or the URL where they are. */
export type Content = { readonly type: ItemType } & ({ readonly bytes: Buffer } | { readonly upload: string } | { readonly url: string })

export type ItemFields = Pick<StoredItem, "title" | "description" | "category">

/** What became of reading a version. */
export type Read =
  | { readonly ok: true; readonly type: ItemType; readonly title: string; readonly text: string; readonly bytes: number }
  | { readonly ok: false; readonly reason: string; readonly message: string }

const excerptCharacters = 2_000
/** Of a text, where words of a search are marked. */
const openingCharacters = 8_000

export class Knowledge {
  static readonly inject = { store: Store, clock: Clock, ids: Ids, queue: JobQueue, indexer: IndexerToken, uploads: Uploads }
  readonly #deps: KnowledgeDeps

  constructor(deps: KnowledgeDeps) {
    this.#deps = deps
  }

  async find(organization: string, id: string): Promise<StoredItem | undefined> {
    return isUuid(id) ? this.#deps.store.open(ItemCollection, organization).get(id) : undefined
  }

  /** As `find`; throws `not_found`. */
  async require(organization: string, id: string): Promise<StoredItem> {
    const found = await this.find(organization, id)
    if (found) return found
    throw new AppError("not_found", `The organization has no knowledge item "${id}"; GET /v1/knowledge lists them.`, {
      reason: "knowledge_not_found",
    })
  }

  version(organization: string, item: string, version: number): Promise<StoredVersion | undefined> {
    return this.#deps.store.open(VersionCollection, organization).get(versionId(item, version))
  }

  /** The text of the latest version that was read; empty where none was. */
  async text(organization: string, { id, content_version }: StoredItem): Promise<string> {
    return content_version === 0 ? "" : ((await this.version(organization, id, content_version))?.text ?? "")
  }

  /** The beginnings of those texts, as far as searches mark words in them, in the order of the items. */
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

  /** Stages an item whose first version is to be read. */
  async create(work: UnitOfWork, organization: string, fields: ItemFields, content: Content): Promise<StoredItem> {
    const at = timestamp(this.#deps.clock.now())
    const none = { content_state: "pending", content_reason: "", content_message: "", content_version: 0, excerpt: "" } as const
    const item: StoredItem = {
      ...{ ...fields, ...none, id: this.#deps.ids.uuid(), title_given: fields.title !== "", type: content.type },
      ...{ source_url: "url" in content ? content.url : "", version: 1, characters: 0 },
      ...{ entry: 0, index_due: false, vector_due: false, revision: 1, created_at: at, updated_at: at },
    }
    work.in(ItemCollection, organization).insert(item)
    await this.#stageVersion(work, organization, item.id, 1, content)
    return item
  }

  /** Stages a change made for the item as read; one made meanwhile has the commit `aborted`. The text that was read stays until a new version is. */
  async update(
    work: UnitOfWork,
    organization: string,
    item: StoredItem,
    fields: Partial<ItemFields>,
    content: Content | undefined,
  ): Promise<StoredItem> {
    const { clock, indexer, settings, store } = this.#deps
    const version = item.version + 1
    const change: Partial<FieldsOf<StoredItem>> = {
      ...fields,
      ...(fields.title === undefined ? {} : { title_given: fields.title !== "" }),
      ...(content
        ? { version, type: content.type, source_url: "url" in content ? content.url : "", content_state: "pending", content_reason: "" }
        : {}),
      ...(content ? { content_message: "" } : {}),
      ...(Object.keys(fields).length > 0 && item.content_version > 0 ? { index_due: true } : {}),
      updated_at: timestamp(clock.now()),
      revision: item.revision + 1,
    }
    const where = { revision: item.revision }
    work.in(ItemCollection, organization).update(item.id, { $set: changesOf(change) }, { where })
    if (content) {
      await this.#stageVersion(work, organization, item.id, version, content)
      const before = version - settings.max_versions
      const old = { item_id: item.id, version: { $lte: before } }
      // The text that is shown stays, also where no version since could be read.
      for (const { id, version: number } of await store.open(VersionCollection, organization).find(old, { limit: 100 }))
        if (number !== item.content_version) work.in(VersionCollection, organization).remove(id, { optional: true })
    }
    if (change.index_due) indexer.soon(work, organization)
    return { ...item, ...change }
  }

  /** Stages that an item goes, with its versions, what waits to be read and its entries in the index. */
  async remove(work: UnitOfWork, organization: string, item: StoredItem): Promise<void> {
    const { store, indexer, uploads } = this.#deps
    work.in(ItemCollection, organization).remove(item.id, { where: { revision: item.revision } })
    for (const collection of [VersionCollection, UploadCollection] as const)
      for await (const { id } of store.open<StoredVersion>(collection as never, organization).stream({ item_id: item.id }))
        work.in(collection as typeof VersionCollection, organization).remove(id, { optional: true })
    await uploads.dropOf(work, organization, item.id)
    work.in(OpeningCollection, organization).remove(item.id, { optional: true })
    work.in(RemovalCollection, organization).insert({ id: item.id }, { ifPresent: "keep" })
    indexer.soon(work, organization)
  }

  /** Stages what became of reading a version; nothing where the item is gone. */
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

/** Of an item that nobody named. */
function titleOf({ source_url }: StoredItem, text: string): string {
  const [line = ""] = text.split("\n", 1)
  return line.replace(/^#+ */, "").trim().slice(0, 120).toWellFormed() || source_url.slice(0, 120) || "Untitled"
}
