// The contract of every storage driver as one suite: `storageContract(name, open)` runs it against a real store. Documents,
// writes and walls are here; queries are in contract-queries.ts, merges in contract-merges.ts.
import { expect } from "chai"
import type { CollectionSpec, Document, Json } from "../../core/contract/collection.ts"
import { defineCollection } from "../../core/contract/collection.ts"
import type { Collection, Commit, CommitResult, Store, Write } from "../../core/contract/store.ts"
import { refusalOf } from "../refusal.ts"
import { hostileContract } from "./contract-hostile.ts"
import { largeContract } from "./contract-large.ts"
import { mergeContract } from "./contract-merges.ts"
import { queryContract } from "./contract-queries.ts"
import { updateContract } from "./contract-updates.ts"

export interface OpenedStore {
  readonly store: Store
  /** Stops the store and removes its files. */
  close(): Promise<void>
}

/** Opens an empty, started store over these collections. */
export type OpenStore = (collections: readonly CollectionSpec[]) => Promise<OpenedStore>

export interface Note extends Document {
  [field: string]: Json | undefined
}

export const notes = defineCollection<Note>()({
  name: "contract_notes",
  scope: "organization",
  times: ["created_at"],
  indexes: [
    { fields: ["slug"], unique: true, sparse: true },
    { fields: ["group", "-rank"] },
    { fields: ["values.a"] },
    { fields: ["created_at"] },
    { fields: ["-rank"], only: { "values.a": true } },
  ],
})
export const rows = defineCollection<Note>()({
  name: "contract_rows",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["dataset_id"] }],
})
export const accounts = defineCollection<Note>()({
  name: "contract_accounts",
  scope: "global",
  times: [],
  indexes: [{ fields: ["realm", "email"], unique: true }],
})
const ledger = defineCollection<Note>()({ name: "contract_ledger", scope: "global", times: [], indexes: [] })

export const acme = "0199aaaa-0000-7000-8000-000000000001"
export const rival = "0199aaaa-0000-7000-8000-000000000002"

/** One open store for a suite, with short helpers for common steps. */
export class Bench {
  readonly #open: OpenStore
  #opened: OpenedStore | undefined
  #drawn = 0

  constructor(open: OpenStore) {
    this.#open = open
  }

  async start(): Promise<void> {
    this.#opened = await this.#open([notes, rows, accounts, ledger])
  }

  async close(): Promise<void> {
    await this.#opened?.close()
  }

  get store(): Store {
    if (!this.#opened) throw new Error("The store is not open yet.")
    return this.#opened.store
  }

  /** Returns a new id, so tests of one suite stay independent. */
  id(prefix = "x"): string {
    return `${prefix}-${String(++this.#drawn).padStart(8, "0")}`
  }

  notes(organization = acme): Collection<Note> {
    return this.store.open(notes, organization)
  }

  commit(...writes: Write[]): Promise<CommitResult> {
    return this.store.commit({ id: this.id("commit"), writes })
  }

  insert(...docs: Note[]): Promise<CommitResult> {
    return this.commit(...docs.map((doc): Write => ({ kind: "insert", collection: notes, organization: acme, doc })))
  }
}

/** A document with any fields; the type of a write knows only the fixed fields. */
const any = (doc: Note): Note => doc

const note = (id: string) => ({ collection: notes, organization: acme, id })

export function storageContract(name: string, open: OpenStore): void {
  describe(`storage: ${name}`, () => {
    const bench = new Bench(open)
    before(() => bench.start())
    after(() => bench.close())

    documents(bench)
    commits(bench)
    uniqueness(bench)
    walls(bench)
    updateContract(bench)
    queryContract(bench)
    mergeContract(bench)
    hostileContract(bench)
    largeContract(bench)
  })
}

function documents(bench: Bench): void {
  describe("documents", () => {
    it("come back equal, with any content", async () => {
      const doc: Note = {
        id: bench.id(),
        created_at: "2026-03-01T10:11:12.345Z",
        nothing: null,
        truth: true,
        lie: false,
        whole: 9_007_199_254_740_991,
        small: -9_007_199_254_740_991,
        int32: 2_147_483_648,
        part: 0.1,
        tiny: 5e-324,
        huge: 1.7976931348623157e308,
        text: 'quote " slash \\ newline \n tab \t é 漢字 \u2028 🦊',
        empty: "",
        list: [1, "1", null, true, [2, [3]], { deep: [] }, {}],
        object: { "a b": 1, "": 2, a: { b: { c: null } }, constructor: "own", toString: "own" },
      }
      await bench.insert(doc)
      expect(await bench.notes().get(doc.id)).to.deep.equal({ ...doc, organization_id: acme })
    })

    it("keep null apart from absent", async () => {
      const id = bench.id()
      await bench.insert({ id, here: null })
      const match = await bench.notes().get(id)
      expect(match).to.have.property("here", null)
      expect(match).not.to.have.property("gone")
    })

    it("are not there when they are not", async () => {
      expect(await bench.notes().get(bench.id())).to.equal(undefined)
      expect(await bench.notes().first({ id: bench.id() })).to.equal(undefined)
    })

    it("go when removed, and only they", async () => {
      const [gone, kept] = [bench.id(), bench.id()]
      await bench.insert({ id: gone }, { id: kept })
      await bench.commit({ kind: "remove", ...note(gone) })
      expect(await bench.notes().get(gone)).to.equal(undefined)
      expect(await bench.notes().get(kept)).to.deep.equal({ id: kept, organization_id: acme })
    })

    it("a caller's own objects are left as they were", async () => {
      const doc = Object.freeze({ id: bench.id(), values: Object.freeze({ a: 1 }) })
      await bench.insert(doc)
      expect(doc).to.deep.equal({ id: doc.id, values: { a: 1 } })
    })
  })
}

function commits(bench: Bench): void {
  describe("a commit", () => {
    it("is all or nothing", async () => {
      const [taken, fresh, target] = [bench.id(), bench.id(), bench.id()]
      await bench.insert({ id: taken, mark: "first" }, { id: target, count: 1 })
      const error = await refusalOf(
        bench.commit(
          { kind: "insert", collection: notes, organization: acme, doc: { id: fresh } },
          { kind: "update", ...note(target), update: { $inc: { count: 1 } } },
          { kind: "insert", collection: notes, organization: acme, doc: any({ id: taken, mark: "second" }) },
        ),
      )
      expect(error.code).to.equal("already_exists")
      expect(error.details).to.include({ collection: notes.name })
      expect(error.details.fields).to.deep.equal([{ path: "id", message: "is taken" }])
      expect(await bench.notes().get(fresh)).to.equal(undefined)
      expect(await bench.notes().get(target)).to.include({ count: 1 })
      expect(await bench.notes().get(taken)).to.include({ mark: "first" })
    })

    it("spans collections and organizations, and says what it made", async () => {
      const [a, b, c] = [bench.id(), bench.id(), bench.id()]
      await bench.insert({ id: a })
      const result = await bench.commit(
        { kind: "insert", collection: notes, organization: acme, doc: { id: a }, ifPresent: "keep" },
        { kind: "insert", collection: notes, organization: rival, doc: { id: b } },
        { kind: "insert", collection: ledger, doc: { id: c } },
        { kind: "update", collection: ledger, id: c, update: { $set: { n: 1 } } },
        { kind: "remove", collection: ledger, id: c },
      )
      expect(result.created).to.deep.equal([false, true, true, false, false])
      expect(await bench.notes(rival).get(b)).to.deep.equal({ id: b, organization_id: rival })
      expect(await bench.store.open(ledger).get(c)).to.equal(undefined)
    })

    it("sees its own earlier writes", async () => {
      const id = bench.id()
      await bench.commit(
        { kind: "insert", collection: notes, organization: acme, doc: any({ id, revision: 1 }) },
        { kind: "update", ...note(id), where: { revision: 1 }, update: { $set: { revision: 2 } } },
        { kind: "update", ...note(id), where: { revision: 2 }, update: { $inc: { revision: 1 } } },
      )
      expect(await bench.notes().get(id)).to.include({ revision: 3 })
    })

    it("repeated with its id changes nothing more", async () => {
      const [id, commitId] = [bench.id(), bench.id("commit")]
      const commit: Commit = {
        id: commitId,
        writes: [
          { kind: "insert", collection: notes, organization: acme, doc: any({ id, count: 1 }) },
          { kind: "update", ...note(id), update: { $inc: { count: 1 } } },
        ],
      }
      await bench.store.commit(commit)
      await bench.store.commit(commit)
      await Promise.all([bench.store.commit(commit), bench.store.commit(commit)])
      expect(await bench.notes().get(id)).to.include({ count: 2 })
    })

    it("that fails takes none of its neighbours along", async () => {
      const claimedId = bench.id()
      await bench.insert({ id: claimedId })
      const fresh = Array.from({ length: 40 }, () => bench.id())
      const outcomes = await Promise.allSettled(
        fresh.flatMap((id, index) => [
          bench.insert({ id, index }),
          index % 4 === 0 ? bench.insert({ id: `${id}-half` }, { id: claimedId }) : Promise.resolve(),
        ]),
      )
      expect(outcomes.filter((outcome) => outcome.status === "rejected")).to.have.length(10)
      expect(await bench.notes().count({ id: { $in: fresh } })).to.equal(40)
      expect(await bench.notes().count({ id: { $in: fresh.map((id) => `${id}-half`) } })).to.equal(0)
    })

    it("keeps the order of writes to one document", async () => {
      const id = bench.id()
      await bench.insert({ id, seen: [] })
      const order = Array.from({ length: 60 }, (_, index) => index)
      await Promise.all(order.map((index) => bench.commit({ kind: "update", ...note(id), update: { $push: { seen: index } } })))
      expect(await bench.notes().get(id)).to.deep.include({ seen: order })
    })

    it("loses no increment under contention", async () => {
      const ids = [bench.id(), bench.id()]
      await bench.insert(...ids.map((id) => ({ id, count: 0 })))
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          bench.commit({ kind: "update", ...note(ids[index % 2] ?? ""), update: { $inc: { count: 1 } } }),
        ),
      )
      for (const id of ids) expect(await bench.notes().get(id)).to.include({ count: 50 })
    })

    it("without writes is done at once", async () => {
      expect(await bench.commit()).to.deep.equal({ created: [] })
    })

    it("says that one could be made", async () => {
      await bench.store.ready()
    })
  })
}

function uniqueness(bench: Bench): void {
  describe("a unique index", () => {
    const account = (doc: Note): Write => ({ kind: "insert", collection: accounts, doc })

    it("refuses the second and names collection and fields", async () => {
      const email = `${bench.id()}@acme.test`
      await bench.commit(account({ id: bench.id(), realm: "r", email }))
      const second = bench.id()
      const error = await refusalOf(bench.commit(account({ id: second, realm: "r", email })))
      expect(error.code).to.equal("already_exists")
      expect(error.details["collection"]).to.equal(accounts.name)
      expect(error.details.fields?.map((field) => field.path)).to.deep.equal(["realm", "email"])
      expect(await bench.store.open(accounts).get(second)).to.equal(undefined)
      await bench.commit(account({ id: second, realm: "other", email }))
    })

    it("counts within one organization, not across", async () => {
      const slug = bench.id("slug")
      await bench.insert({ id: bench.id(), slug })
      await bench.commit({ kind: "insert", collection: notes, organization: rival, doc: any({ id: bench.id(), slug }) })
      const error = await refusalOf(bench.insert({ id: bench.id(), slug }))
      expect(error.details.fields?.map((field) => field.path)).to.deep.equal(["slug"])
    })

    it("when sparse leaves out documents that lack the field", async () => {
      await bench.insert({ id: bench.id() }, { id: bench.id() })
    })

    it("holds for updates as well", async () => {
      const [a, b, slug] = [bench.id(), bench.id(), bench.id("slug")]
      await bench.insert({ id: a, slug }, { id: b, slug: `${slug}-2` })
      const error = await refusalOf(bench.commit({ kind: "update", ...note(b), update: { $set: { slug } } }))
      expect(error.code).to.equal("already_exists")
      expect(await bench.notes().get(b)).to.include({ slug: `${slug}-2` })
    })

    it("refuses `ifPresent: keep` when not the id but another field is taken", async () => {
      const slug = bench.id("slug")
      await bench.insert({ id: bench.id(), slug })
      const doc = { id: bench.id(), slug }
      const error = await refusalOf(bench.commit({ kind: "insert", collection: notes, organization: acme, doc, ifPresent: "keep" }))
      expect(error.code).to.equal("already_exists")
    })

    it("is free again once its holder is gone", async () => {
      const [id, slug] = [bench.id(), bench.id("slug")]
      await bench.insert({ id, slug })
      await bench.commit(
        { kind: "remove", ...note(id) },
        { kind: "insert", collection: notes, organization: acme, doc: any({ id: bench.id(), slug }) },
      )
      expect(await bench.notes().count({ slug })).to.equal(1)
    })
  })
}

function walls(bench: Bench): void {
  describe("an organization", () => {
    it("neither reads nor changes another's documents", async () => {
      const id = bench.id()
      await bench.insert({ id, secret: "ours" })
      const theirs = bench.notes(rival)
      expect(await theirs.get(id)).to.equal(undefined)
      expect(await theirs.find({ $or: [{ id }, { secret: "ours" }] })).to.deep.equal([])
      expect(await theirs.find({ organization_id: acme })).to.deep.equal([])
      expect(await theirs.count({ id: { $in: [id] } })).to.equal(0)
      const target = { collection: notes, organization: rival, id }
      const update = await refusalOf(bench.commit({ kind: "update", ...target, update: { $set: { secret: "theirs" } } }))
      const removal = await refusalOf(bench.commit({ kind: "remove", ...target }))
      expect([update.code, removal.code]).to.deep.equal(["not_found", "not_found"])
      expect((await bench.commit({ kind: "remove", ...target, optional: true })).created).to.deep.equal([false])
      expect(await bench.notes().get(id)).to.deep.equal({ id, organization_id: acme, secret: "ours" })
    })
  })
}
