// A declared collection of documents: its scope, its time fields and its indexes. Both storage drivers derive the layout from
// this declaration.
import type { DeclarationKind } from "../kernel/registry.ts"
import type { Sealed } from "../kernel/vault.ts"

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A stored document. `id` is its key. The store sets `organization_id` in collections with organizations. */
export interface Document {
  id: string
  organization_id?: string
}

export interface IndexSpec {
  /**
   * Dotted paths, most significant first; a leading `-` means descending. In collections with organizations the store prepends
   * `organization_id`.
   */
  readonly fields: readonly string[]
  readonly unique?: boolean
  /** Excludes documents without the first field from the index (and from its uniqueness). */
  readonly sparse?: boolean
  /**
   * Limits the index to documents with these values at these paths. Suits a small part of many documents. The index serves
   * filters with all of these values.
   */
  readonly only?: Readonly<Record<string, string | number | boolean>>
}

export type CollectionScope = "organization" | "global"

/** A secret in a document, sealed by the vault. */
export interface SealedPlace {
  /** Dotted path of the sealed value. */
  readonly path: string
  readonly sealed: Sealed
  /** The vault's context of the seal. */
  readonly context: string
}

/**
 * The audit log's record of a changed document. `full`: values before and after, without secrets. `size`: only id and size.
 * `none`: no record.
 */
export type AuditMode = "full" | "size" | "none"

/** A declared collection of documents: its scope and its indexes. */
export interface CollectionSpec<D extends Document = Document, S extends CollectionScope = CollectionScope> {
  /** Snake case, plural; the name of the MongoDB collection and the SQLite table. */
  readonly name: string
  /** `organization`: opens only with an organization id, and reads and writes only this organization's documents. */
  readonly scope: S
  /** Dotted paths of RFC 3339 fields. MongoDB stores them as dates. */
  readonly times: readonly string[]
  readonly indexes: readonly IndexSpec[]
  /** A time field. The store deletes the document after this time, in small steps. */
  readonly expires?: string
  /** Default `full`. `size` suits contents (rows, events, messages), since deleted contents must be gone permanently. */
  readonly audit?: AuditMode
  /** Fields in the audit log beside the size, such as the id of the containing document. */
  readonly auditFields?: readonly string[]
  /** Derived data, such as counters and read positions, written outside event transactions. */
  readonly statistics?: true
  /**
   * Replaces text that a store cannot hold (half of a surrogate pair, NUL in a name) by U+FFFD. Suits texts for people. Default:
   * the write is refused.
   */
  readonly repairsText?: true
  /**
   * Pieces of JSON common to most documents, such as `"subject":"`, in document order; at most 28. The embedded store writes each
   * as one character.
   */
  readonly phrases?: readonly string[]
  /** `millrace restore` preserves documents newer than the backup. Suits prohibitions, such as an opt-out. */
  readonly outlivesRestore?: true
  /** Fills in fields omitted by writers. Runs for each document that is read. Filters do not see these values. */
  restore?(document: D): D
  /** Returns every sealed secret of a document. A changed master key is checked against them, and they are sealed again under it. */
  sealed?(document: D): readonly SealedPlace[]
  /** Never set. Carries the type. */
  readonly document?: D
}

/** Declares a collection of documents: `defineCollection<Note>()({ name, scope, times, indexes })`. */
export function defineCollection<D extends Document>() {
  return <const S extends CollectionScope>(spec: Omit<CollectionSpec<D, S>, "document">): CollectionSpec<D, S> => spec
}

export const Collections: DeclarationKind<CollectionSpec> = { kind: "collection", nameOf: (spec) => spec.name }
