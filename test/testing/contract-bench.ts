// Runs the contract of action types on a test action and returns its failures.
import { type ContractOptions, contractOf } from "#core/testing"

export type Subject = Parameters<typeof contractOf>[0]

/** Declares the contract's tests and runs the matching ones. Returns their titles and the messages of failures. */
export async function tried(subject: Subject, which: RegExp, options: ContractOptions = {}) {
  const tests: [string, () => Promise<void>][] = []
  const befores: (() => Promise<void>)[] = []
  const afters: (() => Promise<void>)[] = []
  const runner = {
    describe: (_: string, body: () => void) => body(),
    it: (title: string, body: () => Promise<void>) => void tests.push([title, body]),
    before: (body: () => Promise<void>) => void befores.push(body),
    after: (body: () => Promise<void>) => void afters.push(body),
  }
  contractOf(subject, { ...options, runner })
  const failed: Record<string, string> = {}
  const ran: string[] = []
  try {
    for (const before of befores) await before()
    for (const [title, body] of tests.filter(([name]) => which.test(name))) {
      ran.push(title)
      await body().catch((error: Error) => {
        failed[title] = error.message
      })
    }
  } finally {
    for (const after of afters) await after()
  }
  return { ran, failed }
}
