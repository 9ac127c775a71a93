// Turns a commit into cells for the writer thread, once, when it is made: text and keys are read while the documents
// are at hand, and the length of the text is what queues are bounded by.
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Commit, NewestWinsWrite, Write } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import type { StagedCommit } from "../driver.ts"
import { columnsOf, keyReader, type ReadKeys } from "./keys.ts"
import { CellPacker } from "./packed.ts"
import { type WireChange, writeKinds } from "./wire.ts"

export interface EncodedCommit extends StagedCommit {
  /** CommitCells, packed. */
  readonly cells: { readonly head: string; readonly body: string }
}

interface StagedTable {
  /** Among the tables. */
  readonly index: number
  readonly readKeys: ReadKeys
  /** Whether a key may be of what the store adds to the document given. */
  readonly readsAdded: boolean
}

const added = new Set(["organization_id", "position", "column_positions"])

const bytesPerWrite = 128

export class Staging {
  readonly #places: ReadonlyMap<string, StagedTable>
  /** Of the last organization seen, which is most often that of the next write too. */
  #organization = ""
  #prefix = ""

  constructor(collections: readonly CollectionSpec[]) {
    this.#places = new Map(
      collections.map((spec, index) => {
        const columns = columnsOf(spec)
        const readsAdded = columns.some(({ path }) => added.has(path.split(".", 1)[0] ?? path))
        return [spec.name, { index, readKeys: keyReader(columns), readsAdded }]
      }),
    )
  }

  /** Throws `invalid_argument` where the commit holds what JSON cannot. */
  encode(commit: Commit): EncodedCommit {
    const { id, writes } = commit
    const organizations = organizationsOf(writes)
    const cells = new CellPacker()
    cells.push(id)
    cells.push(organizations.length)
    for (const organization of organizations) cells.push(organization)
    let bytes = bytesPerWrite
    try {
      for (const write of writes) bytes += this.#write(cells, write, organizations)
    } catch (error) {
      if (error instanceof AppError) throw error
      const message = `Commit ${id} holds a value that is not JSON: ${error instanceof Error ? error.message : String(error)}.`
      throw new AppError("invalid_argument", message, { reason: "invalid_fields", fields: [] }, { cause: error })
    }
    return { id, writes, bytes, cells }
  }

  #write(cells: CellPacker, write: Write, organizations: readonly string[]): number {
    const place = this.#places.get(write.collection.name)
    if (!place) {
      const collection = write.collection.name
      throw new AppError("failed_precondition", `Collection "${collection}" is not open.`, { reason: "undeclared_collection", collection })
    }
    const organization = organizations.indexOf(write.organization ?? "")
    const text = "doc" in write ? this.#documentText(write) : changeText(write)
    if ("doc" in write) {
      const kind = write.kind === "newest_wins" ? writeKinds.merge : write.ifPresent === "keep" ? writeKinds.keep : writeKinds.insert
      cells.push(kind)
      cells.push(place.index)
      cells.push(organization)
      cells.push(write.doc.id)
      place.readKeys(place.readsAdded ? (JSON.parse(text) as object) : write.doc, cells)
      cells.push(text)
    } else for (const cell of [writeKinds[write.kind], place.index, organization, write.id, text]) cells.push(cell)
    return text.length + bytesPerWrite
  }

  /** JSON of the document with its organization in it, and of a merge's with its position, as a missing row is stored. */
  #documentText(write: (Write & { kind: "insert" }) | NewestWinsWrite): string {
    const { doc, organization } = write
    const text = write.kind === "newest_wins" ? mergeText(write) : JSON.stringify(doc)
    if (organization === undefined || doc.organization_id !== undefined) return text
    if (organization !== this.#organization) {
      this.#organization = organization
      this.#prefix = `{"organization_id":${JSON.stringify(organization)},`
    }
    return this.#prefix + text.slice(1)
  }
}

/** The organizations that writes are for, each once; "" for none. */
function organizationsOf(writes: readonly Write[]): string[] {
  const organizations: string[] = []
  for (const { organization = "" } of writes) if (!organizations.includes(organization)) organizations.push(organization)
  return organizations
}

function changeText(write: Write & { kind: "update" | "remove" }): string {
  const { where, optional, organization } = write
  const { update, upsert } = write.kind === "update" ? write : {}
  return JSON.stringify({ update, where, optional, upsert, ...(upsert ? { organization } : {}) } satisfies WireChange)
}

function mergeText({ doc, position }: NewestWinsWrite): string {
  if ("position" in doc || "column_positions" in doc) return JSON.stringify({ ...doc, position, column_positions: {} })
  return `${JSON.stringify(doc).slice(0, -1)},"position":${JSON.stringify(position)},"column_positions":{}}`
}
