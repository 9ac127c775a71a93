// Blocks writes and messages with data about erased people: replays, late steps and imports.
import { AppError, type Json } from "#core"
import { normalEmail, normalPhone } from "../leads/index.ts"
import { TombstoneCollection, tombstoneId } from "./collections.ts"
import type { LedgerDeps } from "./ledger.ts"
import type { Person } from "./person.ts"

interface GuardDeps extends Pick<LedgerDeps, "store" | "keys"> {
  readonly leads: { region(organization: string): Promise<string> }
}

/** Tombstones in one read. */
const maxRead = 1_000
const maxDepth = 8

/** Throws `person_erased` if the data names a person erased after its receipt. Without a time, every erasure counts. */
export function erasedDataGuard({ store, keys, leads }: GuardDeps) {
  return async (organization: string, data: readonly Json[], receivedAt: string | undefined): Promise<void> => {
    const tombstones = store.open(TombstoneCollection, organization)
    const since = receivedAt === undefined ? {} : { erased_at: { $gte: receivedAt } }
    if (!(await tombstones.first(since))) return
    const region = await leads.region(organization)
    const people = new Map(data.flatMap((part) => [...peopleIn(part, region)]).map((person) => [`${person.kind} ${person.value}`, person]))
    const ids = await Promise.all([...people.values()].map(async (person) => tombstoneId(await keys.digestOf(organization, person))))
    for (let at = 0; at < ids.length; at += maxRead) {
      const tombstone = await tombstones.first({ id: { $in: ids.slice(at, at + maxRead) }, ...since })
      if (tombstone) throw erased(tombstone.erased_at)
    }
  }
}

function erased(at: string): AppError {
  const message = `The data is about a person who was erased at ${at}. If the person gave consent since, record it with after_erasure.`
  return new AppError("failed_precondition", message, { reason: "person_erased", retryable: false })
}

/** Yields each value in the data with the form of a mail address or phone number. */
function* peopleIn(value: Json, region: string, depth = 0): Generator<Person> {
  if (typeof value === "object" && value !== null) {
    if (depth < maxDepth) for (const part of Object.values(value)) yield* peopleIn(part as Json, region, depth + 1)
    return
  }
  if (typeof value !== "string" && typeof value !== "number") return
  const text = String(value)
  const email = text.includes("@") ? normalEmail(text) : undefined
  if (email !== undefined) yield { kind: "email", value: email }
  const phone = /^[+(]?\p{Nd}[\p{Nd}\s()./-]{5,}$/u.test(text) ? normalPhone(text, region) : undefined
  if (phone !== undefined) yield { kind: "phone", value: phone }
}
