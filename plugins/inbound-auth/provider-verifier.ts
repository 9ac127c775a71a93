// Builds the verifier of one pipeline from a provider's row: scheme, handshake, and event ID and type.
import type { HandshakeResponse, InboundRequest, Scripts, Verdict, VerificationSecret, Verifier } from "#core"
import type { FirstSeen } from "./checks/once-only.ts"
import type { Handshake } from "./handshakes/handshake.ts"
import { handshakes } from "./handshakes/table.ts"
import type { KeyFetcher } from "./key-fetcher.ts"
import type { ProviderConfig } from "./provider-settings.ts"
import { coversBody, type ProviderRow } from "./providers/table.ts"
import { contentOf } from "./request/content.ts"
import { guardCheck } from "./request/guarded.ts"
import { compileLift } from "./request/lift.ts"
import { RequestView } from "./request/view.ts"
import { prepareAdyenItems } from "./schemes/adyen-items.ts"
import { prepareDigest } from "./schemes/digest.ts"
import { prepareFetchedCertificate } from "./schemes/fetched-certificate.ts"
import { prepareJwt } from "./schemes/jwt.ts"
import { preparePublicKey } from "./schemes/public-key.ts"
import type { Scheme, SchemeContext } from "./schemes/scheme.ts"
import type { Match, Matcher } from "./schemes/signed-request.ts"
import { prepareStandardWebhooks } from "./schemes/standard-webhooks.ts"
import { prepareBasicAuth, prepareOpen, prepareToken } from "./schemes/token.ts"

interface ProviderVerifierArgs {
  readonly row: ProviderRow
  readonly config: ProviderConfig
  readonly secrets: readonly VerificationSecret[]
  readonly fetcher: KeyFetcher
  readonly firstSeen?: FirstSeen | undefined
  readonly note: (message: string) => void
  /** Organization of the events. */
  readonly organization?: string
  /** Reads XML. Absent outside a service. */
  readonly scripts?: Scripts | undefined
}

export function providerVerifier({
  row,
  config,
  secrets: namedSecrets,
  fetcher,
  firstSeen,
  note,
  organization = "",
  scripts,
}: ProviderVerifierArgs): Verifier {
  const secrets = namedSecrets.filter(({ value }) => value !== "")
  const match = prepareScheme(row.scheme, { secrets, config, fetcher, firstSeen })
  const { delivery } = row
  const liftId = compileLift(row.eventId)
  const liftType = compileLift(row.eventType)
  const verdictFor = (view: RequestView, { secretId, proof }: Match): Verdict => {
    const eventId = liftId(view)
    const eventType = liftType(view)
    return {
      ok: true,
      ...(secretId !== undefined && { secretId }),
      ...(proof !== undefined && { proof }),
      ...(eventId !== undefined && { eventId }),
      ...(eventType !== undefined && { eventType }),
    }
  }
  const answer: Handshake | undefined = row.handshake && handshakes[row.handshake]
  return {
    verify: guardCheck((view) => {
      const result = match(view)
      return result instanceof Promise ? result.then((resolved) => verdictFor(view, resolved)) : verdictFor(view, result)
    }, delivery),
    ...(delivery && { content: (request: InboundRequest) => contentOf(request, { delivery, organization, scripts }) }),
    ...(delivery?.get && { takesGet: true }),
    ...(delivery?.answer && { acknowledgement: { ...delivery.answer, headers: { "content-type": delivery.answer.type } } }),
    ...(answer && {
      handshake: (request: InboundRequest) =>
        answerHandshake(answer, { view: new RequestView(request, delivery), config, secrets, match, fetcher, note }),
    }),
    coversBody: coversBody(row.scheme),
    ...(row.ack_timeout_s !== undefined && { ackTimeoutS: row.ack_timeout_s }),
    retries: row.retries,
  }
}

/** An unparsable request is not a handshake. Verification then reports the problem. */
function answerHandshake(answer: Handshake, context: Parameters<Handshake>[0]): HandshakeResponse | undefined {
  try {
    return answer(context)
  } catch {
    return undefined
  }
}

function prepareScheme(scheme: Scheme, context: SchemeContext): Matcher {
  switch (scheme.kind) {
    case "standard_webhooks":
      return prepareStandardWebhooks(scheme, context)
    case "token_header":
    case "token_body":
      return prepareToken(scheme, context)
    case "basic_auth":
      return prepareBasicAuth(context)
    case "jwt":
      return prepareJwt(scheme, context)
    case "none":
      return prepareOpen(context)
    case "ecdsa":
    case "ed25519":
      return preparePublicKey(scheme, context)
    case "rsa":
      return "certificate" in scheme ? prepareFetchedCertificate(scheme, context) : preparePublicKey(scheme, context)
    default:
      return "items" in scheme ? prepareAdyenItems(context) : prepareDigest(scheme, context)
  }
}
