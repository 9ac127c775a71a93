// The embedded file over time. A file of the first layout is converted at start, also after an interrupted start, and key columns
// follow the declaration.
import { rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import { expect } from "chai"
import { defineCollection } from "../../core/contract/collection.ts"
import type { Write } from "../../core/contract/store.ts"
import { refusalOf } from "../refusal.ts"
import type { Note } from "./contract.ts"
import { type OpenedFile, openFile } from "./opened.ts"

const people = defineCollection<Note>()({
  name: "people",
  scope: "organization",
  times: ["until"],
  indexes: [{ fields: ["email"], unique: true, sparse: true }, { fields: ["group", "-id"] }],
  expires: "until",
})
const acme = "0199aaaa-0000-7000-8000-000000000001"

/** In the first layout: organization and id as text, keys in expressions. */
function writeFirstLayout(file: string, count: number): void {
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA page_size=8192; PRAGMA journal_mode=WAL;
    CREATE TABLE _groups(n INTEGER PRIMARY KEY, results TEXT NOT NULL);
    CREATE TABLE "people"(n INTEGER PRIMARY KEY, org TEXT NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL, multi INTEGER);
    CREATE UNIQUE INDEX "people__id" ON "people"(org,id);
    CREATE INDEX "people__by_0123456789ab" ON "people"(org,ifnull(json_extract(data,'$."group"'),-9e999),id);
    CREATE INDEX "people__expires_0123456789ab" ON "people"(json_extract(data,'$."until"')) WHERE json_extract(data,'$."until"') IS NOT NULL;
    INSERT INTO _groups VALUES(1,'["commit-1","1"]')`)
  const insert = database.prepare("INSERT INTO people(org,id,data,multi) VALUES(?,?,?,?)")
  database.exec("BEGIN")
  for (let index = 0; index < count; index++) {
    const doc = documentAt(index)
    insert.run(index % 3 === 0 ? "globex" : acme, String(doc.id), JSON.stringify(doc), Array.isArray(doc["group"]) ? 1 : null)
  }
  database.exec("COMMIT")
  database.close()
}

function documentAt(index: number): Note {
  const id = index % 2 === 0 ? `0199aaaa-0000-7000-8000-${String(index).padStart(12, "0")}` : `row-${String(index).padStart(6, "0")}`
  const organization_id = index % 3 === 0 ? "globex" : acme
  const group = index % 5 === 0 ? ["a", "b"] : index % 5 === 1 ? null : "a"
  return { id, organization_id, group, index, ...(index % 4 === 0 ? { email: `p${index}@acme.test` } : {}) }
}

function personAt(index: number): Note {
  const until = `2099-01-01T00:00:${String(index).padStart(2, "0")}.000Z`
  const id = `0199aaaa-0000-7000-8000-${String(index).padStart(12, "0")}`
  return { id, organization_id: acme, group: `g${index % 3}`, index, until, ...(index % 4 === 0 ? { email: `p${index}@acme.test` } : {}) }
}

async function insertPeople(store: OpenedFile["store"], count: number): Promise<void> {
  const writes = Array.from(
    { length: count },
    (_, index): Write => ({ kind: "insert", collection: people, organization: acme, doc: personAt(index) }),
  )
  await store.commit({ id: "people", writes })
}

const idsOf = (documents: readonly Note[]) => documents.map((doc) => doc.id)

describe("storage: sqlite layout", () => {
  let opened: OpenedFile
  afterEach(() => opened.close())

  /** Returns a new path without a file. */
  async function freshFile(): Promise<string> {
    opened = await openFile([])
    await opened.store.stop()
    for (const end of ["", "-wal", "-shm"]) rmSync(opened.file + end, { force: true })
    return opened.file
  }

  async function expectConverted(file: string, count: number): Promise<void> {
    const again = await openFile([people], { file })
    try {
      const expected = Array.from({ length: count }, (_, index) => documentAt(index)).filter((doc) => doc.organization_id === acme)
      const sorted = [...expected].sort((a, b) => (a.id < b.id ? -1 : 1))
      const ours = again.store.open(people, acme)
      expect(await ours.find({}, { limit: 10_000 })).to.deep.equal(sorted)
      expect(idsOf(await ours.find({ group: "b" }, { limit: 10_000 }))).to.deep.equal(
        idsOf(sorted.filter((doc) => Array.isArray(doc["group"]))),
      )
      expect(await ours.count({ group: null })).to.equal(expected.filter((doc) => doc["group"] === null).length)
      expect(await again.store.open(people, "globex").count({})).to.equal(count - expected.length)
      const sample = expected.find((doc) => doc["email"] !== undefined)
      const write: Write = {
        kind: "insert",
        collection: people,
        organization: acme,
        doc: { ...documentAt(-1), id: "new", organization_id: acme, ...(sample ? { email: sample["email"] } : {}) } as Note,
      }
      const error = await refusalOf(again.store.commit({ id: "new", writes: [write] }))
      expect(error.details.fields?.map((field) => field.path)).to.deep.equal(["email"])
      // An earlier commit is still known.
      const repeated = await again.store.commit({ id: "commit-1", writes: [{ ...write, doc: { id: "never" } }] })
      expect(repeated.created).to.deep.equal([true])
      expect(await ours.get("never")).to.equal(undefined)
    } finally {
      await again.close()
    }
  }

  it("converts a file of the first layout and keeps every document, its order, its uniqueness and the memory of commits", async () => {
    const file = await freshFile()
    writeFirstLayout(file, 3_000)
    await expectConverted(file, 3_000)
    const database = new DatabaseSync(file, { readOnly: true })
    const names = database
      .prepare("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name")
      .all()
      .map((row) => row["name"])
    expect(names).to.deep.equal(["_groups", "_organizations", "_phrases", "_probe", "people"])
    expect(
      database
        .prepare("SELECT DISTINCT typeof(org) AS org FROM people")
        .all()
        .map((row) => row["org"]),
    ).to.deep.equal(["integer"])
    database.close()
    await expectConverted(file, 3_000)
  })

  it("goes on with a conversion that was cut short", async () => {
    const file = await freshFile()
    writeFirstLayout(file, 500)
    const first = await openFile([people], { file })
    await first.store.stop()
    // The state after a process was killed between two steps: the last documents are still unconverted.
    const database = new DatabaseSync(file)
    database.exec(
      'CREATE TABLE "people of the first layout"(n INTEGER PRIMARY KEY, org TEXT NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL, multi INTEGER)',
    )
    const insert = database.prepare('INSERT INTO "people of the first layout"(n,org,id,data) VALUES(?,?,?,?)')
    for (let index = 500; index < 700; index++) {
      const doc = documentAt(index)
      insert.run(index + 1, String(doc.organization_id), doc.id, JSON.stringify(doc))
    }
    database.close()
    await first.close()
    await expectConverted(file, 700)
  })

  it("fills key columns that are declared again", async () => {
    opened = await openFile([people])
    const { file } = opened
    const insert = (store: OpenedFile["store"], id: string) =>
      store.commit({
        id: `c-${id}`,
        writes: [
          {
            kind: "insert",
            collection: opened.store === store ? people : bare,
            organization: acme,
            doc: { id, group: "a", email: `${id}@acme.test` } as Note,
          },
        ],
      })
    const bare = defineCollection<Note>()({ ...people, indexes: [] })
    await insert(opened.store, "a")
    await opened.store.stop()
    const without = await openFile([bare], { file })
    await insert(without.store, "b")
    await without.store.stop()
    const again = await openFile([people], { file })
    expect(idsOf(await again.store.open(people, acme).find({ group: "a" }))).to.deep.equal(["a", "b"])
    const writes: Write[] = [{ kind: "insert", collection: people, organization: acme, doc: { id: "c", email: "b@acme.test" } as Note }]
    expect((await refusalOf(again.store.commit({ id: "c-c", writes }))).code).to.equal("already_exists")
    await again.close()
    await without.close()
  })

  it("reads texts that repeat what columns have, as earlier versions wrote them, and changes them", async () => {
    opened = await openFile([people])
    const { file } = opened
    await insertPeople(opened.store, 12)
    await opened.store.stop()
    const database = new DatabaseSync(file)
    for (let index = 0; index < 12; index += 2)
      database.prepare("UPDATE people SET data=? WHERE n=?").run(JSON.stringify(personAt(index)), index + 1)
    database.exec("PRAGMA user_version=2")
    database.close()
    const again = await openFile([people], { file })
    try {
      const ours = again.store.open(people, acme)
      const all = Array.from({ length: 12 }, (_, index) => personAt(index))
      expect(await ours.find({})).to.deep.equal(all)
      for (const by of ["until", "organization_id"]) {
        const first = await ours.find({}, { sort: { [by]: 1 }, limit: 5 })
        expect(first, by).to.deep.equal(all.slice(0, 5))
        const filter = { [by]: first.at(-1)?.[by] as string, id: { $gt: String(first.at(-1)?.id) } }
        expect(await ours.count(filter), by).to.equal(by === "until" ? 0 : 7)
      }
      expect(idsOf(await ours.find({ $or: [{ group: "g1" }, { email: "p4@acme.test" }] }))).to.deep.equal(
        idsOf(all.filter((doc) => doc["group"] === "g1" || doc["email"] === "p4@acme.test")),
      )
      const update = (id: string): Write => ({
        kind: "update",
        collection: people,
        organization: acme,
        id,
        update: { $set: { group: "moved" } },
      })
      await again.store.commit({ id: "move", writes: [update(String(all[4]?.id)), update(String(all[5]?.id))] })
      expect(await ours.find({ group: "moved" })).to.deep.equal(all.slice(4, 6).map((doc) => ({ ...doc, group: "moved" })))
    } finally {
      await again.close()
    }
  })

  it("keeps every value of a document whose index is no longer declared, and a damaged one as it is", async () => {
    opened = await openFile([people])
    const { file } = opened
    await insertPeople(opened.store, 6)
    await opened.store.stop()
    const database = new DatabaseSync(file)
    const damaged = '{"index":'
    database.prepare("UPDATE people SET data=? WHERE n=6").run(damaged)
    database.close()
    const bare = defineCollection<Note>()({ name: "people", scope: "organization", times: [], indexes: [] })
    for (const spec of [bare, people]) {
      const again = await openFile([spec], { file })
      try {
        const ours = again.store.open(spec, acme)
        expect(await ours.find({ group: { $exists: true }, index: { $lt: 5 } })).to.deep.equal(
          Array.from({ length: 5 }, (_, index) => personAt(index)),
        )
        expect((await refusalOf(ours.get(String(personAt(5).id)))).code).to.equal("data_loss")
      } finally {
        await again.close()
      }
    }
    const read = new DatabaseSync(file, { readOnly: true })
    expect(read.prepare('SELECT data,"$group" AS kept FROM people WHERE n=6').get()).to.include({ data: damaged })
    expect(String(read.prepare("SELECT data FROM people WHERE n=1").get()?.["data"])).to.not.include(acme)
    read.close()
  })

  it("keeps a character in place of each phrase, and what it stands for when others are declared", async () => {
    const declared = ['{"subject":"', '","text":"', '","rank":']
    const letters = (phrases: readonly string[]) => defineCollection<Note>()({ ...people, name: "letters", indexes: [], phrases })
    const many = Array.from({ length: 40 }, (_, at) => `"field${at}":`)
    const texts = ['","text":"', "\u0001\u0002\u0003\t", '\\","rank":', "plain"]
    opened = await openFile([letters(declared)])
    const { file } = opened
    await opened.store.stop()
    for (const [round, phrases] of [declared, declared.toReversed(), ['","rank":', ...many], []].entries()) {
      const spec = letters(phrases)
      const again = await openFile([spec], { file })
      try {
        const docs = texts.map((text, at) => ({
          id: `${round}-${at}`,
          subject: "s",
          text,
          rank: 10 * round + at,
          field39: { field0: true },
        }))
        const writes = docs.map((doc): Write => ({ kind: "insert", collection: spec, organization: acme, doc: doc as unknown as Note }))
        await again.store.commit({ id: `letters-${round}`, writes })
        const notes = await again.store.open(spec, acme).find({ text: { $in: texts } }, { sort: { rank: -1 }, limit: 100 })
        expect(notes).to.have.length((round + 1) * texts.length)
        expect(notes.slice(0, texts.length)).to.deep.equal(docs.toReversed().map((doc) => ({ ...doc, organization_id: acme })))
        expect(notes.at(-1)).to.deep.include({ id: "0-0", text: texts[0], rank: 0 })
        const update: Write = { kind: "update", collection: spec, organization: acme, id: "0-3", update: { $inc: { rank: 0 } } }
        await again.store.commit({ id: `change-${round}`, writes: [update] })
        expect(await again.store.open(spec, acme).get("0-3")).to.deep.include({ subject: "s", text: "plain", rank: 3 })
      } finally {
        await again.close()
      }
    }
    const database = new DatabaseSync(file, { readOnly: true })
    const dataOf = (n: number) => String(database.prepare("SELECT data FROM letters WHERE n=?").get(n)?.["data"])
    expect(dataOf(2))
      .to.match(/^\p{Cc}s\p{Cc}/u)
      .and.not.include("subject")
    expect(dataOf(14), "none is declared").to.include('{"subject":"s","text":"')
    expect(database.prepare("SELECT count(*) AS n, max(code) AS last FROM _phrases WHERE code NOT IN (9,10,13)").get()).to.deep.include({
      n: 28,
      last: 31,
    })
    database.close()
  })

  it("refuses a file of a later layout", async () => {
    const file = await freshFile()
    const database = new DatabaseSync(file)
    database.exec("PRAGMA user_version=4")
    database.close()
    let message = ""
    await openFile([people], { file }).catch((error: unknown) => {
      message = String(error)
    })
    expect(message).to.include(file).and.include("layout 4").and.include("newer version")
  })

  it("merges into a collection that has something else unique, again and again", async () => {
    const spec = defineCollection<Note>()({
      name: "members",
      scope: "organization",
      times: [],
      indexes: [{ fields: ["values.email"], unique: true }],
    })
    opened = await openFile([spec])
    const merge = (commit: string, id: string, position: string) => {
      const doc = { id, values: { email: "a@acme.test", n: position }, created_at: position, updated_at: position }
      return opened.store.commit({ id: commit, writes: [{ kind: "newest_wins", collection: spec, organization: acme, doc, position }] })
    }
    expect((await merge("1", "x", "1")).created).to.deep.equal([true])
    expect((await merge("2", "x", "2")).created).to.deep.equal([false])
    expect((await refusalOf(merge("3", "y", "3"))).details.fields?.map((field) => field.path)).to.deep.equal(["values.email"])
    expect(await opened.store.open(spec, acme).find({ "values.email": "a@acme.test" })).to.have.length(1)
    expect((await opened.store.open(spec, acme).get("x"))?.["values"]).to.deep.equal({ email: "a@acme.test", n: "2" })
  })
})
