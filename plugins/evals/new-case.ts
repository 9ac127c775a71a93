// A further case of a suite, whether it was written or made of something stored.
import { AppError, type Clock, type Ids, type Store, slugOf, slugTaken, timestamp, type UnitOfWork, uniqueSlug } from "#core"
import { CaseCollection, type StoredCase, type StoredSuite } from "./collections.ts"
import { maxCases } from "./suites.ts"

export interface NewCase extends Pick<StoredCase, "name" | "input" | "expectation" | "rubric" | "critical" | "source"> {
  /** Absent: made from the name. */
  readonly slug?: string | undefined
}

interface NewCaseDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
}

/** Stages the case. Throws `already_exists` for a taken slug, `failed_precondition` where the suite is full. */
export async function newCase(
  { store, clock, ids }: NewCaseDeps,
  work: UnitOfWork,
  organization: string,
  suite: StoredSuite,
  { slug, ...given }: NewCase,
): Promise<StoredCase> {
  const cases = store.open(CaseCollection, organization)
  const isTaken = async (one: string) => (await cases.first({ suite_id: suite.id, slug: one })) !== undefined
  if ((await cases.count({ suite_id: suite.id }, { limit: maxCases })) >= maxCases) {
    const message = `The suite "${suite.slug}" has ${maxCases} cases, the most that a suite may have; remove some, or make another suite.`
    throw new AppError("failed_precondition", message, { reason: "suite_full" })
  }
  if (slug !== undefined && (await isTaken(slug)))
    throw slugTaken(`The suite "${suite.slug}" has a case "${slug}" already; take another slug.`)
  const at = timestamp(clock.now())
  const made: StoredCase = {
    ...given,
    id: ids.uuid(),
    suite_id: suite.id,
    slug: slug ?? (await uniqueSlug(slugOf(given.name, "case"), isTaken)),
    revision: 1,
    created_at: at,
    updated_at: at,
  }
  work.in(CaseCollection, organization).insert(made)
  return made
}
