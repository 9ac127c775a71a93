// A replay plan in the console, and its live updates.
import { useEffect, useRef } from "preact/hooks"
import { formatNumber, formatTime, type Output, type Tone, useLive, visible } from "#console"

export type Group = Plan["groups"][number]

export type Plan = Output<"replay_plans.get">

export const outcomes = ["same", "differs", "accepted_now", "fails", "skipped"]

export const tones: Readonly<Record<Plan["state"], Tone>> = {
  rehearsing: "plain",
  rehearsed: "warning",
  replaying: "plain",
  paused: "warning",
  completed: "good",
  stopped: "plain",
}

const words: Readonly<Record<string, readonly [one: string, many: string, before: string]>> = {
  same: ["is as it was", "are as they were", ""],
  differs: ["differs", "differ", " in "],
  accepted_now: ["is accepted now", "are accepted now", ""],
  fails: ["fails", "fail", " at "],
  skipped: ["is left out", "are left out", ": "],
}

/** Returns text for a group, for example `31 differ in email`. */
export function said({ outcome, detail, count }: Group): string {
  const [one, many, before] = words[outcome] ?? [outcome, outcome, ": "]
  return `${formatNumber(count)} ${count === 1 ? one : many}${before !== "" && detail !== "" ? before + detail : ""}`
}

/** Returns a filter value as text. Times are in the reader's time zone. */
export function filterValue(name: string, value: string | boolean | undefined): string {
  return name === "since" || name === "until" ? formatTime(String(value)) : visible(String(value))
}

export function replayedCount({ replayed }: Pick<Plan, "replayed">): number {
  return replayed.accepted + replayed.rejected + replayed.failed + replayed.skipped
}

const reloadMs = 500

/** Reloads if any plan makes progress, or only the plan `id` if set. */
export function usePlanNews(reload: () => void, id?: string): void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const soon = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      reload()
    }, reloadMs)
  }
  useEffect(() => () => clearTimeout(timer.current), [])
  useLive("replay-plans", {
    onMessage({ data }) {
      if (id === undefined || (data as { id?: unknown }).id === id) soon()
    },
    onGap: soon,
  })
}
