// Accuracy of the user agent classifier by class, on a fixture file. `npm run bench -- --user-agents FILE` prints it, and
// `--misses` the misses.
// The test calls the same function. user-agents-file.ts describes the file formats.
import { classifyUserAgent } from "../../plugins/pages/user-agents/classify.ts"
import { readUserAgents, type UserAgentFixture } from "./user-agents-file.ts"

export { readUserAgents } from "./user-agents-file.ts"

export const userAgentClasses = ["device_type", "browser", "in_app"] as const
type ClassName = (typeof userAgentClasses)[number]

export interface Miss {
  readonly ua: string
  readonly expected: string
  readonly found: string
}

export interface Accuracy {
  readonly right: number
  /** Number of agents with a label in the fixture. */
  readonly of: number
  /** `right / of`; 1 without labels. */
  readonly share: number
  readonly misses: readonly Miss[]
  /** By the fixture's label. */
  readonly values: ReadonlyMap<string, { readonly right: number; readonly of: number }>
}

export function userAgentAccuracy(fixture: UserAgentFixture): Record<ClassName, Accuracy> {
  return { device_type: accuracyOf(fixture, "device_type"), browser: accuracyOf(fixture, "browser"), in_app: accuracyOf(fixture, "in_app") }
}

function accuracyOf(fixture: UserAgentFixture, name: ClassName): Accuracy {
  const misses: Miss[] = []
  const values = new Map<string, { right: number; of: number }>()
  for (const agent of fixture) {
    const label = agent[name]
    if (label === undefined) continue
    const result = classifyUserAgent(agent.ua)[name]
    // A fixture may only know if an agent is a webview of any app.
    const expected = typeof label === "boolean" ? (label ? result || "some app" : "") : label
    const value = values.get(expected) ?? { right: 0, of: 0 }
    values.set(expected, value)
    value.of++
    if (result === expected) value.right++
    else misses.push({ ua: agent.ua, expected, found: result })
  }
  const of = [...values.values()].reduce((sum, value) => sum + value.of, 0)
  return { right: of - misses.length, of, share: of === 0 ? 1 : (of - misses.length) / of, misses, values }
}

/** Returns the figures as text by class and by value, optionally with misses, and the time per agent. */
export function reportUserAgents(file: string, options: { misses?: boolean } = {}): string {
  const fixture = readUserAgents(file)
  const started = performance.now()
  for (const { ua } of fixture) classifyUserAgent(ua)
  const microseconds = ((performance.now() - started) * 1_000) / Math.max(1, fixture.length)
  const accuracy = userAgentAccuracy(fixture)
  const lines = userAgentClasses.flatMap((name) => {
    const { right, of, share, misses, values } = accuracy[name]
    if (of === 0) return [`${name.padEnd(12)} not told by the file`]
    const parts = [...values].sort(([, left], [, second]) => second.of - left.of).slice(0, 12)
    const item = parts.map(([value, part]) => `${value || '""'} ${part.right}/${part.of}`).join(", ")
    const missLines = options.misses ? misses.map(({ ua, expected, found }) => `    ${expected || '""'} was ${found || '""'}: ${ua}`) : []
    return [`${name.padEnd(12)} ${share.toFixed(4)}  (${right} of ${of}: ${item})`, ...missLines]
  })
  return [`${fixture.length} user agents, ${microseconds.toFixed(1)} µs each`, ...lines].join("\n")
}
