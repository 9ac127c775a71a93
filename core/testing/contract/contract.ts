// The contract of action types as tests. The engine, the journal and pipeline authors rely on it. A call in a test file declares
// a group of tests for the current test runner.
import type { AnyAction } from "../../contract/action.ts"
import type { AnyPlugin } from "../../contract/registrar.ts"
import { isRecord } from "../../kernel/json.ts"
import { PipelineEngine } from "../../pipeline/engine.ts"
import { childPointer } from "../../pipeline/findings.ts"
import { survivesCrash } from "./crash.ts"
import { obeysDeadline } from "./deadline.ts"
import { runsExample } from "./examples.ts"
import { ContractFixture, violation } from "./fixture.ts"
import { keepsToItsOrganization } from "./isolation.ts"
import { expectNothingLeft, heldAtRest, liveOnce, useOnce } from "./leaks.ts"
import { alternativesOf, configSchemaOf, definitionOf, type Schema } from "./secret-places.ts"
import { keepsSecrets } from "./secrets.ts"
import { type ContractContext, type ContractOptions, documentOf, type Subject, stepOf, subjectsOf } from "./subject.ts"

export type { ContractContext, ContractOptions }

/** The declaring functions of a test runner, as in mocha and node:test. */
export interface TestRunner {
  describe(title: string, body: () => void): unknown
  it(title: string, body: () => Promise<void>): unknown
  before(body: () => Promise<void>): unknown
  after(body: () => Promise<void>): unknown
}

/** Minimum timeout of a test. Services start and stop within a test. */
const timeoutMs = 120_000

/**
 * Declares the tests for every action type. Its examples run, return the declared result and call other systems only through the
 * service. Unknown fields are refused. A retry after a crash repeats only effects permitted by `idempotency`. The action obeys
 * its deadline. Secrets in its config stay out of journal, logs and errors. Resources of other organizations are unreachable. A
 * stopped service leaves no handles or listeners. Takes an action type or its plugin.
 *
 * A secret is the value of a field redacted by the log, at any depth. The tests use a generated value. If the schema refuses it,
 * an example must provide a secret of at least 6 characters. Effects of a single run and of a repetition are compared as JSON.
 * Words of 16 or more characters and numbers of 12 or more digits are ignored, because ids and times differ.
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
      // Remains of the first run, such as loaded modules, exist once and do not count as leaks.
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

/** Sets the timeout if the runner supports it like mocha. */
function patient(body: () => Promise<void>): () => Promise<void> {
  return function (this: { timeout?: unknown } | undefined) {
    if (typeof this?.timeout === "function") {
      const timeout = this.timeout.bind(this) as (milliseconds?: number) => unknown
      const given = timeout()
      // 0 disables the timeout.
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

const unknown = "no_such_field"

/** "Unknown fields are refused": otherwise a misspelt field is ignored silently and has no effect. */
async function refusesUnknownFields(fixture: ContractFixture): Promise<void> {
  const { action } = fixture.subject
  const engine = fixture.rehearsal.runtime.container.get(PipelineEngine)
  for (const example of action.examples) {
    const { findings } = await engine.compile(documentOf({ ...stepOf(example), [unknown]: 1 }, fixture.subject.options))
    const refused = findings.some(({ rule, pointer }) => rule === "unknown-field" && pointer === `/pipeline/0/${unknown}`)
    if (!refused) violation(`A field "${unknown}" is ignored silently; make "config" a z.strictObject.`)
  }
  const schema = configSchemaOf(action)
  const open = openObjects(schema, schema, "", new Set())
  if (open.length > 0) violation(`Objects within its config ignore unknown fields, at ${open.join(", ")}; make them z.strictObject.`)
}

/** Returns pointers of objects with named fields and additional fields. */
function openObjects(schema: Schema, root: Schema, pointer: string, seen: Set<Schema>): string[] {
  if (seen.has(schema)) return []
  seen.add(schema)
  const at = (inner: unknown, below: string) => (isRecord(inner) ? openObjects(inner, root, below, seen) : [])
  const { properties, $ref } = schema
  const named = typeof $ref === "string" ? at(definitionOf(root, $ref), pointer) : []
  const own = properties !== undefined && schema["additionalProperties"] !== false ? [pointer || "/"] : []
  const fields = Object.entries((properties ?? {}) as Schema).flatMap(([key, field]) => at(field, childPointer(pointer, key)))
  const parts = [...alternativesOf(schema), ...((schema["prefixItems"] as unknown[] | undefined) ?? [])]
  const elements = [schema["items"], schema["additionalProperties"]].flatMap((inner) => at(inner, childPointer(pointer, "*")))
  return [...named, ...own, ...fields, ...parts.flatMap((part) => at(part, pointer)), ...elements]
}
