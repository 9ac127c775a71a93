// How often the classifier is right, by class, on a fixture: a JSON list of { ua, device_type, browser, in_app }.
// `npm run bench -- --user-agents FILE` prints it; the test asks the same function.
import { readFileSync } from "node:fs"
import { z } from "zod"
import { classifyUserAgent, type UserAgentClass } from "../../core/pipeline/stamp/user-agent.ts"

const Fixture = z.array(
  z.object({ ua: z.string(), device_type: z.string().optional(), browser: z.string().optional(), in_app: z.string().optional() }),
)
export type UserAgentFixture = z.infer<typeof Fixture>

export const userAgentClasses = ["device_type", "browser", "in_app"] as const
type ClassName = (typeof userAgentClasses)[number]

export interface Miss {
  readonly ua: string
  readonly expected: string
  readonly found: string
}

export interface Accuracy {
  readonly right: number
  /** Of those that the fixture says something about. */
  readonly of: number
  /** `right / of`; 1 of none. */
  readonly share: number
  readonly misses: readonly Miss[]
}

/** Throws where the file is no such list. */
export function readUserAgents(file: string | URL): UserAgentFixture {
  return Fixture.parse(JSON.parse(readFileSync(file, "utf8")))
}

export function userAgentAccuracy(fixture: UserAgentFixture): Record<ClassName, Accuracy> {
  const of = (name: ClassName): Accuracy => {
    const asked = fixture.filter((one) => one[name] !== undefined)
    const misses = asked.flatMap((one): Miss[] => {
      const found = (classifyUserAgent(one.ua) as UserAgentClass)[name]
      const expected = one[name] ?? ""
      return found === expected ? [] : [{ ua: one.ua, expected, found }]
    })
    const right = asked.length - misses.length
    return { right, of: asked.length, share: asked.length === 0 ? 1 : right / asked.length, misses }
  }
  return { device_type: of("device_type"), browser: of("browser"), in_app: of("in_app") }
}

/** The figures as text, with what was missed when asked for, and the time that one takes. */
export function reportUserAgents(file: string, options: { misses?: boolean } = {}): string {
  const fixture = readUserAgents(file)
  const started = performance.now()
  const accuracy = userAgentAccuracy(fixture)
  const each = ((performance.now() - started) * 1_000) / Math.max(1, fixture.length * userAgentClasses.length)
  const lines = userAgentClasses.flatMap((name) => {
    const { right, of, share, misses } = accuracy[name]
    const shown = options.misses ? misses.map(({ ua, expected, found }) => `    ${expected || '""'} was ${found || '""'}: ${ua}`) : []
    return [`${name.padEnd(12)} ${share.toFixed(4)}  (${right} of ${of})`, ...shown]
  })
  return [`${fixture.length} user agents, ${each.toFixed(1)} µs each`, ...lines].join("\n")
}
