// The contract of action types, as tests: what the engine, the journal and authors of pipelines rely on. Called in a
// test file, it declares a group of tests for the runner that the file is run by.
import type { AnyAction } from "../../contract/action.ts"
import type { AnyPlugin } from "../../contract/registrar.ts"
import { survivesCrash } from "./crash.ts"
import { obeysDeadline } from "./deadline.ts"
import { runsExample } from "./examples.ts"
import { ContractFixture } from "./fixture.ts"
import { keepsToItsOrganization } from "./isolation.ts"
import { expectNothingLeft, heldAtRest, liveOnce, useOnce } from "./leaks.ts"
import { keepsSecrets } from "./secrets.ts"
import { refusesUnknownFields } from "./strictness.ts"
import { type ContractContext, type ContractOptions, type Subject, subjectsOf } from "./subject.ts"

export type { ContractContext, ContractOptions }

/** The functions of a test runner that declare tests, as mocha and node:test have them. */
export interface TestRunner {
  describe(title: string, body: () => void): unknown
  it(title: string, body: () => Promise<void>): unknown
  before(body: () => Promise<void>): unknown
  after(body: () => Promise<void>): unknown
}

/** For one test, at least: services start and stop in it. */
const timeoutMs = 120_000

/**
 * Declares the tests that every action type is to pass: its examples run, give what it declares and call others through
 * the service only; unknown fields are refused; a retry after a crash repeats no more than it says (`idempotency`); its
 * deadline is obeyed; secrets in its config stay out of journal, logs and errors; another organization's resources are
 * unreachable; nothing is left behind when the service has stopped. Takes an action type, or the plugin that declares it.
 *
 * A secret is what stands in a field that the log would cut for its name, at any depth. One is made up; where the schema
 * refuses that, an example must give one of at least 6 characters. What is left behind once and after a repetition is
 * compared as JSON, less words of 16 characters and more and numbers of 12 digits and more: ids and times.
 */
export function contractOf(given: AnyAction | AnyPlugin, options: ContractOptions & { readonly runner?: TestRunner } = {}): void {
  const { runner = globalRunner(), ...rest } = options
  for (const subject of subjectsOf(given, rest)) declare(subject, runner)
}

function declare(subject: Subject, { describe, it, before, after }: TestRunner): void {
  const { action } = subject
  describe(`${action.type}, as every action type`, () => {
    let opened: ContractFixture | undefined
    const fixture = () => {
      if (!opened) throw new Error("The service that the action is tried in did not start.")
      return opened
    }
    const close = async () => {
      await opened?.rehearsal.stop()
      opened = undefined
    }
    before(
      patient(async () => {
        opened = await ContractFixture.open(subject)
      }),
    )
    after(patient(close))
    const promise = (title: string, keep: () => Promise<void>) => it(title, patient(keep))
    const ofEach = (title: string, keep: (fixture: ContractFixture, example: (typeof action.examples)[number]) => Promise<void>) =>
      promise(title, async () => {
        for (const example of action.examples) await keep(fixture(), example)
      })

    for (const example of action.examples) promise(`runs its example: ${example.title}`, () => runsExample(fixture(), example))
    promise("refuses fields that it does not have", () => refusesUnknownFields(fixture()))
    if (action.timing === "commit" || action.idempotency !== undefined) ofEach(crashTitle(action), survivesCrash)
    ofEach("obeys its deadline", obeysDeadline)
    promise("keeps secrets of its config out of journal, logs and errors", () => keepsSecrets(fixture()))
    promise("reaches nothing of another organization", () => keepsToItsOrganization(fixture()))
    promise("leaves no handle and no listener behind, started and stopped twice", async () => {
      await useOnce(fixture())
      await close()
      // What the first life left is there once for all, such as a module that was loaded.
      const held = await heldAtRest()
      await liveOnce(subject)
      await expectNothingLeft(held)
    })
  })
}

function crashTitle({ idempotency }: AnyAction): string {
  if (idempotency === "exactly_once") return "has no second effect, retried after a crash or replayed"
  return idempotency === "idempotency_key"
    ? "sends the same idempotency key, retried after a crash or replayed"
    : "leaves nothing behind when it fails"
}

/** With the time that it takes, where the runner asks for it as mocha does. */
function patient(body: () => Promise<void>): () => Promise<void> {
  return function (this: { timeout?: unknown } | undefined) {
    if (typeof this?.timeout === "function") {
      const timeout = this.timeout.bind(this) as (milliseconds?: number) => unknown
      const given = timeout()
      // 0 is none at all.
      if (!(given === 0 || Number(given) > timeoutMs)) timeout(timeoutMs)
    }
    return body()
  }
}

function globalRunner(): TestRunner {
  const { describe, it, before, beforeAll, after, afterAll } = globalThis as unknown as Partial<
    TestRunner & { beforeAll: TestRunner["before"]; afterAll: TestRunner["after"] }
  >
  const runner = { describe, it, before: before ?? beforeAll, after: after ?? afterAll }
  const missing = Object.entries(runner).flatMap(([name, found]) => (typeof found === "function" ? [] : [name]))
  if (missing.length === 0) return runner as TestRunner
  throw new Error(
    `contractOf declares tests and finds no ${missing.join(", ")} here: call it in a test file of mocha, or give a \`runner\`.`,
  )
}
