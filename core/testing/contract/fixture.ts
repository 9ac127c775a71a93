// Where an action is tried: the real engine on a temporary folder, mail and calls kept, and as many organizations as a
// promise needs.

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
  /** Ids of the plugins under test: the action's, and those given beside it. */
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
    // A plugin may make its actions as it registers.
    const loaded = rehearsal.runtime.registry.get(Actions, action.type) ?? action
    const fixture = new ContractFixture({ ...subject, action: loaded }, rehearsal, given)
    fixture.answerCalls()
    return fixture
  }

  /** Calls and mails as they are answered unless a promise says otherwise. */
  answerCalls(): void {
    const { outgoing } = this.rehearsal
    outgoing.clear()
    if (this.subject.options.answer) outgoing.fixtures.push(this.subject.options.answer)
    outgoing.fixtures.push(() => ({ status: 200, headers: { "content-type": "application/json" }, body: "{}" }))
  }

  /** An organization that nobody has used before; `bare`: nothing is prepared in it. */
  async site({ bare = false }: { bare?: boolean } = {}): Promise<FixtureOrganization> {
    return new FixtureOrganization(this, await PipelineHarness.in(this.rehearsal, `contract-${++this.#organizations}`), bare)
  }
}

/** Longer than areas gather what they follow. */
const followMs = 15_000

/** Documents by collection. */
export type Holdings = Readonly<Record<string, readonly Document[]>>

/** What one organization has, and what its events do. */
export class FixtureOrganization {
  readonly fixture: ContractFixture
  readonly harness: PipelineHarness
  /** Stands in the credentials of integrations that are connected here. */
  readonly secret = canary()
  /** What nobody else can know: by these a document that all organizations could read is told to be of this one. */
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

  /** Where integrations that are connected here begin. */
  integrationUrl(slug: string): string {
    return `${integrationUrl(slug)}/${this.organization.slug}`
  }

  /** A pipeline of that one step. Throws AppError where it is refused. */
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

  /** Sends the event and waits until nothing of it is left to do. */
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

  /** Runs a journalled event again, the deferred steps included. */
  async replay({ stored }: MadePipeline, entry: JournalEntry): Promise<void> {
    await this.#engine.replay(stored, entry.id, this.harness.caller)
    await this.harness.settle()
  }

  dryRun({ stored }: MadePipeline): Promise<unknown> {
    return this.#engine.dryRun(stored, { body: JSON.stringify(eventFor(this.fixture.subject)) })
  }

  /** All that the organization has, the journal included but not statistics of events, and what plugins under test keep of it for all organizations. */
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

  /** The same, once nothing that follows from what was done is in progress; areas may gather for a moment before they follow. */
  async everythingAtRest(): Promise<Holdings> {
    let held = await this.everything()
    for (let same = 0; same < 2; ) {
      this.harness.rehearsal.clock.move(followMs)
      // What a timer begins is in progress a moment after it.
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

/** A word that stands nowhere by chance. */
export function canary(): string {
  return `canary-${randomBytes(8).toString("hex")}`
}

/** The one step of an outcome. Breaks where it was not done. */
export function stepDone({ entry }: EventOutcome): Json {
  const [step] = Object.values(entry.steps)
  if (entry.status === "rejected") violation(`The event was rejected (${entry.cause}).`)
  if (!step) violation(`No step ran: ${entry.error?.message ?? entry.cause}`)
  if (step.state === "skipped") violation('The example was skipped: its "when" is false for the event. Give fields for it in `event`.')
  if (step.error)
    violation(`${step.error.message} (Give fields that the example reads in \`event\`, and create what it needs in \`prepare\`.)`)
  return step.result
}

/** Names of the collections in which two holdings differ. */
export function differing(before: Readonly<Record<string, unknown>>, after: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(after).filter((name) => !isDeepStrictEqual(before[name], after[name]))
}

/** How a promise that is not kept is told. */
export function violation(message: string): never {
  throw new AssertionError({ message, stackStartFn: violation })
}

type Watch = (run: () => unknown, args: RunArgs<unknown, TokenRecord>) => unknown

/** Stands between the engine and an action's `run`, for as long as a promise is tried. */
export async function whileWatched<T>(action: AnyAction, watch: Watch, during: () => Promise<T>): Promise<T> {
  const own = action.run
  action.run = (args: RunArgs<unknown, TokenRecord>) => watch(() => own.call(action, args), args)
  try {
    return await during()
  } finally {
    action.run = own
  }
}
