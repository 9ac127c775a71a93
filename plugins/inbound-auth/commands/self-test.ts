// Judges every published vector that ships: each must verify as it stands, and none with its body or secret changed.
import { verifyCaptured } from "../captured.ts"
import { type PublishedVector, publishedVectors } from "../vectors/published.ts"

export interface VectorResult {
  readonly provider: string
  readonly source: string
  readonly url: string
  readonly ok: boolean
  /** What was wrong; empty when nothing. */
  readonly problem: string
}

export function selfTest(vectors: readonly PublishedVector[] = publishedVectors): Promise<VectorResult[]> {
  return Promise.all(
    vectors.map(async (vector) => {
      const problem = await problemOf(vector)
      return { provider: vector.provider, source: vector.source, url: vector.url, ok: problem === "", problem }
    }),
  )
}

async function problemOf({ provider, secret, request, now_s }: PublishedVector): Promise<string> {
  const judge = (change: { secret?: string; body?: string }) =>
    verifyCaptured({
      provider,
      secret: change.secret ?? secret,
      request: { ...request, body: change.body ?? request.body },
      now: now_s * 1_000,
    })
  const verdict = await judge({})
  if (!verdict.ok) return `${verdict.cause}: ${verdict.message}`
  if ((await judge({ body: `${request.body}&x=1` })).ok) return "verified with its body changed"
  const other = secret.replace(/[A-Za-z0-9](?=[^A-Za-z0-9]*$)/, (last) => (last === "A" ? "B" : "A"))
  if ((await judge({ secret: other })).ok) return "verified with another secret"
  return ""
}
