// Providers that first ask an endpoint to prove itself: the auth mode knows the answer; a secret that arrives with the
// question is stored once.
import type { InboundRequest } from "../../contract/auth-mode.ts"
import type { PipelineSource } from "../source.ts"
import type { Answer } from "./answer.ts"
import type { LivePipeline } from "./live-pipelines.ts"

export async function takeHandshake(live: LivePipeline, request: InboundRequest, source: PipelineSource): Promise<Answer | undefined> {
  const answer = live.verifier.handshake?.(request)
  if (!answer) return undefined
  if (answer.deliveredSecret !== undefined) await source.keepDeliveredSecret(live.stored, answer.deliveredSecret)
  return {
    status: answer.status,
    headers: { "content-type": "text/plain; charset=utf-8", ...answer.headers },
    body: request.method === "HEAD" ? "" : answer.body,
  }
}
