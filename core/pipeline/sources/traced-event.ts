// The span of an event, in the trace that its request carries: whose it is, and what became of it. Stages are its children.
import { fromHeaders, inSpan, SpanKind } from "../../kernel/tracing.ts"
import type { Answer } from "../event/answer.ts"
import type { EventContext } from "../event/event.ts"

export function tracedEvent({ stored, entry, rawHeaders }: EventContext, run: () => Promise<Answer>): Promise<Answer> {
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
