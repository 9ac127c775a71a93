// The stages of an event: verify, deduplicate, transform, run, commit, announce. Each source has its own order of stages. A 2xx
// response follows the commit.
import type { Reply } from "../../contract/action.ts"
import type { EventContent, InboundRequest, Verdict } from "../../contract/auth-mode.ts"
import type { PageEnvelope } from "../../contract/envelope.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import { acceptsFiles } from "../document.ts"
import type { EventFiles } from "../event-files.ts"
import type { SeenKey } from "../journal/collections.ts"
import { noteOutcome, notePayload, noteReply, noteVerdict } from "../journal/draft.ts"
import { Execution, type Failure } from "../run/execution.ts"
import { isPromise } from "../run/step.ts"
import { acceptedReply } from "./answer.ts"
import { type ReadOptions, readBodyText, refusalOfShape } from "./body.ts"
import type { Committer } from "./commit.ts"
import { type Dedupe, noteRepeat } from "./dedupe.ts"
import type { EventContext } from "./event.ts"
import { commitWithFiles, filesOf } from "./files.ts"
import type { LoadedPipeline } from "./loaded-pipelines.ts"
import { noteActionFailed, Rejector } from "./reject.ts"
import { shownHeaders, withoutFields, withoutProof } from "./request.ts"
import { type Stage, type StageResult, StageRunner } from "./stages.ts"
import { withStorableNames } from "./storable-names.ts"
import { isLarge, ownTurn, type TransformServices, transform } from "./transform.ts"

export interface ProcessorServices extends TransformServices {
  readonly clock: Clock
  readonly log: Logger
  readonly dedupe: Dedupe
  readonly commit: Committer
  /** Absent in a dry run, because a dry run stores no files. */
  readonly files?: EventFiles
  /** `inbound.max_body_bytes`. It also limits the fields of a form without its files. */
  readonly maxBodyBytes?: number
  /** Runs the graph up to the reply. Returns the failure of the execution, or null. */
  readonly run: (execution: Execution) => Failure | null | Promise<Failure | null>
  readonly signal: AbortSignal
  readonly observe: (event: EventContext) => void
}

export class EventProcessor {
  readonly reject: Rejector
  readonly #services: ProcessorServices

  readonly #stages: StageRunner

  readonly #verify: Stage = { span: "verify", timing: "verify", isScoped: true, take: (event) => this.#takeVerdict(event) }
  readonly #read: Stage = { take: (event) => this.#readBody(event) }
  readonly #dedupe: Stage = { take: (event) => this.#deduplicate(event) }
  readonly #transform: Stage = { span: "transform", timing: "sandbox", take: (event) => this.#transformed(event) }
  readonly #run: Stage = { span: "run", timing: "run", isScoped: true, take: (event) => this.#execute(event) }
  readonly #commit: Stage = { span: "commit", isScoped: true, take: (event) => this.#committed(event) }
  readonly #announce: Stage = { take: (event) => this.#announced(event) }

  /** Stages of a request at an endpoint. */
  readonly fromOutside = [this.#verify, this.#read, this.#dedupe, this.#transform, this.#run, this.#commit, this.#announce]
  /** Stages of an internal event. They include no verification. */
  readonly fromInside = [this.#dedupe, this.#transform, this.#run, this.#commit, this.#announce]
  /** Stages of a replay. The first execution already handled deduplication. */
  readonly again = [this.#transform, this.#run, this.#commit, this.#announce]
  /** Stages of a request for an intake: verify, read, then the plugin's stage. */
  handedTo(intake: Stage["take"]): readonly Stage[] {
    return [this.#verify, this.#read, { span: "intake", isScoped: true, take: intake }]
  }

  /** Stages of an event that its source refused. */
  endingWith(take: Stage["take"]): readonly Stage[] {
    return [{ take }]
  }

  constructor(services: ProcessorServices) {
    this.#services = services
    this.reject = new Rejector(services.commit, services.log)
    this.#stages = new StageRunner({ ...services, broken: (event, error) => this.reject.broken(event, error) })
  }

  /** Never rejects. The event is in flight on its pipeline until its reply. */
  process(event: EventContext, stages: readonly Stage[]): Promise<Reply> {
    return this.#stages.run(event, stages)
  }

  /** Counts the pipeline as in flight during `run`, without an event. */
  async holding<T>(loaded: LoadedPipeline, run: () => Promise<T>): Promise<T> {
    loaded.inFlight++
    try {
      return await run()
    } finally {
      if (--loaded.inFlight === 0) loaded.idle?.()
    }
  }

  #takeVerdict(event: EventContext): StageResult | Promise<StageResult> {
    if (!event.request) return undefined
    // Checks the shape first, because several kinds of proof require a parsed body.
    const refused = refusalOfShape(event.request.body)
    if (refused) return this.reject.rejected(event, refused)
    return isLarge(event.request.body) ? ownTurn().then(() => this.#judged(event)) : this.#judged(event)
  }

  #judged(event: EventContext): StageResult | Promise<StageResult> {
    if (!event.request) return undefined
    const verdict = verdictOf(event.loaded, event.request)
    return "then" in verdict ? verdict.then((settled) => this.#verified(event, settled)) : this.#verified(event, verdict)
  }

  #verified(event: EventContext, given: Verdict): StageResult | Promise<StageResult> {
    const { entry, loaded, request } = event
    if (!request) return undefined
    const verdict = inTime(given, loaded, request.receivedAt)
    noteVerdict(entry, verdict)
    if (!verdict.ok) return this.reject.unverified(event)
    event.verdict = verdict
    return undefined
  }

  /** Returns undefined if the pipeline accepts no files. */
  #referrerOf(event: EventContext): ReadOptions["refer"] {
    const keeper = this.#services.files?.keeper
    if (!keeper || !acceptsFiles(event.stored.document) || event.loaded.intake) return undefined
    return (files) => {
      event.files = files
      return keeper.refer(filesOf(event), files)
    }
  }

  /** Reads the body as JSON text. Removes the proof's fields from the event for pipelines. */
  #readBody(event: EventContext): StageResult | Promise<StageResult> {
    const { request, loaded } = event
    if (!request) return undefined
    try {
      const content = loaded.verifier.content?.(request)
      if (!isPromise(content)) return this.#readContent(event, request, content as EventContent | undefined)
      return (content as Promise<EventContent>).then(
        (settled) => this.#readContent(event, request, settled),
        (error: unknown) => this.reject.rejected(event, asAppError(error)),
      )
    } catch (error) {
      return this.reject.rejected(event, asAppError(error))
    }
  }

  /** `content` is the event in a decoded form, if the sender has its own format. */
  #readContent(event: EventContext, request: InboundRequest, content: EventContent | undefined): StageResult | Promise<StageResult> {
    const given = request.headers["content-type"]
    const type = content?.contentType ?? (typeof given === "string" ? given : given?.[0])
    try {
      // A proof in a form field can only be hidden as a form field, not within JSON.
      const mayBeJson = !event.verdict?.proof?.body?.length
      const { warnings } = event.entry
      const refer = this.#referrerOf(event)
      const bytes = content?.body ?? request.body
      const read = readBodyText(bytes, type, { mayBeJson, refer })
      const { maxBodyBytes = Number.POSITIVE_INFINITY } = this.#services
      if (bytes.length > maxBodyBytes && read.text.length > maxBodyBytes) return this.reject.rejected(event, tooLarge(maxBodyBytes))
      warnings.push(...read.warnings)
      return this.#bodyRead(
        event,
        withStorableNames(read.text, (warning) => void warnings.push(warning)),
      )
    } catch (error) {
      return this.reject.rejected(event, asAppError(error))
    }
  }

  #bodyRead(event: EventContext, text: string): undefined {
    const { entry, request, verdict } = event
    if (!request) return undefined
    const proof = verdict?.proof
    const hidden = proof?.body !== undefined && proof.body.length > 0
    const body = hidden ? withoutFields(text, proof.body) : text
    notePayload(entry, body ?? "(not shown: it holds the proof, and is not JSON)")
    event.visible = {
      // A body that is not JSON is refused in a later stage and never stored.
      body: body ?? text,
      headers: shownHeaders(request.headers, proof?.headers),
      query: withoutProof(request.query as Record<string, string | string[]>, proof?.query),
    }
    event.envelopeOverride = verdict?.claims as PageEnvelope | undefined
    return undefined
  }

  #deduplicate(event: EventContext): StageResult | Promise<StageResult> {
    if (!event.graph.dedupe) return undefined
    try {
      const claimed = this.#services.dedupe.claim(event)
      return claimed?.then(
        (seen) => seen && this.#repeated(event, seen),
        (error: unknown) => this.#unclaimed(event, error),
      )
    } catch (error) {
      return this.#unclaimed(event, error)
    }
  }

  #unclaimed(event: EventContext, error: unknown): Reply | Promise<Reply> {
    if (!(error instanceof AppError) || error.code !== "invalid_argument") throw error
    return this.reject.rejected(event, error)
  }

  /** Returns the first reply and journals the event as a repeat. */
  #repeated(event: EventContext, seen: SeenKey): Promise<Reply> {
    const { reply } = seen
    noteRepeat(event, seen)
    noteReply(event.entry, reply)
    return this.#services.commit.entryOnly(event, false).then(() => reply)
  }

  #transformed(event: EventContext): StageResult | Promise<StageResult> {
    if (event.entry.payload_preview === "") notePayload(event.entry, event.visible.body)
    return transform(event, this.#services)?.then((failure) => failure && this.reject.bySandbox(event, failure))
  }

  #execute(event: EventContext): undefined | Promise<undefined> {
    const { signal, log } = this.#services
    const execution = new Execution(event, { signal, log })
    event.execution = execution
    // A transform that returns null drops the event. The event is accepted without steps.
    const failure = event.event === null ? null : this.#services.run(execution)
    return isPromise(failure)
      ? (failure as Promise<Failure | null>).then((settled) => this.#executed(event, execution, settled))
      : this.#executed(event, execution, failure)
  }

  #executed(event: EventContext, execution: Execution, failure: Failure | null): undefined {
    const { entry } = event
    entry.steps = execution.steps
    if (failure) noteActionFailed(event, failure, this.#services.signal.aborted)
    else {
      noteOutcome(entry, "accepted", "")
      entry.rows = execution.rows
      entry.warnings.push(...execution.warnings)
      event.reply = execution.reply ?? acceptedReply(entry.id, event.request && event.loaded.verifier.acknowledgement)
    }
    if (event.reply) noteReply(entry, event.reply)
    return undefined
  }

  #committed(event: EventContext): Promise<StageResult> {
    const { files, execution, failure } = event
    const keeper = this.#services.files?.keeper
    if (!keeper || files.length === 0 || !execution || failure) return this.#written(event)
    const { log } = this.#services
    return commitWithFiles({ keeper, log, reject: this.reject, write: () => this.#written(event) }, event, execution)
  }

  #written(event: EventContext): Promise<StageResult> {
    return this.#services.commit.commit(event).then((seen) => seen && this.#repeated(event, seen))
  }

  #announced({ stored, entry }: EventContext): undefined {
    this.#services.commit.announce(stored, entry)
    return undefined
  }
}

function tooLarge(limit: number): AppError {
  const message = `The fields of the form are larger than ${limit} bytes.`
  return new AppError("resource_exhausted", message, { reason: "body_too_large", max_bytes: limit }, { status: 413 })
}

/** Providers sign a body before or after its compression, so both forms are verified. */
function verdictOf({ verifier }: LoadedPipeline, request: InboundRequest): Verdict | Promise<Verdict> {
  const { encodedBody } = request
  if (!encodedBody) return verifier.verify(request)
  const verdict = verifier.verify({ ...request, body: encodedBody })
  if ("then" in verdict) return verdict.then((settled) => (settled.ok ? settled : verifier.verify(request)))
  return verdict.ok ? verdict : verifier.verify(request)
}

/** Refuses a rotated secret after the end of its overlap, however old the prepared verifier is. */
function inTime(verdict: Verdict, loaded: LoadedPipeline, now: number): Verdict {
  if (!verdict.ok || verdict.secretId === undefined) return verdict
  const endsAt = loaded.stored.secrets.find((secret) => secret.id === verdict.secretId)?.endsAt
  if (endsAt === undefined || endsAt > now) return verdict
  return { ok: false, cause: "wrong_secret", message: "The secret was rotated, and its overlap has ended." }
}
