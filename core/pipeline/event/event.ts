// The context of one event, from its arrival to its reply: every stage reads what earlier ones left here, and adds its own.
import type { Reply } from "../../contract/action.ts"
import type { InboundRequest, Verdict } from "../../contract/auth-mode.ts"
import type { Json } from "../../contract/collection.ts"
import type { Envelope, PageEnvelope } from "../../contract/envelope.ts"
import type { AppError } from "../../kernel/errors.ts"
import { currentRequest, type RequestScope } from "../../kernel/request-scope.ts"
import type { ReceivedFile } from "../event-files.ts"
import type { Graph } from "../graph.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { StoredPayload } from "../journal/kept.ts"
import type { Execution, ExecutionInput, Failure } from "../run/execution.ts"
import type { StoredPipeline } from "../source.ts"
import { type Headers, taggedAsTest } from "../stamp/stamp.ts"
import type { Claim } from "./dedupe.ts"
import type { LoadedPipeline } from "./loaded-pipelines.ts"

/** What a source knows of an event before its first stage. */
export interface EventArgs {
  readonly loaded: LoadedPipeline
  /** A fresh entry; its id is the execution's. */
  readonly entry: JournalEntry
  /** As they arrived; user agent, language, geography and the test marker are read from them. */
  readonly headers: Headers
  /** The request that carries it; absent for events from inside, which are not verified. */
  readonly request?: InboundRequest
  /** The event as pipelines may see it; for a request, known once it is verified. */
  readonly visible?: StoredPayload & { readonly body: string }
  /** The first execution of the event, when this is a replay. */
  readonly origin?: JournalEntry | undefined
  /** RFC 3339. When another pipeline received the data. */
  readonly dataSince?: string | undefined
  readonly isTest?: boolean
  readonly addressOf?: () => string
}

const unread: StoredPayload & { readonly body: string } = Object.freeze({ body: "", headers: {}, query: {} })

export class EventContext implements ExecutionInput {
  readonly loaded: LoadedPipeline
  readonly entry: JournalEntry
  readonly rawHeaders: Headers
  readonly request: InboundRequest | undefined
  readonly stored: StoredPipeline
  readonly graph: Graph
  readonly executionId: string
  /** Seeds the transform and identifies rows: the first execution's id, in a replay. */
  readonly originId: string
  /** What idempotency keys are derived from: the origin's id, or the deduplication key. */
  identity: string
  /** RFC 3339, of the origin. */
  readonly receivedAt: string
  readonly dataSince: string | undefined
  readonly depth: number
  readonly isReplay: boolean
  /** The client's address, for who asks. */
  readonly addressOf: (() => string) | undefined
  /** The event without proof: body as JSON text, headers, query. */
  visible: StoredPayload & { readonly body: string }
  /** Page envelope that takes precedence over the body's: a viewer's claims, or that of the replayed event. */
  envelopeOverride: Partial<PageEnvelope> | undefined
  isTest: boolean
  claim: Claim | undefined
  /** The request that waits for the reply. */
  readonly scope: RequestScope | undefined
  /** Files of the form, until they are stored. */
  files: readonly ReceivedFile[] = []
  /** Set once a request is verified. */
  verdict: (Verdict & { ok: true }) | undefined

  // Set by transform.
  event: Json = null
  payload: Json = null
  envelope: Envelope = noEnvelope
  stamp: Readonly<Record<string, Json>> = noStamp

  // Set by run.
  execution: Execution | undefined
  failure: Failure | null = null
  reply: Reply | undefined
  /** Of the entry that tells of the event: its own, or the one that it was counted in. */
  journalId: string
  /** Why the event is to be sent again. */
  fault: AppError | undefined
  /** False where its parts are counted in its place. */
  isCounted = true

  constructor(args: EventArgs) {
    const { loaded, entry, origin } = args
    this.loaded = loaded
    this.entry = entry
    this.rawHeaders = args.headers
    this.request = args.request
    this.stored = loaded.stored
    this.graph = loaded.graph
    this.executionId = entry.id
    this.originId = origin?.id ?? entry.id
    this.identity = this.originId
    this.receivedAt = origin?.received_at ?? entry.received_at
    this.dataSince = args.dataSince ?? origin?.received_at
    this.depth = entry.depth
    this.isReplay = origin !== undefined
    this.addressOf = args.addressOf
    this.visible = args.visible ?? unread
    this.envelopeOverride = undefined
    this.isTest = args.isTest === true || taggedAsTest(args.headers)
    this.claim = undefined
    this.scope = args.request && currentRequest()
    this.verdict = undefined
    this.journalId = entry.id
    entry.is_test = this.isTest
  }

  get query(): Json {
    return this.visible.query as Json
  }
}

const noEnvelope: Envelope = Object.freeze({ received_at: "", is_test: false })
const noStamp: Readonly<Record<string, Json>> = Object.freeze({})
