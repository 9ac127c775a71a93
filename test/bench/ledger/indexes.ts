// Cost of a journal entry and of a row in the writing thread, adding one index after another.
import { readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { CollectionSpec } from "../../../core/contract/collection.ts"
import type { Commit } from "../../../core/contract/store.ts"
import { systemClock } from "../../../core/kernel/clock.ts"
import { EntryCollection } from "../../../core/pipeline/journal/collections.ts"
import { createSqliteDriver } from "../../../core/storage/sqlite/driver.ts"
import { createStore, type StartedStore } from "../../../core/storage/store.ts"
import { RowsCollection } from "../../../plugins/data/datasets/collections.ts"
import { benchFolder } from "../machine.ts"
import { eventOf } from "../storage/event-commit.ts"

interface Variant {
  readonly name: string
  /** The variant with one index less; absent for the first. */
  readonly base?: string
  readonly spec: CollectionSpec
}

const connections = 64
const commits = 6_400
const runs = 5

function variants(): Variant[] {
  return [...variantsOf("entry", EntryCollection), ...variantsOf("row", RowsCollection)]
}

/** Variants without an index, with one more each time, and with the expiry, if any. */
function variantsOf(document: string, spec: CollectionSpec): Variant[] {
  const { expires, ...lasting } = spec
  const all: Variant[] = [{ name: document, spec: { ...lasting, indexes: [] } }]
  const add = (what: string, more: CollectionSpec) => all.push({ name: `${document} by ${what}`, base: all.at(-1)?.name ?? "", spec: more })
  for (const [at, { fields, sparse, only }] of spec.indexes.entries())
    add(`${fields.join(", ")}${sparse ? ", where it has one" : ""}${only ? `, of ${Object.values(only).join(" ")} alone` : ""}`, {
      ...lasting,
      indexes: spec.indexes.slice(0, at + 1),
    })
  if (expires !== undefined) add("expiry", spec)
  return all
}

export interface IndexCost extends Omit<Variant, "spec"> {
  /** CPU microseconds of the writing thread per document, one figure per run. */
  readonly us: number[]
}

export async function indexCosts(): Promise<IndexCost[]> {
  const folder = benchFolder()
  const all: (IndexCost & { store: StartedStore; spec: CollectionSpec })[] = []
  try {
    for (const [number, { spec, ...variant }] of variants().entries()) {
      const driver = createSqliteDriver({ file: join(folder, `${number}.db`) })
      const store = createStore({ driver, collections: [spec], clock: systemClock })
      await store.start()
      all.push({ ...variant, spec, store, us: [] })
    }
    for (let run = 0; run <= runs; run++) {
      for (const { store, spec, us } of run % 2 === 0 ? all : all.toReversed()) {
        const before = writerUs()
        await commitAll(store, spec)
        // The first run is warm-up.
        if (run > 0) us.push((writerUs() - before) / commits)
      }
    }
    return all
  } finally {
    await Promise.all(all.map(({ store }) => store.stop()))
    rmSync(folder, { recursive: true, force: true })
  }
}

async function commitAll(store: StartedStore, spec: CollectionSpec): Promise<void> {
  for (let count = 0; count < commits; count += connections) {
    await Promise.all(Array.from({ length: connections }, () => store.commit(oneOf(spec))))
  }
}

/** Returns an event's write to the collection. */
function oneOf(spec: CollectionSpec): Commit {
  const { id, writes } = eventOf()
  return { id, writes: writes.flatMap((write) => (write.collection.name === spec.name ? [{ ...write, collection: spec }] : [])) }
}

/** Sums all writing threads; only one of them is active. */
function writerUs(): number {
  let microseconds = 0
  for (const thread of readdirSync("/proc/self/task")) {
    const folder = `/proc/self/task/${thread}`
    if (readFileSync(`${folder}/comm`, "utf8").trim() === "millrace-writer")
      microseconds += Number(readFileSync(`${folder}/schedstat`, "utf8").split(" ")[0]) / 1_000
  }
  return microseconds
}
