// Providers that first ask an endpoint to prove itself: the auth mode knows the answer; a secret that arrives with the
// question is stored once.
import type { HandshakeResponse, InboundRequest } from "../../contract/auth-mode.ts"
import type { HttpAnswer } from "../event/answer.ts"
import type { LoadedPipeline } from "../event/loaded-pipelines.ts"
import type { PipelineSource } from "../source.ts"

/** undefined, at once, for what is not a handshake. */
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
  // The provider must not sign with a secret that the pipeline does not have.
  if (deliveredSecret !== undefined && !(await source.keepDeliveredSecret(loaded.stored, deliveredSecret))) return { status: 409, body: "" }
  return {
    status: answer.status,
    headers: { "content-type": "text/plain; charset=utf-8", ...answer.headers },
    body: request.method === "HEAD" ? "" : answer.body,
  }
}
