// Isolation of organizations, checked on each open and write. A collection of organizations requires an organization id. A global
// collection refuses it. A document never has the id of another organization.
import type { CollectionSpec, Document } from "../contract/collection.ts"
import type { Commit, NewestWinsWrite, Write } from "../contract/store.ts"
import { AppError } from "../kernel/errors.ts"
import { checkFilter, invalid } from "./filter.ts"
import { checkUpdate } from "./update.ts"

const maxIdLength = 512

export class DeclaredCollections {
  readonly #byName = new Map<string, CollectionSpec>()

  constructor(collections: Iterable<CollectionSpec>) {
    for (const spec of collections) {
      if (this.#byName.has(spec.name)) throw new Error(`Collection "${spec.name}" is declared twice; rename one of them.`)
      this.#byName.set(spec.name, spec)
    }
  }

  get all(): readonly CollectionSpec[] {
    return [...this.#byName.values()]
  }

  /** Throws unless this collection is declared, and has an organization exactly if its scope requires it. */
  check(spec: CollectionSpec, organization: string | undefined): void {
    if (this.#byName.get(spec.name) !== spec) {
      const message = `Collection "${spec.name}" is not declared; name it in its plugin's collections.`
      throw new AppError("failed_precondition", message, { reason: "undeclared_collection", collection: spec.name })
    }
    checkOrganization(spec, organization)
  }

  checkCommit(commit: Commit): void {
    checkId("commits", "id", commit.id)
    for (const write of commit.writes) {
      this.check(write.collection, write.organization)
      checkWrite(write)
    }
  }
}

function checkOrganization({ name, scope }: CollectionSpec, organization: string | undefined): void {
  if (scope === "organization") {
    if (typeof organization !== "string" || organization === "") {
      throw invalid(name, "organization", "is missing; this collection is kept for each organization and needs its id")
    }
    if (organization.length <= maxIdLength && !organization.includes("\0") && !organization.includes("/")) return
    throw invalid(name, "organization", 'is not an organization id: it is too long, or holds NUL or "/"')
  }
  if (organization !== undefined) throw invalid(name, "organization", "is given; this collection is global and takes none")
}

export function checkId(collection: string, path: string, id: unknown): asserts id is string {
  if (typeof id === "string" && id !== "" && id.length <= maxIdLength && !id.includes("\0") && id.isWellFormed()) return
  const shown = typeof id === "string" ? JSON.stringify(id.slice(0, 80)) : String(id)
  throw invalid(collection, path, `is ${shown}; an id is text of 1 to ${maxIdLength} characters without NUL`)
}

function checkWrite(write: Write): void {
  const { name } = write.collection
  switch (write.kind) {
    case "insert":
      checkDocument(name, write.doc, write.organization)
      return
    case "newest_wins":
      checkMerge(name, write)
      return
    case "update":
      checkId(name, "id", write.id)
      checkUpdate(name, write.update, write.upsert === true)
      if (write.where) checkFilter(name, write.where)
      return
    case "remove":
      checkId(name, "id", write.id)
      if (write.where) checkFilter(name, write.where)
      return
    default:
      throw invalid(name, "kind", `is ${String((write as Write).kind)}; use insert, update, remove or merge`)
  }
}

function checkDocument(name: string, doc: Document, organization: string | undefined): void {
  checkId(name, "id", doc.id)
  const carried = doc.organization_id
  if (carried === undefined || carried === organization) return
  if (organization === undefined) return
  throw new AppError("permission_denied", `${name}: document ${doc.id} carries another organization's id than the one it is written for.`, {
    reason: "wrong_organization",
    collection: name,
  })
}

function checkMerge(name: string, { doc, position, organization }: NewestWinsWrite): void {
  checkDocument(name, doc, organization)
  if (typeof position !== "string" || position === "") throw invalid(name, "position", "is missing; give text that orders the writes")
  for (const column in doc.values) {
    if (column !== "" && column !== "__proto__" && !column.startsWith("$") && !column.includes(".") && !column.includes("\0")) continue
    throw invalid(name, `values.${column}`, 'is not a column: a name is not empty, not "__proto__", and holds no ".", NUL or leading "$"')
  }
}
