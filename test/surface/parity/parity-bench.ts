// The whole service with something of everything in it, made by the operations' own examples, and a second organization
// with the same.
import { type Ground, openGround } from "./ground.ts"
import type { Known } from "./inputs.ts"
import { exampleOf, type Member, members } from "./members.ts"

export interface ParityBench extends Ground {
  readonly home: Member
  readonly foreign: Member
  /** Has nothing. */
  readonly stranger: Member
  /** Slugs and ids of what the organizations hold, as far as they were found in answers. */
  readonly own: Known
  readonly foreigns: Known
}

export async function openParityBench(): Promise<ParityBench> {
  const ground = await openGround()
  try {
    const [home, foreign, stranger] = (await members(ground, ["home-house", "foreign-house", "stranger"])) as [Member, Member, Member]
    const [own, foreigns] = [await furnished(ground, home), await furnished(ground, foreign)]
    return { ...ground, home, foreign, stranger, own, foreigns }
  } catch (error) {
    await ground.host.stop()
    throw error
  }
}

/** Calls every operation as its first example does; what is there already, or gone again, is passed over. */
async function furnished(ground: Ground, member: Member): Promise<Known> {
  const texts: string[] = []
  for (const operation of ground.operations.values()) {
    const outcome = await exampleOf(ground, member, operation).catch(() => undefined)
    if (outcome?.code === undefined) texts.push(outcome?.text ?? "")
  }
  const found = (pattern: RegExp) => [...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, value]) => value ?? "")))]
  return { slugs: found(/"(?:\w+_)?slug":"([^"]+)"/g), ids: found(/"(?:\w+_)?id":"([0-9a-f-]{36})"/g) }
}
