// Shared by the modes without a provider: converts a match to a verdict, and supplies a disabled key fetcher.
import type { Verdict } from "#core"
import type { KeyFetcher } from "../key-fetcher.ts"
import type { Match } from "../schemes/signed-request.ts"

export function verdictOf(match: Match | Promise<Match>): Verdict | Promise<Verdict> {
  return match instanceof Promise ? match.then((resolved) => ({ ok: true, ...resolved })) : { ok: true, ...match }
}

export const noFetcher: KeyFetcher = {
  get: async (url) => {
    throw new Error(`Fetching is disabled here; ${url} was requested.`)
  },
}
