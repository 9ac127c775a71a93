// Runs events through their stages. Events of the same turn run each stage as a batch.
import type { Reply } from "../../contract/action.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Logger } from "../../kernel/log.ts"
import { runInRequest } from "../../kernel/request-scope.ts"
import { inStage, isTracing } from "../../kernel/tracing.ts"
import { noteTiming } from "../journal/draft.ts"
import { isPromise } from "../run/step.ts"
import { acceptedReply } from "./answer.ts"
import type { EventContext } from "./event.ts"
import { isLarge } from "./transform.ts"

/** The reply that ends the event. Undefined if the next stage follows. */
export type StageResult = Reply | undefined

export interface Stage {
  /** Name of its span; absent for synchronous stages. */
  readonly span?: string
  /** Name of its duration in the entry. */
  readonly timing?: string
  /** Runs code of plugins. A batch shares its turn, so each event then enters the scope of its own request. */
  readonly isScoped?: boolean
  /** Returns a promise only for asynchronous work: a promise per stage was a tenth of the cost of an event. */
  readonly take: (event: EventContext) => StageResult | Promise<StageResult>
}

export interface StagesArgs {
  readonly clock: Clock
  readonly log: Logger
  readonly observe: (event: EventContext) => void
  /** Returns the reply to an event after an error in its stage. Must not throw. */
  readonly broken: (event: EventContext, error: unknown) => Reply
}

/** An event between its stages. */
interface InFlightEvent {
  readonly event: EventContext
  readonly stages: readonly Stage[]
  readonly traced: boolean
  /** Index of its next stage. */
  next: number
  readonly settle: (reply: Reply) => void
}

const maxBatch = 32

export class StageRunner {
  readonly #args: StagesArgs

  /**
   * Batches of new events and of resumed events, one per turn of the event loop. The code of a stage then stays in the
   * processor's caches. The events in flight and the requests of a turn bound a batch.
   */
  readonly #entered = new Gathering<InFlightEvent>(setImmediate, maxBatch, (batch) => this.#advance(batch))
  readonly #resumed = new Gathering<InFlightEvent>(queueMicrotask, maxBatch, (batch) => this.#advance(batch))

  constructor(args: StagesArgs) {
    this.#args = args
  }

  /** Never rejects. The event is in flight on its pipeline until its reply. */
  run(event: EventContext, stages: readonly Stage[]): Promise<Reply> {
    event.loaded.inFlight++
    return new Promise((settle) => {
      const traced = isTracing()
      const inFlight = { event, stages, traced, next: 0, settle }
      // A span has one parent, so traced events form no batch.
      if (traced) this.#advance([inFlight])
      else this.#entered.add(inFlight)
    })
  }

  /** Runs a stage of the whole batch before the next stage. */
  #advance(batch: readonly InFlightEvent[]): void {
    for (let ready = batch; ready.length > 0; ) ready = ready.filter((inFlight) => this.#runNext(inFlight))
  }

  /** Returns true if the event continues synchronously. */
  #runNext(inFlight: InFlightEvent): boolean {
    const { event, stages, traced } = inFlight
    const { broken, clock } = this.#args
    const stage = stages[inFlight.next++]
    if (!stage) return this.#end(inFlight, event.reply ?? acceptedReply(event.executionId))
    const started = stage.timing ? clock.monotonic() : 0
    let result: StageResult | Promise<StageResult>
    try {
      if (stage.span && traced) result = inStage(stage.span, () => stage.take(event))
      else if (stage.isScoped && event.scope) result = runInRequest(event.scope, stage.take, event)
      else result = stage.take(event)
    } catch (error) {
      return this.#end(inFlight, broken(event, error))
    }
    if (isPromise(result)) {
      ;(result as Promise<StageResult>).then(
        (settled) => {
          if (stage.timing) noteTiming(event.entry, stage.timing, clock.monotonic() - started)
          if (settled) this.#end(inFlight, settled)
          else if (!this.#splitsTurn(inFlight)) {
            if (traced) this.#advance([inFlight])
            else this.#resumed.add(inFlight)
          }
        },
        (error: unknown) => this.#end(inFlight, broken(event, error)),
      )
      return false
    }
    if (stage.timing) noteTiming(event.entry, stage.timing, clock.monotonic() - started)
    return result ? this.#end(inFlight, result) : !this.#splitsTurn(inFlight)
  }

  /** Returns true if the next stage runs in another turn. A large event has a turn for each of its stages. */
  #splitsTurn(inFlight: InFlightEvent): boolean {
    const { request, visible } = inFlight.event
    if (!isLarge(request?.body ?? visible.body)) return false
    setImmediate(() => this.#advance([inFlight]))
    return true
  }

  /** Returns false: the event has no next stage. Must not throw, because the rest of the batch continues. */
  #end({ event, settle }: InFlightEvent, reply: Reply): false {
    event.reply = reply
    event.claim?.release()
    if (--event.loaded.inFlight === 0) event.loaded.idle?.()
    settle(reply)
    try {
      this.#args.observe(event)
    } catch (error) {
      this.#args.log.error({ err: error, execution: event.entry.id }, "an event that ended could not be counted")
    }
    return false
  }
}

/** Collects items until a scheduled moment, then passes them on in groups. The first item schedules the moment. */
class Gathering<T> {
  readonly #schedule: (run: () => void) => void
  readonly #run: (group: T[]) => void
  readonly #maxGroup: number
  #items: T[] = []

  constructor(schedule: (run: () => void) => void, maxGroup: number, run: (group: T[]) => void) {
    this.#schedule = schedule
    this.#maxGroup = maxGroup
    this.#run = run
  }

  add(item: T): void {
    if (this.#items.push(item) === 1) this.#schedule(() => this.#handOn())
  }

  /** New items during the run wait for the next group. */
  #handOn(): void {
    const items = this.#items
    this.#items = []
    for (let at = 0; at < items.length; at += this.#maxGroup) this.#run(items.slice(at, at + this.#maxGroup))
  }
}
