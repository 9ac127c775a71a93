// Builds the proof for a sender's request without disclosure of a secret. A signature over the body proves only this event, so it
// can be shown. A token, or a signature without the body, would prove any event. For these the result lists only the names of
// headers and parameters.
import type { AnyAuthMode, InboundRequest, SignedParts } from "../../contract/auth-mode.ts"
import type { Deps, TokenRecord } from "../../kernel/di.ts"
import { AppError } from "../../kernel/errors.ts"
import type { StoredPipeline } from "../source.ts"
import type { LoadedPipeline } from "./loaded-pipelines.ts"

export interface Proof {
  /**
   * `none`: no proof is needed. `signed`: headers and query contain the signature. `secret`: the proof is the secret or
   * equivalent to it, and the values in `headers` and `query` are empty. `sender`: only the sender can create the proof.
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
  /** The request without proof. The signature ignores fields under a name of the proof. */
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
    // Signs twice. Values that change with the time are signed again. The original id stays.
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

/** Returns the current secret during a rotation. */
function current({ secrets }: StoredPipeline): string | undefined {
  return (secrets.find(({ endsAt }) => endsAt === undefined) ?? secrets[0])?.value
}

function emptied(parts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(parts).map((name) => [name, ""]))
}
