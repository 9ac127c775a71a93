// The span of an event, in the trace that its request carries: whose it is, and what became of it. Stages are its children.
import type { InboundRequest } from "../../contract/auth-mode.ts"
import { fromHeaders, inSpan, SpanKind } from "../../kernel/tracing.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { Answer } from "./answer.ts"
import type { LivePipeline } from "./loaded-pipelines.ts"

export function tracedEvent(
  { stored }: LivePipeline,
  request: InboundRequest,
  run: (ended: (entry: JournalEntry) => void) => Promise<Answer>,
): Promise<Answer> {
  const attributes = () => ({
    "millrace.pipeline": stored.slug,
    "millrace.pipeline_id": stored.id,
    "millrace.organization": stored.organization.id,
  })
  return fromHeaders(request.headers as Record<string, string | string[] | undefined>, () =>
    inSpan("event", { kind: SpanKind.SERVER, attributes }, async (span) => {
      const answer = await run(({ id, status, cause }) =>
        span.setAttributes({ "millrace.execution": id, "millrace.status": status, ...(cause === "" ? {} : { "millrace.cause": cause }) }),
      )
      span.setAttribute("http.response.status_code", answer.status)
      return answer
    }),
  )
}
