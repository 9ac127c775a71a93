// Fields that an update may set: all except the id and the organization of its document. The type of `$set` enforces this. The
// store refuses cases invisible to the types.
import { expect } from "chai"
import { type Changes, changesOf, type Document, type FieldsOf, type Json } from "#core"
import { checkUpdate } from "../../core/storage/update.ts"
import { readModules } from "../import-graph.ts"
import { refusalOf } from "../refusal.ts"

interface Note extends Document {
  readonly text: string
  readonly revision: number
}

const note: Note = { id: "n-1", organization_id: "acme", text: "Hello", revision: 1 }

describe("the changes of an update", () => {
  it("compile without an id and an organization alone", () => {
    // Each line accepted by `tsc` would fail the check of types.
    // @ts-expect-error: a document has an id.
    const whole: Changes = { ...note, revision: 2 }
    // @ts-expect-error: part of a document may have one.
    const part: Changes = note as Partial<Note>
    // @ts-expect-error: a cast does not hide it.
    const cast = changesOf({ ...note, revision: 2 })
    // @ts-expect-error: neither does the organization pass.
    const moved: FieldsOf<Note> = { organization_id: "rival", text: "", revision: 1 }
    // @ts-expect-error: MongoDB's own name of the id.
    const changes: Changes = { _id: "n-2" }
    const { id: _, organization_id: _organization, ...fields } = note
    const allowed: Changes[] = [{ ...fields, revision: 2 }, changesOf(fields), { "text.deep": [1] }]
    expect([whole, part, cast, moved, changes, ...allowed]).to.have.length(8)
  })

  it("are refused by the store where types were left aside", async () => {
    for (const name of ["id", "_id", "organization_id", "id.deep"]) {
      const set = { [name]: "x" } as Record<string, Json>
      const error = await refusalOf(Promise.resolve().then(() => checkUpdate("notes", { $set: set as Changes }, false)))
      expect([error.code, error.details.fields?.map(({ path }) => path)]).to.deep.equal(["invalid_argument", [name]])
    }
  })

  it("are never cast in the sources", () => {
    const matches = [...readModules(["core", "plugins", "templates"]).values()]
      .filter(({ path }) => !path.startsWith("core/storage/") && path !== "core/contract/store.ts")
      .filter(({ text }) => hidesChanges(text))
      .map(({ path }) => path)
    expect(matches).to.deep.equal([])
  })

  it("are found where they are cast", () => {
    for (const text of [
      "update(id, { $set: { ...stored } as never })",
      "const $set = { ...change, revision } as unknown as Record<string, Json>",
      "const $set: Record<string, Json> = { ...stored }",
      "update(id, { $set: set as Record<string, Json> })",
      "update(id, {\n  $setOnInsert: stored as any,\n})",
      "return { $set: fields as Changes }",
    ])
      expect(hidesChanges(text), text).to.equal(true)
    for (const text of [
      "update(id, { $set: changesOf(change) }, { where })",
      "update(id, { $set: { state, result: result as Json } })",
      "update(id, { $set: { secrets: secrets as never, revision } })",
      "const $set: Changes = { state }",
    ])
      expect(hidesChanges(text), text).to.equal(false)
  })
})

/** Returns true if a type or a cast hides the fields of a `$set`. Casts of a single value are allowed. */
function hidesChanges(text: string): boolean {
  const typed = /\$set(?:OnInsert)?: Record</
  const cast = /\$set(?:OnInsert)?(?::| =) (?:[^{}\n]|\{[^{}\n]*\})* as (?:unknown as )?(?:never|any|Changes|Record<)/
  return typed.test(text) || cast.test(text)
}
