// The pipeline test harness: one organization of a rehearsal. Creates pipelines from documents, sends events as their senders
// would, and collects all effects, including those of deferred work.
import { setTimeout as pause } from "node:timers/promises"
import type { Runtime } from "../bootstrap/runtime.ts"
import { AuthModes, type InboundRequest, type SignArgs, type SignedParts } from "../contract/auth-mode.ts"
import type { Caller } from "../contract/caller.ts"
import type { Json } from "../contract/collection.ts"
import { JobQueue } from "../contract/job.ts"
import type { OutgoingCall, OutgoingMail } from "../contract/outgoing.ts"
import type { RehearsedConnection } from "../contract/rehearsal.ts"
import { Store } from "../contract/store.ts"
import { UnitsOfWork } from "../contract/unit-of-work.ts"
import type { DurableQueue } from "../jobs/queue.ts"
import type { TokenRecord } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import { jsonOrText } from "../kernel/json.ts"
import { isFedFromInside, type PipelineDocument } from "../pipeline/document.ts"
import { PipelineEngine } from "../pipeline/engine.ts"
import { EntryCollection } from "../pipeline/journal/collections.ts"
import type { JournalEntry } from "../pipeline/journal/entry.ts"
import { PipelineSource, type StoredPipeline } from "../pipeline/source.ts"
import type { Rehearsal } from "./rehearsal.ts"

export interface MadePipeline {
  readonly stored: StoredPipeline
  readonly url: string
  /** Undefined if the auth mode has no secret. */
  readonly secret: string | undefined
}

export interface SentEvent {
  readonly method: string
  /** Full URL of the request. Default: the pipeline's URL with `query`. */
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Secret for the signature. Undefined: unsigned. */
  readonly signWith: { readonly secret: string; readonly at?: string | undefined } | undefined
}

export interface HarnessRow {
  readonly step: string
  readonly dataset: string
  readonly row_id: string
  readonly values: Record<string, Json>
}

export interface Broadcast {
  readonly channel: string
  readonly event: string
  readonly data: Json
  readonly public: boolean
}

/** Effects of one event. `rows` contains the rows of all events of the harness so far, in the order of first writes. */
export interface EventOutcome {
  readonly entry: JournalEntry
  readonly response: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: Json }
  readonly rows: readonly HarnessRow[]
  readonly mails: readonly OutgoingMail[]
  readonly calls: readonly OutgoingCall[]
  readonly broadcasts: readonly Broadcast[]
}

/** Real time before deferred work counts as stuck. */
const maxSettleMs = 30_000

export class PipelineHarness {
  readonly rehearsal: Rehearsal
  readonly caller: Caller
  readonly #seen = new Set<string>()
  readonly #heard = new Set<string>()
  readonly #connected = new Set<string>()

  private constructor(rehearsal: Rehearsal, caller: Caller) {
    this.rehearsal = rehearsal
    this.caller = caller
  }

  /** Creates a harness in a new organization with this slug. */
  static async in(rehearsal: Rehearsal, organization: string): Promise<PipelineHarness> {
    return new PipelineHarness(rehearsal, await rehearsal.createOrganization(organization))
  }

  /** Creates a harness in the organization of the documents' datasets (`acme.leads`) or of MILLRACE_ORGANIZATION. */
  static async for(rehearsal: Rehearsal, documents: readonly PipelineDocument[]): Promise<PipelineHarness> {
    const engine = rehearsal.runtime.container.get(PipelineEngine)
    const compiled = await Promise.all(documents.map((document) => engine.compile(document)))
    const written = compiled.flatMap((compilation) => (compilation.ok ? compilation.graph.writesTo : []))
    const owner = written.find((dataset) => dataset.includes("."))?.split(".")[0]
    return new PipelineHarness(rehearsal, await rehearsal.createOrganization(owner ?? (process.env["MILLRACE_ORGANIZATION"] || undefined)))
  }

  /**
   * Creates an active pipeline with the passed secret or the test secret of its auth mode. Throws AppError if the document is
   * refused.
   */
  async make(document: PipelineDocument, given?: string): Promise<MadePipeline> {
    const sender = senderOf(this.rehearsal.runtime, document)
    const secret = sender?.hasSecret && !isFedFromInside(document.source_kind) ? (given ?? sender.testSecret) : undefined
    const { secret: _, ...config } = document.auth_config
    const auth_config = secret === undefined ? config : { ...config, secret }
    const owner_artifact_id = document.owner_artifact_id === null ? null : await this.rehearsal.fixture(this.caller, "page")
    const made = await this.rehearsal.fixture(this.caller, "pipeline", { ...document, auth_config, owner_artifact_id })
    const stored = await this.rehearsal.runtime.container.get(PipelineSource).byId(this.caller.organization.id, made.id)
    if (!stored) throw new Error(`The pipeline "${document.name}" was created but cannot be found.`)
    return { stored, url: made.inbound_url ?? "", secret }
  }

  /**
   * Returns the names of headers and query parameters of the sender's proof, in lower case. Undefined if only the real sender can
   * sign. Empty if the pipeline has no secret.
   */
  async proofNames(document: PipelineDocument, event: SentEvent): Promise<readonly string[] | undefined> {
    const sender = senderOf(this.rehearsal.runtime, document)
    if (!sender?.hasSecret) return []
    const request: InboundRequest = { ...event, url: event.url ?? "https://millrace.test/", receivedAt: this.rehearsal.clock.now() }
    const pipeline = { id: "", organization_id: this.caller.organization.id, owner_artifact_id: null }
    try {
      const { headers, query } = await sender.sign(sender.testSecret, request, pipeline)
      return Object.keys({ ...headers, ...query }).map((name) => name.toLowerCase())
    } catch (error) {
      if (error instanceof AppError && error.code === "unimplemented") return undefined
      throw error
    }
  }

  /** Sends one event and waits until all its work is done. */
  async send(pipeline: MadePipeline, event: SentEvent): Promise<EventOutcome> {
    const { outgoing, runtime } = this.rehearsal
    outgoing.mails.length = 0
    outgoing.calls.length = 0
    const engine = runtime.container.get(PipelineEngine)
    const response =
      pipeline.stored.endpoint_id === null
        ? await this.#submit(pipeline, event)
        : await this.#receive(engine, pipeline.stored.endpoint_id, await this.#request(pipeline, event))
    await this.settle()
    const entries = await this.#entries()
    const entry = entries.find((one) => !this.#seen.has(one.id) && one.pipeline_id === pipeline.stored.id)
    if (!entry)
      throw new AppError(
        "internal",
        `The event left no journal entry; it was answered ${response.status}: ${JSON.stringify(response.body)}`,
        { reason: "internal" },
      )
    for (const one of entries) this.#seen.add(one.id)
    const rows = await this.#rows(entries)
    return { entry, response, rows, mails: [...outgoing.mails], calls: [...outgoing.calls], broadcasts: this.#broadcasts() }
  }

  /** Connects the integrations named in the steps of a document. */
  async connectNamed(
    { pipeline, handlers }: Pick<PipelineDocument, "pipeline" | "handlers">,
    credentialsOf: (slug: string) => { base_url: string; headers?: Record<string, string> } = (slug) => ({
      base_url: integrationUrl(slug),
    }),
  ): Promise<void> {
    const named = [...pipeline, ...Object.values(handlers)].map((action) => action["integration"])
    for (const slug of new Set(named.filter((one) => typeof one === "string"))) {
      if (this.#connected.has(slug)) continue
      this.#connected.add(slug)
      await this.connect({ slug, ...credentialsOf(slug) })
    }
  }

  /** Connects one integration. */
  async connect(connection: RehearsedConnection): Promise<void> {
    await this.rehearsal.fixture(this.caller, "connection", connection)
  }

  async #request({ stored, url, secret }: MadePipeline, event: SentEvent): Promise<InboundRequest> {
    const { clock, runtime } = this.rehearsal
    const base = event.url?.split("?")[0] ?? url
    const address = (query: Readonly<Record<string, string>>) =>
      Object.keys(query).length === 0 ? base : `${base}?${new URLSearchParams({ ...query }).toString()}`
    const plain: InboundRequest = { ...event, url: event.url ?? address(event.query), receivedAt: clock.now() }
    const sender = event.signWith && senderOf(runtime, stored.document)
    if (!sender) return plain
    const { id, organization, document } = stored
    const pipeline = { id, organization_id: organization.id, owner_artifact_id: document.owner_artifact_id }
    const { secret: other, at } = event.signWith
    const signed = at === undefined ? plain : { ...plain, receivedAt: Date.parse(at) }
    const parts = await sender.sign(other || secret || "", signed, pipeline)
    const query = { ...event.query, ...parts.query }
    return { ...plain, url: parts.query ? address(query) : plain.url, query, headers: { ...parts.headers, ...event.headers } }
  }

  async #receive(engine: PipelineEngine, endpoint: string, request: InboundRequest): Promise<EventOutcome["response"]> {
    const { status, headers, body } = await engine.receive(endpoint, request)
    return { status, headers, body: asJson(body) }
  }

  async #submit({ stored }: MadePipeline, event: SentEvent): Promise<EventOutcome["response"]> {
    const payload = asJson(event.body.toString("utf8"))
    const { reply } = await this.rehearsal.runtime.container.get(PipelineEngine).submit(stored, { payload, headers: event.headers })
    return { status: reply.status, headers: reply.headers, body: reply.body }
  }

  /** Waits for deferred steps, jobs and commits. Moves the clock to the next try of a waiting step. */
  async settle(): Promise<void> {
    const { clock, runtime } = this.rehearsal
    const queue = runtime.container.get(JobQueue) as DurableQueue
    const works = runtime.container.get(UnitsOfWork)
    const until = performance.now() + maxSettleMs
    for (;;) {
      const open = (await this.#entries()).flatMap((entry) => Object.values(entry.steps)).filter(isOpen)
      const idle = queue.depth.running === 0 && queue.depth.waiting === 0 && works.inProgress === 0
      if (open.length === 0 && idle) return
      if (performance.now() > until)
        throw new AppError("deadline_exceeded", `Deferred steps did not finish within ${maxSettleMs / 1_000} s.`, {
          reason: "attempt_timeout",
        })
      const dues = open.map(({ next_at }) => (next_at === undefined ? 0 : Date.parse(next_at)))
      const wait = Math.min(...dues) - clock.now()
      if (idle && open.length > 0 && wait > 0) clock.move(wait)
      await pause(1)
    }
  }

  /** Returns all entries of the organization, oldest first. */
  #entries(): Promise<JournalEntry[]> {
    return this.rehearsal.runtime.container
      .get(Store)
      .open(EntryCollection, this.caller.organization.id)
      .find({}, { sort: { id: 1 } })
  }

  async #rows(entries: readonly JournalEntry[]): Promise<HarnessRow[]> {
    const written = new Map(entries.flatMap((entry) => entry.rows).map((row) => [row.row_id, row]))
    const values = new Map<string, Record<string, Json>>()
    for (const slug of new Set([...written.values()].map(({ dataset }) => dataset))) {
      for (const row of await this.rehearsal.fixture(this.caller, "rows", slug)) values.set(row.id, row.values)
    }
    return [...written.values()].map((row) => ({ ...row, values: values.get(row.row_id) ?? {} }))
  }

  #broadcasts(): Broadcast[] {
    const fresh = this.rehearsal.broadcasts.of(this.caller.organization.id).filter(({ id }) => !this.#heard.has(id))
    for (const { id } of fresh) this.#heard.add(id)
    const open = fresh.filter(({ room }) => room.startsWith("p:")).map(({ channel, data }) => JSON.stringify([channel, data]))
    return fresh
      .filter(({ room }) => room.startsWith("c:"))
      .map(({ channel, event, data }) => ({ channel, event, data, public: open.includes(JSON.stringify([channel, data])) }))
  }
}

export function integrationUrl(slug: string): string {
  return `https://${slug}.integration.test`
}

function isOpen({ state }: { readonly state: string }): boolean {
  return state === "pending" || state === "running"
}

export function asJson(text: string): Json {
  return jsonOrText(text) as Json
}

// The sender of a rehearsed event. Signs like the real sender, by the rules of the auth mode.

interface Sender {
  readonly hasSecret: boolean
  /** Secret of the auth mode's tests. */
  readonly testSecret: string
  /** Throws `unimplemented` if only the real sender can sign. */
  sign(secret: string, request: InboundRequest, pipeline: SignArgs<unknown, TokenRecord>["pipeline"]): Promise<SignedParts>
}

/** Returns undefined for an unknown auth mode. */
function senderOf(
  { registry, container }: Runtime,
  { auth_mode, auth_config }: Pick<PipelineDocument, "auth_mode" | "auth_config">,
): Sender | undefined {
  const mode = registry.get(AuthModes, auth_mode)
  if (!mode) return undefined
  const { secret: _, ...given } = auth_config
  const config: unknown = mode.config.parse(given)
  return {
    hasSecret: mode.secret(config) !== "none",
    testSecret: mode.testSecret?.(config) ?? "test-secret-test-secret",
    async sign(secret, request, pipeline) {
      if (mode.sign) return mode.sign({ config, secret, request, pipeline, deps: container.all(mode.inject) })
      const message = `The auth mode ${mode.mode} cannot sign for tests; give captured signed headers.`
      throw new AppError("unimplemented", message, { reason: "cannot_sign" })
    },
  }
}
