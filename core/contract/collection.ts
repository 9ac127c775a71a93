// What a plugin keeps: a declared collection of documents. The declaration says whose the documents are, which fields
// are times and what is indexed, so that both storage drivers lay it out alike and neither needs to be told more.
import type { DeclarationKind } from "../kernel/registry.ts"
import type { Sealed } from "../kernel/vault.ts"

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A stored document. `id` is its key; `organization_id` is set by the store where the collection has organizations. */
export interface Document {
  id: string
  organization_id?: string
}

export interface IndexSpec {
  /** Dotted paths, most significant first; `-` in front for descending. `organization_id` is put in front by the store where the collection has organizations. */
  readonly fields: readonly string[]
  readonly unique?: boolean
  /** Leave documents that lack the first field out of the index (and out of its uniqueness). */
  readonly sparse?: boolean
  /** Only documents with these values at these paths are in it, for what few of many are; it serves filters that name all of them. */
  readonly only?: Readonly<Record<string, string | number | boolean>>
}

export type CollectionScope = "organization" | "global"

/** A secret in a document that the vault sealed. */
export interface SealedPlace {
  /** Dotted path of the sealed value. */
  readonly path: string
  readonly sealed: Sealed
  /** What it was sealed with. */
  readonly context: string
}

/** What the audit log keeps of a changed document: `full` its values before and after, secrets cut; `size` its id and size alone; `none` nothing. */
export type AuditMode = "full" | "size" | "none"

/** A declared collection of documents: whose they are, and what is indexed. */
export interface CollectionSpec<D extends Document = Document, S extends CollectionScope = CollectionScope> {
  /** Snake case, plural; the name of the MongoDB collection and the SQLite table. */
  readonly name: string
  /** `organization`: can only be opened with an organization id, and neither reads nor writes another's documents. */
  readonly scope: S
  /** Dotted paths of RFC 3339 fields, kept as dates by MongoDB. */
  readonly times: readonly string[]
  readonly indexes: readonly IndexSpec[]
  /** A time field after which the document goes by itself, in small steps. */
  readonly expires?: string
  /** Default `full`. `size` suits contents (rows, events, messages), which must be gone permanently once they are deleted. */
  readonly audit?: AuditMode
  /** Fields that the audit log shows beside the size, such as the id of the document that contains this one. */
  readonly auditFields?: readonly string[]
  /** Written now and then beside events (counts of them, how far something was read): not what an event leaves behind. */
  readonly statistics?: true
  /** Text that a store cannot hold (half of a surrogate pair, NUL in a name) is stored there with U+FFFD in its place: for what people read. Otherwise such a write is refused. */
  readonly repairsText?: true
  /** Pieces of the JSON of most documents, such as `"subject":"`, in the order in which they stand in it: the embedded store keeps one character for each, of 28 at most. */
  readonly phrases?: readonly string[]
  /** `millrace restore` keeps documents that are newer than the backup: what forbids something, such as an opt-out. */
  readonly outlivesRestore?: true
  /** Fills in what writers leave out of a document; called with each that is read, not by filters. */
  restore?(document: D): D
  /** Every secret that a document holds sealed: a changed master key is checked against them, and they are sealed again under it. */
  sealed?(document: D): readonly SealedPlace[]
  /** Never set; carries the type. */
  readonly document?: D
}

/** Declares a collection of documents: `defineCollection<Note>()({ name, scope, times, indexes })`. */
export function defineCollection<D extends Document>() {
  return <const S extends CollectionScope>(spec: Omit<CollectionSpec<D, S>, "document">): CollectionSpec<D, S> => spec
}

export const Collections: DeclarationKind<CollectionSpec> = { kind: "collection", nameOf: (spec) => spec.name }
