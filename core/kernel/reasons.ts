// The registry of reasons: every stable word that `details.reason` of an error can hold. Programs switch on these words,
// so a word means one thing, and has one code, wherever it is thrown. A plugin registers its own in the `reasons` of its
// `definePlugin`, and makes them known to AppError by extending `MillraceReasons`, as core does here.
import { callReasons } from "./reasons/call.ts"
import type { ReasonSpecs, ReasonsOf } from "./reasons/define.ts"
import { eventReasons } from "./reasons/event.ts"
import { liveReasons } from "./reasons/live.ts"
import { otherReasons } from "./reasons/other.ts"
import { storageReasons } from "./reasons/storage.ts"

/** What core itself throws, as the reference groups it. */
export const coreReasonGroups = {
  "Calls and requests": callReasons,
  "Live connections": liveReasons,
  "Events and pipelines": eventReasons,
  Storage: storageReasons,
  "Clients, the command and jobs": otherReasons,
}

/** What core itself throws. */
export const coreReasons = { ...callReasons, ...liveReasons, ...eventReasons, ...storageReasons, ...otherReasons }

declare global {
  /** Every reason that is declared, with its code and its details. */
  interface MillraceReasons extends ReasonsOf<typeof coreReasons> {}
}

/** A word that core or a plugin declares. */
export type Reason = keyof MillraceReasons & string

/** One problem for each word that is registered twice: it would mean two things. */
export function reasonConflicts(plugins: readonly { readonly id: string; readonly reasons?: ReasonSpecs }[]): string[] {
  const owners = new Map<string, string>(Object.keys(coreReasons).map((reason) => [reason, "core"]))
  const problems: string[] = []
  for (const { id, reasons = {} } of plugins) {
    for (const reason of Object.keys(reasons)) {
      const owner = owners.get(reason)
      if (owner === undefined) owners.set(reason, id)
      else problems.push(`The reason "${reason}" of the plugin "${id}" is registered by ${owner} already; choose another word.`)
    }
  }
  return problems
}
