// The whole service with something of everything in it, made by the operations' own examples, and a second organization
// with the same.
import { openParityFixture, type ParityFixture } from "./fixture.ts"
import type { Known } from "./inputs.ts"
import { exampleOf, type Member, members } from "./members.ts"

export interface ParityBench extends ParityFixture {
  readonly home: Member
  readonly foreign: Member
  /** Has nothing. */
  readonly stranger: Member
  /** Slugs and ids of what the organizations hold, as far as they were found in answers. */
  readonly own: Known
  readonly foreigns: Known
}

export async function openParityBench(): Promise<ParityBench> {
  const fixture = await openParityFixture()
  try {
    const [home, foreign, stranger] = (await members(fixture, ["home-house", "foreign-house", "stranger"])) as [Member, Member, Member]
    const [own, foreigns] = [await furnished(fixture, home), await furnished(fixture, foreign)]
    return { ...fixture, home, foreign, stranger, own, foreigns }
  } catch (error) {
    await fixture.host.stop()
    throw error
  }
}

/** Calls every operation as its first example does; what is there already, or gone again, is passed over. */
async function furnished(fixture: ParityFixture, member: Member): Promise<Known> {
  const texts: string[] = []
  for (const operation of fixture.operations.values()) {
    const outcome = await exampleOf(fixture, member, operation).catch(() => undefined)
    if (outcome?.code === undefined) texts.push(outcome?.text ?? "")
  }
  const found = (pattern: RegExp) => [...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, value]) => value ?? "")))]
  return { slugs: found(/"(?:\w+_)?slug":"([^"]+)"/g), ids: found(/"(?:\w+_)?id":"([0-9a-f-]{36})"/g) }
}
