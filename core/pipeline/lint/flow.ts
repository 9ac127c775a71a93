// Lints the flow between steps: existing and used handlers, replies in time and only once, unreserved channels.
import { didYouMean } from "../../kernel/guess.ts"
import type { Ordering } from "../compile/order.ts"
import type { Report } from "../compile/report.ts"
import type { Draft } from "../compile/steps.ts"
import { childPointer } from "../findings.ts"

const words = ["fail", "continue"]

export function lintHandlers(drafts: readonly Draft[], handlers: readonly Draft[], report: Report): void {
  const ids = handlers.map((handler) => handler.id)
  for (const draft of drafts) {
    const target = draft.common.on_error
    if (target === undefined || words.includes(target) || ids.includes(target)) continue
    const hint = didYouMean(target, [...words, ...ids])
    report.add("unknown-handler", childPointer(draft.pointer, "on_error"), `The handler "${target}" does not exist.${hint}`)
  }
  for (const handler of handlers) {
    if (!drafts.some((draft) => draft.common.on_error === handler.id)) {
      const message = `No step names "${handler.id}" in "on_error", so it never runs.`
      report.add("unused-handler", handler.pointer, message)
    }
    for (const field of ["needs", "on_error"] as const) {
      const value = handler.common[field]
      if (value === undefined || (field === "on_error" && words.includes(String(value)))) continue
      const message = field === "needs" ? "A handler runs when a step fails; it cannot have needs." : "A handler cannot have a handler."
      report.add("invalid-field", childPointer(handler.pointer, field), message)
    }
  }
}

export function lintResponds(
  drafts: readonly Draft[],
  handlers: readonly Draft[],
  { deferred, needs }: Pick<Ordering, "deferred" | "needs">,
  report: Report,
): void {
  const byId = new Map(drafts.map((draft) => [draft.id, draft]))
  const seen = new Set<string>()
  /** Returns the preceding step that is deferred by its own action, and so defers its dependents. */
  const deferredBefore = (id: string): string | undefined => {
    if (seen.has(id)) return undefined
    seen.add(id)
    const before = (needs.get(id) ?? []).filter((need) => deferred.has(need))
    return (
      before.find((need) => byId.get(need)?.action?.timing === "deferred") ??
      before.map(deferredBefore).find((found) => found !== undefined)
    )
  }
  const responds = drafts.filter((draft) => draft.action?.replies)
  for (const draft of [...responds, ...handlers.filter((handler) => handler.action?.replies)]) {
    if (!deferred.has(draft.id)) continue
    seen.clear()
    const first = deferredBefore(draft.id)
    const message =
      first === undefined
        ? `"${draft.id}" would run after the reply. It must not need, read or handle a deferred step.`
        : `"${draft.id}" comes after "${first}", which runs after the reply. Give "${first}" "await: true", or do not let "${draft.id}" need or read it.`
    report.add("deferred-respond", draft.pointer, message)
  }
  const always = responds.filter((draft) => draft.common.when === undefined)
  for (const draft of always.slice(1)) {
    report.add("multiple-responds", draft.pointer, `"${always[0]?.id}" answers every event already; give one of them a "when".`)
  }
}

export function lintChannels(drafts: readonly Draft[], reserved: readonly string[], report: Report): void {
  for (const draft of drafts) {
    const parsed = draft.config?.parsed
    if (!draft.action?.broadcastsTo || parsed === undefined) continue
    // The action already reported this itself, with its place.
    if (draft.action.lint?.(parsed).some(({ rule }) => rule === "reserved-channel")) continue
    for (const channel of draft.action.broadcastsTo(parsed)) {
      if (!reserved.some((name) => channel === name || (name.endsWith(":*") && channel.startsWith(name.slice(0, -1))))) continue
      report.add("reserved-channel", draft.pointer, `The channel "${channel}" belongs to the service; choose another name.`)
    }
  }
}
