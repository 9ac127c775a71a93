// The context of an event from arrival to reply. Each stage reads the results of earlier stages and adds its own.
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

/** Input from a source. */
export interface EventArgs {
  readonly loaded: LoadedPipeline
  /** A fresh entry. Its id is the execution's id. */
  readonly entry: JournalEntry
  /** Unmodified headers. User agent, language, geography and the test marker come from them. */
  readonly headers: Headers
  /** The carrying request. Absent for internal events, because they need no verification. */
  readonly request?: InboundRequest
  /** The event in the form for pipelines. For a request it is set after verification. */
  readonly visible?: StoredPayload & { readonly body: string }
  /** The first execution of a replayed event. */
  readonly origin?: JournalEntry | undefined
  /** RFC 3339. Time at which another pipeline received the data. */
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
  /** Seeds the transform and identifies rows. In a replay it is the first execution's id. */
  readonly originId: string
  /** Base of idempotency keys: the origin's id, or the deduplication key. */
  identity: string
  /** RFC 3339. Receipt time of the origin. */
  readonly receivedAt: string
  readonly dataSince: string | undefined
  readonly depth: number
  readonly isReplay: boolean
  /** Returns the client's address. */
  readonly addressOf: (() => string) | undefined
  /** The event without proof: body as JSON text, headers and query. */
  visible: StoredPayload & { readonly body: string }
  /** Page envelope with precedence over the body's envelope. It comes from a viewer's claims or from the replayed event. */
  envelopeOverride: Partial<PageEnvelope> | undefined
  isTest: boolean
  claim: Claim | undefined
  /** The request that waits for the reply. */
  readonly scope: RequestScope | undefined
  /** Files of the form until their storage. */
  files: readonly ReceivedFile[] = []
  /** Set after verification of a request. */
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
  /** Id of the event's journal entry: its own entry, or a shared entry. */
  journalId: string
  /** The error behind a request to send the event again. */
  fault: AppError | undefined
  /** False if its parts are counted instead. */
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
