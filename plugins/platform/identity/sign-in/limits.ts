// Limits of sign-in codes per hour, for an email address and for an IP address. The counts are stored documents and therefore
// exact on several nodes.
import { AppError, type Clock, type Document, defineCollection, derivedUuid, type Store, timestamp, type UnitOfWork } from "#core"
import { networkOf } from "#core/engine"

interface CodeCount extends Document {
  /** Times of the requests in the last hour, in milliseconds. */
  times: number[]
  revision: number
  expires_at: string
}

export const CodeCountsCollection = defineCollection<CodeCount>()({
  name: "sign_in_code_counts",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})

export interface CodeLimits {
  readonly perEmail: number
  readonly perAddress: number
}

const hourMs = 3_600_000

/** Stages one request. Throws `resource_exhausted` beyond a limit. A concurrent request makes the commit conflict. */
export async function countRequest(
  work: UnitOfWork,
  deps: CountDeps,
  limits: CodeLimits,
  { email, address }: { readonly email: string; readonly address: string },
): Promise<void> {
  await countCode(work, deps, { kind: "email", value: email, limit: limits.perEmail, what: "for this address" })
  await countCode(work, deps, { kind: "address", value: networkOf(address), limit: limits.perAddress, what: "from this IP address" })
}

interface CountDeps {
  readonly store: Store
  readonly clock: Clock
}

interface CodeLimit {
  readonly kind: "email" | "address" | "user"
  readonly value: string
  readonly limit: number
  /** For the error message. */
  readonly what: string
}

/** Stages one code of a mail address, a network or a user. Throws `resource_exhausted` beyond the limit. */
export async function countCode(work: UnitOfWork, { store, clock }: CountDeps, { kind, value, limit, what }: CodeLimit): Promise<void> {
  const now = clock.now()
  const id = derivedUuid("sign-in codes", kind, value)
  const count = await store.open(CodeCountsCollection).get(id)
  const times = count?.times.filter((time) => time > now - hourMs) ?? []
  if (times.length >= limit) throw limitError(limit, what, (times.at(-limit) ?? now) + hourMs - now)
  const fields = { times: [...times, now], expires_at: timestamp(now + hourMs) }
  const counts = work.in(CodeCountsCollection)
  if (count) counts.update(id, { $set: { ...fields, revision: count.revision + 1 } }, { where: { revision: count.revision } })
  else counts.insert({ id, ...fields, revision: 1 })
}

function limitError(limit: number, purpose: string, waitMs: number): AppError {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1_000))
  const wait = retryAfterS < 120 ? `${retryAfterS} s` : `${Math.ceil(retryAfterS / 60)} minutes`
  const message = `${limit} sign-in codes an hour are the limit ${purpose}; use the latest code, or try again in ${wait}.`
  return new AppError("resource_exhausted", message, { reason: "too_many_sign_in_codes", retry_after_s: retryAfterS }, { retryAfterS })
}
