// The environment of a contract test: the real engine on a temporary folder, captured mail and calls, and any number of
// organizations.

import { AssertionError } from "node:assert"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { frameworkRoot, loadDeclarations } from "../../bootstrap/plugins.ts"
import { Actions, type AnyAction, type RunArgs } from "../../contract/action.ts"
import { type CollectionSpec, Collections, type Document, type Json } from "../../contract/collection.ts"
import type { AnyPlugin } from "../../contract/registrar.ts"
import { Store } from "../../contract/store.ts"
import { loadConfig } from "../../kernel/config.ts"
import type { TokenRecord } from "../../kernel/di.ts"
import { PipelineEngine } from "../../pipeline/engine.ts"
import type { JournalEntry } from "../../pipeline/journal/entry.ts"
import { type EventOutcome, integrationUrl, type MadePipeline, PipelineHarness } from "../../rehearsal/harness.ts"
import { Rehearsal } from "../../rehearsal/rehearsal.ts"
import { documentOf, eventFor, pluginFor, type StepDocument, type Subject } from "./subject.ts"

export class ContractFixture {
  readonly subject: Subject
  readonly rehearsal: Rehearsal
  /** Ids of the plugins under test: the action's plugin and additional plugins. */
  readonly tried: ReadonlySet<string>
  #organizations = 0

  private constructor(subject: Subject, rehearsal: Rehearsal, given: readonly AnyPlugin[]) {
    this.subject = subject
    this.rehearsal = rehearsal
    const its = rehearsal.runtime.registry.all(Actions).filter(({ item }) => item.type === subject.action.type)
    this.tried = new Set([...its.map(({ plugin }) => plugin), ...given.map(({ id }) => id)])
  }

  static async open(subject: Subject): Promise<ContractFixture> {
    const { action, options, plugin } = subject
    const { config } = loadConfig({ defaults: join(frameworkRoot, "config/default.yaml"), env: { ...options.env } })
    const given = [...(plugin ? [plugin] : []), ...(options.plugins ?? [])]
    const declared = (await loadDeclarations({ config, root: frameworkRoot, plugins: given })).registry.get(Actions, action.type)
    if (declared && declared !== action && !plugin)
      violation(`There is another action type "${action.type}" among the plugins that are loaded.`)
    const plugins = declared ? given : [...given, pluginFor(action)]
    const rehearsal = await Rehearsal.open({ config, root: frameworkRoot, plugins, logLevel: "trace" })
    // A plugin may create its actions during registration.
    const loaded = rehearsal.runtime.registry.get(Actions, action.type) ?? action
    const fixture = new ContractFixture({ ...subject, action: loaded }, rehearsal, given)
    fixture.answerCalls()
    return fixture
  }

  /** Resets the captured calls and mails, and installs the default answers. */
  answerCalls(): void {
    const { outgoing } = this.rehearsal
    outgoing.clear()
    if (this.subject.options.answer) outgoing.fixtures.push(this.subject.options.answer)
    outgoing.fixtures.push(() => ({ status: 200, headers: { "content-type": "application/json" }, body: "{}" }))
  }

  /** Creates a new organization. `bare`: without preparation. */
  async site({ bare = false }: { bare?: boolean } = {}): Promise<FixtureOrganization> {
    return new FixtureOrganization(this, await PipelineHarness.in(this.rehearsal, `contract-${++this.#organizations}`), bare)
  }
}

/** Longer than the collection time of follow-up work in areas. */
const followMs = 15_000

/** Documents by collection. */
export type Holdings = Readonly<Record<string, readonly Document[]>>

/** One organization: its data and the effects of its events. */
export class FixtureOrganization {
  readonly fixture: ContractFixture
  readonly harness: PipelineHarness
  /** Part of the credentials of connected integrations. */
  readonly secret = canary()
  /** Texts known only to this organization. A document readable by all organizations belongs to it if it contains one of them. */
  readonly marks: string[]
  readonly #bare: boolean
  #prepared = false

  constructor(fixture: ContractFixture, harness: PipelineHarness, bare: boolean) {
    this.fixture = fixture
    this.harness = harness
    this.marks = [harness.caller.organization.id, this.secret]
    this.#bare = bare
  }

  get organization(): { readonly id: string; readonly slug: string } {
    return this.harness.caller.organization
  }

  /** Base URL of integrations connected here. */
  integrationUrl(slug: string): string {
    return `${integrationUrl(slug)}/${this.organization.slug}`
  }

  /** Creates a pipeline with this single step. Throws AppError if it is refused. */
  async make(step: StepDocument): Promise<MadePipeline> {
    const document = documentOf(step, this.fixture.subject.options)
    if (!this.#bare) {
      const headers = { "x-api-key": this.secret }
      await this.harness.connectNamed(document, (slug) => ({ base_url: this.integrationUrl(slug), headers }))
      await this.#prepare()
    }
    return this.harness.make({ ...document, slug: `contract-${crypto.randomUUID()}` })
  }

  async #prepare(): Promise<void> {
    if (this.#prepared) return
    this.#prepared = true
    const { rehearsal, caller } = this.harness
    await this.fixture.subject.options.prepare?.({ invoke: (operation, input) => rehearsal.invoke(caller, operation, input) })
  }

  /** Sends the event and waits until all its work is done. */
  send(pipeline: MadePipeline, event = eventFor(this.fixture.subject)): Promise<EventOutcome> {
    const body = Buffer.from(JSON.stringify(event))
    return this.harness.send(pipeline, {
      method: "POST",
      headers: { "content-type": "application/json" },
      query: {},
      body,
      signWith: undefined,
    })
  }

  /** Replays a journal entry, including its deferred steps. */
  async replay({ stored }: MadePipeline, entry: JournalEntry): Promise<void> {
    await this.#engine.replay(stored, entry.id, this.harness.caller)
    await this.harness.settle()
  }

  dryRun({ stored }: MadePipeline): Promise<unknown> {
    return this.#engine.dryRun(stored, { body: JSON.stringify(eventFor(this.fixture.subject)) })
  }

  /**
   * Returns all data of the organization, including the journal and without event statistics. Includes its data in global
   * collections of the plugins under test.
   */
  async everything(): Promise<Holdings> {
    const { container, registry } = this.harness.rehearsal.runtime
    const store = container.get(Store)
    const all = { sort: { id: 1 }, limit: 10_000 } as const
    const held: Record<string, Document[]> = {}
    for (const { item: spec, plugin } of registry.all(Collections)) {
      if (spec.statistics) continue
      if (isOfOrganizations(spec)) held[spec.name] = await store.open(spec, this.organization.id).find({}, all)
      else if (this.fixture.tried.has(plugin)) {
        const documents = await store.open(spec as CollectionSpec<Document, "global">).find({}, all)
        held[spec.name] = documents.filter((one) => this.marks.some((mark) => JSON.stringify(one).includes(mark)))
      }
    }
    return held
  }

  /** Returns the data after all follow-up work has finished. Areas may collect changes for a moment first. */
  async everythingAtRest(): Promise<Holdings> {
    let held = await this.everything()
    for (let same = 0; same < 2; ) {
      this.harness.rehearsal.clock.move(followMs)
      // Work of a timer starts a moment after the timer.
      await new Promise((resolve) => setImmediate(resolve))
      await this.harness.settle()
      const now = await this.everything()
      same = differing(held, now).length === 0 ? same + 1 : 0
      held = now
    }
    return held
  }

  get #engine(): PipelineEngine {
    return this.harness.rehearsal.runtime.container.get(PipelineEngine)
  }
}

function isOfOrganizations(spec: CollectionSpec): spec is CollectionSpec<Document, "organization"> {
  return spec.scope === "organization"
}

/** Returns a unique word. */
export function canary(): string {
  return `canary-${randomBytes(8).toString("hex")}`
}

/** Returns the result of the single step. Throws if the step was not done. */
export function stepDone({ entry }: EventOutcome): Json {
  const [step] = Object.values(entry.steps)
  if (entry.status === "rejected") violation(`The event was rejected (${entry.cause}).`)
  if (!step) violation(`No step ran: ${entry.error?.message ?? entry.cause}`)
  if (step.state === "skipped") violation('The example was skipped: its "when" is false for the event. Give fields for it in `event`.')
  if (step.error)
    violation(`${step.error.message} (Give fields that the example reads in \`event\`, and create what it needs in \`prepare\`.)`)
  return step.result
}

/** Returns the names of collections with different contents. */
export function differing(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(after).filter((name) => !isDeepStrictEqual(before[name], after[name]))
}

/** Reports a violation of the contract. */
export function violation(message: string): never {
  throw new AssertionError({ message, stackStartFn: violation })
}

type Watch = (run: () => unknown, args: RunArgs<unknown, TokenRecord>) => unknown

/** Wraps an action's `run` while `during` runs. */
export async function whileWatched<T>(action: AnyAction, watch: Watch, during: () => Promise<T>): Promise<T> {
  const own = action.run
  action.run = (args: RunArgs<unknown, TokenRecord>) => watch(() => own.call(action, args), args)
  try {
    return await during()
  } finally {
    action.run = own
  }
}
