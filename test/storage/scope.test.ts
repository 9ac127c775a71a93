// Attempts to cross an organization's walls, and to bypass the checks of filters and updates.
import { existsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type CollectionSpec, defineCollection } from "../../core/contract/collection.ts"
import type { Filter, FindOptions, Update, Write } from "../../core/contract/store.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { AppError } from "../../core/kernel/errors.ts"
import { createSqliteDriver } from "../../core/storage/sqlite/driver.ts"
import { createStore } from "../../core/storage/store.ts"
import { refusalOf } from "../refusal.ts"
import { accounts, acme, type Note, notes, rival } from "./contract.ts"
import { type OpenedFile, openFile } from "./opened.ts"

// Calls refused by the types are tried like an untyped caller would.
type Loose = (spec: CollectionSpec, organization?: unknown) => ReturnType<OpenedFile["store"]["open"]>

describe("organization walls", () => {
  let opened: OpenedFile
  let drawn = 0
  before(async () => {
    opened = await openFile([notes, accounts])
    await commit({ kind: "insert", collection: notes, organization: rival, doc: { id: "theirs" } })
    await commit({ kind: "insert", collection: notes, organization: acme, doc: { id: "ours" } })
    await commit({ kind: "insert", collection: accounts, doc: { id: "account" } })
  })
  after(() => opened.close())

  const commit = (...writes: unknown[]) => opened.store.commit({ id: `commit-${++drawn}`, writes: writes as Write[] })
  const open: Loose = (spec, organization) => (opened.store.open as Loose)(spec, organization)
  const thrown = (run: () => unknown): AppError => {
    try {
      run()
    } catch (error) {
      if (error instanceof AppError) return error
      throw error
    }
    throw new Error("It should have been refused, and was not.")
  }
  const ours = { collection: notes, organization: acme, id: "ours" }

  it("reads nothing before the store was started", async () => {
    const file = join(tmpdir(), "millrace-never-started.db")
    const store = createStore({ driver: createSqliteDriver({ file }), collections: [notes], clock: systemClock })
    const error = await refusalOf(Promise.resolve().then(() => store.open(notes, acme).get("ours")))
    expect([error.code, error.details]).to.deep.equal(["unavailable", { reason: "not_started" }])
    expect(existsSync(file)).to.equal(false)
  })

  it("opens an organization's collection only with its id, and a global one only without", () => {
    for (const organization of [undefined, "", null, 5, {}, "a/b", "a\0b", "x".repeat(600)]) {
      expect(thrown(() => open(notes, organization)).code, String(organization)).to.equal("invalid_argument")
    }
    expect(thrown(() => open(accounts, acme)).code).to.equal("invalid_argument")
  })

  it("refuses a collection that is not declared, also one that only has the name of one that is", async () => {
    const stranger = defineCollection<Note>()({ name: "strangers", scope: "global", times: [], indexes: [] })
    const forged = defineCollection<Note>()({ ...notes, scope: "global" })
    for (const spec of [stranger, forged]) {
      expect(thrown(() => open(spec)).details.reason).to.equal("undeclared_collection")
      const error = await refusalOf(commit({ kind: "insert", collection: spec, doc: { id: "x" } }))
      expect(error.details.reason).to.equal("undeclared_collection")
    }
  })

  it("refuses writes without, with a needless or with another organization", async () => {
    const doc = { id: "new" }
    const writes = [
      { kind: "insert", collection: notes, doc },
      { kind: "insert", collection: accounts, organization: acme, doc },
      { kind: "insert", collection: notes, organization: acme, doc: { ...doc, organization_id: rival } },
      { kind: "insert", collection: notes, organization: acme, doc: { ...doc, organization_id: null } },
      { kind: "newest_wins", collection: notes, organization: acme, doc: { ...doc, organization_id: rival, values: {} }, position: "1" },
      { kind: "replace", collection: notes, organization: acme, doc },
    ]
    for (const write of writes) {
      const { code, details } = await refusalOf(commit({ kind: "insert", collection: accounts, doc: { id: "neighbour" } }, write))
      const carries = "organization_id" in write.doc
      expect([code, details.reason]).to.deep.equal(
        carries ? ["permission_denied", "wrong_organization"] : ["invalid_argument", "invalid_fields"],
      )
    }
    expect(await open(notes, acme).get("new")).to.equal(undefined)
    expect(await open(notes, rival).get("new")).to.equal(undefined)
    expect(await open(accounts).get("neighbour")).to.equal(undefined)
  })

  it("takes a document that carries the organization it is written for", async () => {
    await commit({ kind: "insert", collection: notes, organization: acme, doc: { id: "own", organization_id: acme } })
    expect(await open(notes, acme).get("own")).to.deep.equal({ id: "own", organization_id: acme })
  })

  const updates: [string, unknown][] = [
    ["moving it to another organization", { $set: { organization_id: rival } }],
    ["taking its organization away", { $unset: { organization_id: true } }],
    ["a field below the organization", { $set: { "organization_id.x": 1 } }],
    ["another id", { $set: { id: "theirs" } }],
    ["another id by $setOnInsert", { $setOnInsert: { id: "theirs" } }],
    ["a prototype", { $set: { "__proto__.polluted": 1 } }],
    ["a prototype on the way", { $set: { "a.__proto__": { polluted: 1 } } }],
    ["a prototype by its constructor", { $set: { "constructor.prototype.polluted": 1 } }],
    ["a prototype inside the value", { $set: { a: JSON.parse('{"__proto__":{"polluted":1}}') } }],
    ["an empty path", { $set: { "": 1 } }],
    ["an empty part", { $set: { "a..b": 1 } }],
    ["a path that ends in a dot", { $set: { "a.": 1 } }],
    ["NUL in a path", { $set: { "a\0b": 1 } }],
    ["an operator in a path", { $set: { "a.$[]": 1 } }],
    ["an unknown operator", { $rename: { a: "organization_id" } }],
    ["a field without an operator", { organization_id: rival }],
    ["a pipeline", [{ $set: { organization_id: rival } }]],
    ["no operator", {}],
    ["no value", { $set: { a: undefined } }],
    ["a value that is not JSON", { $set: { a: new Date() } }],
    ["not a number", { $set: { a: Number.NaN } }],
    ["$inc by text", { $inc: { a: "1" } }],
    ["two changes at one path", { $set: { a: 1 }, $inc: { a: 1 } }],
    ["a change inside another", { $set: { a: {} }, $push: { "a.b": 1 } }],
  ]
  for (const [what, update] of updates) {
    it(`refuses an update with ${what}`, async () => {
      expect((await refusalOf(commit({ kind: "update", ...ours, update: update as Update, upsert: true }))).code).to.equal(
        "invalid_argument",
      )
      expect(await open(notes, acme).get("ours")).to.deep.equal({ id: "ours", organization_id: acme })
      expect(await open(notes, rival).count({})).to.equal(1)
      expect(({} as Record<string, unknown>)["polluted"]).to.equal(undefined)
    })
  }

  const filters: [string, unknown][] = [
    ["an unknown operator", { a: { $regex: "x" } }],
    ["code", { $where: "true" }],
    ["$nor", { $nor: [{ a: 1 }] }],
    ["operators among fields", { a: { $gt: 1, b: 2 } }],
    ["nothing to compare with", { id: undefined }],
    ["nothing inside an operator", { id: { $eq: undefined } }],
    ["an empty $or", { $or: [] }],
    ["an $or that is not a list", { $or: { organization_id: rival } }],
    ["$in without a list", { a: { $in: "theirs" } }],
    ["a list in $gt", { a: { $gt: [1] } }],
    ["$exists of text", { a: { $exists: "yes" } }],
    ["$not without operators", { a: { $not: 1 } }],
    ["a prototype", { "__proto__.a": 1 }],
    ["an empty part", { "a..b": 1 }],
    ["NUL in a path", { "a\0": 1 }],
    ["quotation out of SQL", { $or: [{ "a') OR 1=1 --": { $func: 1 } }] }],
    ["a list in place of a filter", [{ id: "theirs" }]],
  ]
  for (const [what, filter] of filters) {
    it(`refuses a filter with ${what}`, async () => {
      const collection = open(notes, acme)
      for (const read of [collection.find(filter as Filter), collection.first(filter as Filter), collection.count(filter as Filter)]) {
        expect((await refusalOf(read)).code).to.equal("invalid_argument")
      }
      const conditional = { ...ours, where: filter as Filter }
      expect((await refusalOf(commit({ kind: "remove", ...conditional }))).code).to.equal("invalid_argument")
      expect(await collection.get("ours")).to.deep.equal({ id: "ours", organization_id: acme })
    })
  }

  it("treats odd field names as names", async () => {
    for (const path of ["a') OR 1=1 --", 'a"b', "a'b", "a\\b", "a;b", "$a".slice(1), "é", "constructor"]) {
      expect(await open(notes, acme).find({ [path]: "x" }, /["\\]/.test(path) ? {} : { sort: { [path]: 1 } }), path).to.deep.equal([])
      expect(await open(notes, acme).count({ [path]: null })).to.equal(2)
    }
  })

  const options: [string, unknown][] = [
    ["a limit of 0", { limit: 0 }],
    ["a limit without end", { limit: Number.POSITIVE_INFINITY }],
    ["a limit of text", { limit: "1" }],
    ["a sort of text", { sort: { a: "asc" } }],
    ["a sort by what SQL cannot name", { sort: { 'a"b': 1 } }],
    ["a sort by an operator", { sort: { $natural: 1 } }],
    ["too few values to follow", { sort: { a: 1 }, after: ["x"] }],
    ["an object to follow", { after: [{ $gt: "" }] }],
    ["a deadline in the past", { deadlineMs: -1 }],
  ]
  for (const [what, input] of options) {
    it(`refuses ${what}`, async () => {
      expect((await refusalOf(open(notes, acme).find({}, input as FindOptions))).code).to.equal("invalid_argument")
    })
  }

  it("refuses invalid ids", async () => {
    for (const id of ["", "a\0b", "x".repeat(600), 5, null, undefined, { $gt: "" }, "\ud800"]) {
      expect((await refusalOf(open(notes, acme).get(id as string))).code).to.equal("invalid_argument")
      expect((await refusalOf(commit({ kind: "insert", collection: accounts, doc: { id } }))).code).to.equal("invalid_argument")
      expect((await refusalOf(commit({ kind: "remove", collection: accounts, id, optional: true }))).code).to.equal("invalid_argument")
    }
    expect(await open(accounts).count({})).to.equal(1)
  })
})
