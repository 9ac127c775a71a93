// The whole service with data in every area (in the first tier, in some), created by the operations' own examples. A second
// organization has the same data.
import type { AnyOperation } from "../../../core/contract/operation.ts"
import { isFast, thirdOf } from "../../tier.ts"
import { ofPersons } from "./account.ts"
import { openParityFixture, type ParityFixture } from "./fixture.ts"
import type { ExistingIds } from "./inputs.ts"
import { exampleOf, type Member, members } from "./members.ts"

export interface ParityBench extends ParityFixture {
  readonly home: Member
  readonly foreign: Member
  /** Has no data. */
  readonly stranger: Member
  /** Slugs and ids of the organizations' documents, as found in answers. */
  readonly own: ExistingIds
  readonly foreigns: ExistingIds
}

export async function openParityBench(): Promise<ParityBench> {
  const fixture = await openParityFixture()
  try {
    const [home, foreign, stranger] = (await members(fixture, ["home-house", "foreign-house", "stranger"])) as [Member, Member, Member]
    const all = [...fixture.operations.values()]
    const operations = isFast ? thirdOf(thirdOf(all)) : all
    const [own, foreigns] = [await furnished(fixture, home, operations), await furnished(fixture, foreign, operations)]
    return { ...fixture, home, foreign, stranger, own, foreigns }
  } catch (error) {
    await fixture.host.stop()
    throw error
  }
}

/** Applies a pipeline of another example with another auth mode. */
const failing = "event_pipelines.apply"
/** Disables that pipeline, the target of other examples' events. */
const last = "event_pipelines.update"

/** Operations for a second owner: the walks keep their own. */
const ofTwoOwners: ReadonlySet<string> = new Set(["members.leave", "members.remove", "ownership.accept"])

/** Calls each operation with its first example. Throws if another operation than the expected one fails. */
async function furnished(fixture: ParityFixture, member: Member, called: readonly AnyOperation[]): Promise<ExistingIds> {
  const texts: string[] = []
  const answers = new Map<string, unknown>()
  const failed = new Map<string, string>()
  const operations = called
    .filter(({ name }) => !ofTwoOwners.has(name) && !ofPersons.test(name))
    .toSorted((a, b) => Number(a.name === last) - Number(b.name === last))
  for (const operation of operations) {
    const tried = (again: boolean) => exampleOf(fixture, member, operation, { answers, again }).catch((error: Error) => error.message)
    let outcome = await tried(false)
    // Its preparation belonged to an earlier operation and may have been undone by it.
    if (typeof outcome === "string" || outcome.code !== undefined) outcome = await tried(true)
    if (typeof outcome === "string" || outcome.code !== undefined) {
      failed.set(operation.name, typeof outcome === "string" ? outcome : outcome.text)
    } else {
      answers.set(JSON.stringify(operation.name), outcome.body)
      texts.push(outcome.text)
    }
  }
  failed.delete(failing)
  if (failed.size > 0) throw new Error(`Examples failed: ${JSON.stringify(Object.fromEntries(failed))}`)
  const matchesOf = (pattern: RegExp) => [...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, value]) => value ?? "")))]
  return { slugs: matchesOf(/"(?:\w+_)?slug":"([^"]+)"/g), ids: matchesOf(/"(?:\w+_)?id":"([0-9a-f-]{36})"/g) }
}
