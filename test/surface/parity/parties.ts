// Equal organizations, one per surface. The same calls keep them equal, so answers of different surfaces can be compared.
import type { AnyOperation, OperationExample } from "../../../core/contract/operation.ts"
import type { ParityFixture } from "./fixture.ts"
import { type Answers, giving, type Member, members, ownedClients } from "./members.ts"
import { Sameness } from "./sameness.ts"
import type { SurfaceName } from "./surfaces.ts"

export interface Party extends Member {
  readonly surface: SurfaceName
  /** Answers of the example's preparatory calls. */
  readonly given: Answers
  /** Compares the first party's answers with this party's. */
  readonly sameness: Sameness
}

let count = 0

export async function partiesAlike(
  fixture: ParityFixture,
  operation: AnyOperation,
  example: OperationExample | undefined,
  over: readonly SurfaceName[],
): Promise<readonly Party[]> {
  const number = ++count
  const alike = await members(
    fixture,
    over.map((surface) => `over-${surface}-${number}`),
    operation,
  )
  const answers = await Promise.all(alike.map((member) => giving(fixture, member, example?.given)))
  return alike.map((member, index) => {
    const names = (["id", "slug"] as const).map((name) => [alike[0]?.organization[name] ?? "", member.organization[name]] as const)
    const clients = ownedClients.map(
      (client) => [`${alike[0]?.organization.slug}-${client}`, `${member.organization.slug}-${client}`] as const,
    )
    const sameness = new Sameness([...names, ...clients])
    const difference = sameness.difference(answers[0], answers[index])
    if (difference) throw new Error(`The same given calls were answered differently: ${difference}`)
    return { ...member, surface: over[index] ?? "rest", given: answers[index] ?? {}, sameness }
  })
}
