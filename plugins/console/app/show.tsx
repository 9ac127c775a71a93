// Formats times, counts and states for people, identical on every screen.

import type { ComponentChildren } from "preact"
import { UntrustedText } from "./foreign.tsx"

const numbers = new Intl.NumberFormat("en", { maximumFractionDigits: 2 })
const shares = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 })

export const formatNumber = (value: number): string => numbers.format(value)
export const formatShare = (value: number): string => shares.format(value)

/** `2026-11-23 17:15:37`, in the reader's own time zone. */
export function formatTime(value: string | number): string {
  const date = new Date(value)
  if (Number.isNaN(date.getTime())) return String(value)
  const two = (part: number) => String(part).padStart(2, "0")
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** Converts the times in a text of the service to the reader's zone. */
export function withOwnTimes(text: string): string {
  return text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, formatTime)
}

/** Example of a date and time for input fields: the current time. */
export function exampleMoment(): string {
  return formatTime(Date.now()).slice(0, 16)
}

/** Parses `2026-11-23 17:15` in the reader's time zone. Other text is unchanged, for the service to check. */
export function momentOf(text: string): string {
  const [, day, time = "00:00"] = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?$/.exec(text.trim()) ?? []
  const date = new Date(`${day}T${time}`)
  return Number.isNaN(date.getTime()) ? text : date.toISOString()
}

/** `840 ms`, `3.2 s`, `5 min`, `2 h`, `3 d`. */
export function formatDuration(ms: number): string {
  const units: readonly (readonly [string, number])[] = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["min", 60_000],
    ["s", 1_000],
  ]
  const [unit, size] = units.find(([, minMs]) => Math.abs(ms) >= minMs) ?? ["ms", 1]
  const value = ms / size
  return `${numbers.format(Math.abs(value) < 10 ? Math.round(value * 10) / 10 : Math.round(value))} ${unit}`
}

/** `840 B`, `3.2 KB`, `1.5 MB`. */
export function formatBytes(bytes: number): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)))
  return `${numbers.format(Math.round((bytes / 1_024 ** power) * 10) / 10)} ${["B", "KB", "MB", "GB", "TB"][power]}`
}

export function Time({ value }: { readonly value: string | null | undefined }) {
  if (!value) return <span class="about">never</span>
  return (
    <time dateTime={value} title={value}>
      {formatTime(value)}
    </time>
  )
}

/** Age of a time. The tooltip shows the exact time. */
export function Ago({ value }: { readonly value: string | null | undefined }) {
  if (!value) return <span class="about">never</span>
  const ms = Date.now() - Date.parse(value)
  return (
    <time dateTime={value} title={formatTime(value)}>
      {ms < 0 ? `in ${formatDuration(-ms)}` : `${formatDuration(ms)} ago`}
    </time>
  )
}

export type Tone = "good" | "bad" | "warning" | "plain"

/** A state as a word. The colour only repeats the word. */
export function Badge({ tone = "plain", children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** A figure with its label for the overview, optionally as a link. */
export function Figure({ label, value, href, tone = "plain" }: FigureArgs) {
  const content = (
    <>
      <b class={tone}>{typeof value === "number" ? formatNumber(value) : value}</b>
      <span>{label}</span>
    </>
  )
  return href === undefined ? (
    <div class="figure">{content}</div>
  ) : (
    <a class="figure" href={href}>
      {content}
    </a>
  )
}

interface FigureArgs {
  readonly label: string
  readonly value: number | string
  readonly href?: string
  readonly tone?: Tone
}

/** Names beside their values. */
export function Facts({ of }: { readonly of: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl>
      {of.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === "string" ? <UntrustedText text={value} /> : value}</dd>
        </div>
      ))}
    </dl>
  )
}
