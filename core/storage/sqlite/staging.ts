// Encodes a commit for the writer thread once, at its creation. It reads text and keys from the documents. The text's length
// bounds the queues.
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Commit, NewestWinsWrite, Write } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import type { StagedCommit } from "../driver.ts"
import { columnsOf, keyReader, type ReadKeys } from "./keys.ts"
import { CellPacker } from "./packed.ts"
import { type Shape, shapeOf, storedText } from "./shape.ts"
import { type WireChange, writeKinds } from "./wire.ts"

export interface EncodedCommit extends StagedCommit {
  /** Packed CommitCells. */
  readonly cells: { readonly head: string; readonly body: string }
}

interface StagedTable {
  /** Index of the table. */
  readonly index: number
  readonly readKeys: ReadKeys
  readonly shape: Shape
  /** True if a key uses the organization. The store adds the organization to the document. */
  readonly readsOrganization: boolean
}

const bytesPerWrite = 128

export class Staging {
  readonly #places: ReadonlyMap<string, StagedTable>

  constructor(collections: readonly CollectionSpec[]) {
    this.#places = new Map(
      collections.map((spec, index) => {
        const columns = columnsOf(spec)
        const readsOrganization = columns.some(({ path }) => path === "organization_id")
        return [spec.name, { index, readKeys: keyReader(columns), shape: shapeOf(spec), readsOrganization }]
      }),
    )
  }

  /** Throws `invalid_argument` if the commit contains values outside JSON. */
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
    let text: string
    if ("doc" in write) {
      const document = documentOf(write, place)
      text = storedText(place.shape, document, write.organization)
      const kind = write.kind === "newest_wins" ? writeKinds.merge : write.ifPresent === "keep" ? writeKinds.keep : writeKinds.insert
      cells.push(kind)
      cells.push(place.index)
      cells.push(organization)
      cells.push(write.doc.id)
      place.readKeys(document, cells)
      cells.push(text)
    } else {
      text = changeText(write)
      for (const cell of [writeKinds[write.kind], place.index, organization, write.id, text]) cells.push(cell)
    }
    return text.length + bytesPerWrite
  }
}

/** Returns the document to store. A merge includes its position, in the form of a new row. */
function documentOf(write: (Write & { kind: "insert" }) | NewestWinsWrite, { readsOrganization }: StagedTable): object {
  const { doc, organization } = write
  const whole = readsOrganization && organization !== undefined ? { ...doc, organization_id: organization } : doc
  return write.kind === "newest_wins" ? { ...whole, position: write.position, column_positions: {} } : whole
}

/** Returns the distinct organizations of the writes. "" means no organization. */
function organizationsOf(writes: readonly Write[]): string[] {
  const organizations: string[] = []
  for (const { organization = "" } of writes) if (!organizations.includes(organization)) organizations.push(organization)
  return organizations
}

function changeText(write: Write & { kind: "update" | "remove" }): string {
  const { where, optional } = write
  const { update, upsert } = write.kind === "update" ? write : {}
  return JSON.stringify({ update, where, optional, upsert } satisfies WireChange)
}
