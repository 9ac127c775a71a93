// The proof that the sender of a pipeline would put on a request, made here where that gives no secret away. A signature over
// the body proves this one event; a token, or a signature that leaves the body out, would prove any, and is told by the names
// of its places alone.
import type { AnyAuthMode, InboundRequest, SignedParts } from "../../contract/auth-mode.ts"
import type { Deps, TokenRecord } from "../../kernel/di.ts"
import { AppError } from "../../kernel/errors.ts"
import type { StoredPipeline } from "../source.ts"
import type { LoadedPipeline } from "./loaded-pipelines.ts"

export interface Proof {
  /**
   * `none`: nothing has to be proven; `signed`: headers and query hold the signature; `secret`: the sender shows its secret
   * itself, or a proof as good, where `headers` and `query` have empty texts; `sender`: only the sender can make it.
   */
  readonly kind: "none" | "signed" | "secret" | "sender"
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

type Unsigned = Omit<InboundRequest, "method" | "receivedAt">

interface ProofArgs {
  readonly loaded: Pick<LoadedPipeline, "stored" | "verifier">
  readonly mode: AnyAuthMode
  readonly deps: Deps<TokenRecord>
  /** Without proof; what it holds under a name of the proof is left out of what is signed. */
  readonly request: Unsigned
  readonly now: number
}

const fromSender: Proof = { kind: "sender", headers: {}, query: {} }

export async function proofOf({ loaded: { stored, verifier }, mode, deps, request, now }: ProofArgs): Promise<Proof> {
  const { secret: _, ...given } = stored.document.auth_config
  const config: unknown = mode.config.parse(given)
  const secret = verifier.coversBody ? current(stored) : (mode.testSecret?.(config) ?? "test-secret-test-secret")
  if (!mode.sign || (secret === undefined && mode.secret(config) !== "none")) return fromSender
  const pipeline = { id: stored.id, organization_id: stored.organization.id, owner_artifact_id: stored.document.owner_artifact_id }
  const sign = async (headers: InboundRequest["headers"]): Promise<SignedParts> =>
    (await mode.sign?.({
      config,
      secret: secret ?? "",
      request: { ...request, headers, method: "POST", receivedAt: now },
      pipeline,
      deps,
    })) ?? {}
  try {
    // A time that the event came with would be signed again; an id that it came with stays.
    const first = (await sign(request.headers)).headers ?? {}
    const kept = Object.entries(request.headers).filter(([name, value]) => first[name] === undefined || first[name] === value)
    const { headers = {}, query = {} } = await sign(Object.fromEntries(kept))
    if (Object.keys(headers).length + Object.keys(query).length === 0) return { kind: "none", headers, query }
    const shown = [...Object.values(headers), ...Object.values(query)]
    if (!verifier.coversBody || secret === undefined || shown.some((text) => text.includes(secret)))
      return { kind: "secret", headers: emptied(headers), query: emptied(query) }
    return { kind: "signed", headers, query }
  } catch (error) {
    if (error instanceof AppError && (error.code === "unimplemented" || error.code === "invalid_argument")) return fromSender
    throw error
  }
}

/** The secret that stays, where another is being rotated out. */
function current({ secrets }: StoredPipeline): string | undefined {
  return (secrets.find(({ endsAt }) => endsAt === undefined) ?? secrets[0])?.value
}

function emptied(parts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(parts).map((name) => [name, ""]))
}
