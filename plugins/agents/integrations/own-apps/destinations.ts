// Destinations of credentials in an app document. They must not change while connections exist.
import { AppError, type OutgoingHttp } from "#core"
import { type AppDocument, filled } from "../apps/document.ts"

/** Returns origins by field. Parameters stay as placeholders. */
export function destinationsOf({ base_url, auth: { oauth2, service_account } }: AppDocument): Record<string, string> {
  const origin = oauth2?.origin_from
  const urls = {
    base_url,
    ...(oauth2 ? { "auth.oauth2.authorization_url": oauth2.authorization_url, "auth.oauth2.token_url": oauth2.token_url } : {}),
    ...(oauth2?.revocation_url ? { "auth.oauth2.revocation_url": oauth2.revocation_url } : {}),
    ...(service_account ? { "auth.service_account.token_url": service_account.token_url } : {}),
    ...(origin?.url ? { "auth.oauth2.origin_from.url": origin.url } : {}),
  }
  const origins = Object.entries(urls).map(([field, url]) => [field, /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? url])
  return { ...Object.fromEntries(origins), ...(origin ? { "auth.oauth2.origin_from.hosts": origin.hosts.join(" ") } : {}) }
}

/** Throws `invalid_argument` for a URL blocked by the service. */
export function checkDestinations(http: OutgoingHttp, document: AppDocument): void {
  for (const [field, origin] of Object.entries(destinationsOf(document))) {
    if (!/^https?:/i.test(origin)) continue
    try {
      http.check(filled(origin, () => "x"))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      throw new AppError("invalid_argument", `The app is refused: ${field} cannot be called. ${error.message}`, {
        reason: "app_destination_refused",
        fields: [{ path: `document.${field}`, message: error.message }],
      })
    }
  }
}
