// Creates events from HTTP requests: received, refused before their body was read, or shed.
import type { IncomingHttpHeaders } from "node:http"
import type { Reply } from "../../contract/action.ts"
import type { HandshakeResponse, InboundRequest } from "../../contract/auth-mode.ts"
import type { AppError } from "../../kernel/errors.ts"
import { throwUncaught } from "../../kernel/promises.ts"
import type { RefusedBody } from "../../kernel/read-body.ts"
import { fromHeaders, inSpan, isTracing, SpanKind } from "../../kernel/tracing.ts"
import { answerReply, type HttpAnswer } from "../event/answer.ts"
import { EventContext } from "../event/event.ts"
import type { LoadedPipeline } from "../event/loaded-pipelines.ts"
import { headersAndSize } from "../event/request.ts"
import type { PipelineSource } from "../source.ts"
import { newEntry, type SourceServices } from "./source-services.ts"

export class HttpEvents {
  readonly #services: SourceServices

  constructor(services: SourceServices) {
    this.#services = services
  }

  /** Processes an event at the endpoint of an active pipeline. */
  receive(loaded: LoadedPipeline, request: InboundRequest, addressOf?: () => string): Promise<HttpAnswer> {
    const { processor } = this.#services
    const entry = newEntry(this.#services, loaded, { receivedAtMs: request.receivedAt })
    const event = new EventContext({ loaded, entry, headers: request.headers, request, ...(addressOf && { addressOf }) })
    if (isTracing()) return tracedEvent(event, async () => answerReply(await processor.process(event, processor.fromOutside)))
    return answerOf(processor.process(event, processor.fromOutside))
  }

  /** Refuses a request with an unread body. The entry has its headers and size only. */
  refuse(loaded: LoadedPipeline, request: InboundRequest, { refused, size }: RefusedBody): Promise<HttpAnswer> {
    const { processor } = this.#services
    const entry = newEntry(this.#services, loaded, { receivedAtMs: request.receivedAt })
    entry.payload_preview = headersAndSize(request.headers, size)
    const event = new EventContext({ loaded, entry, headers: request.headers, request })
    return answerOf(
      processor.process(
        event,
        processor.endingWith((each) => processor.reject.rejected(each, refused)),
      ),
    )
  }

  /** Counts a shed request in the journal of its pipeline. */
  shed(loaded: LoadedPipeline, headers: IncomingHttpHeaders, error: AppError): void {
    const { processor } = this.#services
    const event = new EventContext({ loaded, entry: newEntry(this.#services, loaded), headers })
    processor
      .process(
        event,
        processor.endingWith((each) => processor.reject.folded(each, error, "too_many")),
      )
      .catch(throwUncaught)
  }
}

export function answerOf(reply: Promise<Reply>): Promise<HttpAnswer> {
  return reply.then(answerReply)
}

/** The span of an event, in the trace of its request. Stages are its children. */
function tracedEvent({ stored, entry, rawHeaders }: EventContext, run: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
  const attributes = () => ({
    "millrace.pipeline": stored.slug,
    "millrace.pipeline_id": stored.id,
    "millrace.organization": stored.organization.id,
  })
  return fromHeaders(rawHeaders as Record<string, string | string[] | undefined>, () =>
    inSpan("event", { kind: SpanKind.SERVER, attributes }, async (span) => {
      const answer = await run()
      const { id, status, cause } = entry
      span.setAttributes({ "millrace.execution": id, "millrace.status": status, ...(cause === "" ? {} : { "millrace.cause": cause }) })
      span.setAttribute("http.response.status_code", answer.status)
      return answer
    }),
  )
}

// Answers the handshake of a provider. The auth mode computes the answer. A secret in the request is stored once.

/** Returns undefined immediately if the request is not a handshake. */
export function takeHandshake(
  loaded: LoadedPipeline,
  request: InboundRequest,
  source: () => PipelineSource,
): Promise<HttpAnswer> | undefined {
  const answer = loaded.verifier.handshake?.(request)
  return answer && keepAndAnswer(answer, loaded, request, source())
}

async function keepAndAnswer(
  answer: HandshakeResponse,
  loaded: LoadedPipeline,
  request: InboundRequest,
  source: PipelineSource,
): Promise<HttpAnswer> {
  const { deliveredSecret } = answer
  // Without this refusal the provider would sign with a secret unknown to the pipeline.
  if (deliveredSecret !== undefined && !(await source.keepDeliveredSecret(loaded.stored, deliveredSecret))) return { status: 409, body: "" }
  return {
    status: answer.status,
    headers: { "content-type": "text/plain; charset=utf-8", ...answer.headers },
    body: request.method === "HEAD" ? "" : answer.body,
  }
}
