// The wall between organizations, for actions of plugins with global or separate documents.
import { expect } from "chai"
import { z } from "zod"
import { type Document, defineAction, defineCollection, definePlugin, Store, template, type UnitOfWork } from "#core"
import { tried } from "./contract-bench.ts"

interface Note extends Document {
  text: string
}

const Shared = defineCollection<Note>()({ name: "sample_shared", scope: "global", times: [], indexes: [] })
const Own = defineCollection<Note>()({ name: "sample_own", scope: "organization", times: [], indexes: [] })

interface Run {
  readonly note: string
  readonly text: string
  readonly organization: string
  readonly store: Store
  readonly work: UnitOfWork
}

/** Returns the contract's findings for an action with a note's name and text as input. */
async function saidOf(run: (args: Run) => Promise<string> | string) {
  const action = defineAction({
    type: "sample.note",
    summary: "Note.",
    timing: "deferred",
    config: z.strictObject({ note: template(z.string()), text: template(z.string()) }),
    result: z.object({ found: z.string() }),
    examples: [{ title: "Note", yaml: 'type: sample.note\nnote: "{{ event.note }}"\ntext: "{{ event.message }}"' }],
    inject: { store: Store },
    run: async ({ config, context, deps: { store }, work }) => ({
      found: await run({ ...config, organization: context.organization.id, store, work }),
    }),
  })
  const plugin = definePlugin({
    id: "sample",
    config: z.strictObject({}),
    register: (registrar) => {
      registrar.collections(Shared, Own)
      registrar.actions(action)
    },
  })
  return Object.values((await tried(plugin, /another organization/, { event: { note: "note-7" } })).failed).join()
}

describe("the contract of action types, of the wall between organizations", () => {
  it("points what an event names at what the other keeps for all organizations, and knows its words again", async () => {
    const reading = await saidOf(async ({ note, text, store, work }) => {
      work.in(Shared).insert({ id: crypto.randomUUID(), text })
      return (await store.open(Shared).get(note))?.text ?? ""
    })
    expect(reading).to.match(/An organization gets at another's: "canary-\w+" shows/)
    const writing = await saidOf(({ note, text, work }) => {
      work.in(Shared).update(note, { $set: { text } }, { upsert: true })
      return ""
    })
    expect(writing).to.include("An organization changes another's sample_shared")
  })

  it("lets each organization have a document of the same id", async () => {
    const message = await saidOf(({ text, organization, work }) => {
      work.in(Own, organization).update("main", { $set: { text } }, { upsert: true })
      return "main"
    })
    expect(message).to.equal("")
  })
})
