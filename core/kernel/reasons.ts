// The registry of reasons: every stable word in `details.reason` of an error. Programs switch on these words, so each word has
// one meaning and one code. A plugin registers its words in the `reasons` of its `definePlugin` and extends `MillraceReasons`, as
// core does here.
import { callReasons } from "./reasons/call.ts"
import type { ReasonSpecs, ReasonsOf } from "./reasons/define.ts"
import { eventReasons } from "./reasons/event.ts"
import { liveReasons } from "./reasons/live.ts"
import { otherReasons } from "./reasons/other.ts"
import { storageReasons } from "./reasons/storage.ts"

/** The reasons of core, grouped for the reference. */
export const coreReasonGroups = {
  "Calls and requests": callReasons,
  "Live connections": liveReasons,
  "Events and pipelines": eventReasons,
  Storage: storageReasons,
  "Clients, the command and jobs": otherReasons,
}

/** The reasons of core. */
export const coreReasons = { ...callReasons, ...liveReasons, ...eventReasons, ...storageReasons, ...otherReasons }

declare global {
  /** Every declared reason, with its code and details. */
  interface MillraceReasons extends ReasonsOf<typeof coreReasons> {}
}

/** A declared reason of core or a plugin. */
export type Reason = keyof MillraceReasons & string

/** Returns a problem for each word registered twice, since its meaning would be ambiguous. */
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
