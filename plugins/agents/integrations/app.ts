// An app that can be connected: what its credentials look like and how a request to it is made. Most are documents
// (apps/documents, and a user's own); plugins add others, and `http` is for any API that takes fixed headers.
import type { z } from "zod"
import { AppError, type Json, type OutgoingHttp, type OutgoingRequest, token } from "#core"
import type { AppDocument, TestCall } from "./apps/document.ts"
import type { OAuthProvider } from "./apps/oauth-provider.ts"
import type { ServiceAccount } from "./apps/service-account.ts"

export interface IntegrationRequest {
  readonly method: string
  /** Below the app's base; starts with `/`. */
  readonly path: string
  readonly query?: Readonly<Record<string, Json>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: Json | undefined
  /** A file to be fetched in place of `path`, by an absolute URL that the app's API gave: at the base's origin, or at one that the app names for files. */
  readonly file?: { readonly url: string; readonly maxBytes: number }
}

export interface ConnectUrlArgs {
  readonly integrationId: string
  readonly organization: string
  /** Empty: back to the service's own page. */
  readonly returnUrl: string
  readonly scopes: readonly string[]
}

/**
 * `native`: credentials are given and kept here; with `oauth` or `connectUrl`, access may be granted instead. `oauth`, `broker`: the
 * user grants access at a URL that the app names.
 */
export interface IntegrationApp<C extends z.ZodType = z.ZodType> {
  /** What callers say; lower case. */
  readonly name: string
  readonly summary: string
  readonly kind: "native" | "oauth" | "broker"
  /** Of an app that is a document. */
  readonly document?: AppDocument
  /** Id and revision of the document of an organization's own app, as read. */
  readonly own?: { readonly id: string; readonly revision: number }
  /** A strict object. Its messages must not repeat values. */
  readonly credentials: C
  /** What is wrong with well-formed credentials; throws AppError that does not repeat them. */
  check?(credentials: z.output<C>, deps: { readonly http: OutgoingHttp }): Promise<void> | void
  /**
   * The request as it goes out, credentials in place. Throws `invalid_argument` for one that would leave the app's base, or
   * `base`, where an app has other hosts that take the same credentials.
   */
  request(credentials: z.output<C>, request: IntegrationRequest, base?: string): OutgoingRequest
  /** The call that proves the credentials; undefined where these name none. */
  test?(credentials: z.output<C>): TestCall | undefined
  /** The authorization server whose grants this plugin gets and keeps; a request is then made with `{ access_token }`. */
  readonly oauth?: OAuthProvider
  /** Takes service-account JSON as credentials; a request is then made with an access token. */
  readonly serviceAccount?: ServiceAccount
  /** Of other apps: where the user goes to grant access. */
  connectUrl?(args: ConnectUrlArgs): Promise<string>
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds apps of every kind of credentials.
export type AnyIntegrationApp = IntegrationApp<any>

export function defineIntegrationApp<C extends z.ZodType>(app: IntegrationApp<C>): IntegrationApp<C> {
  return app
}

export interface IntegrationApps {
  /** To be called while services are created. Throws when the name is taken. */
  add(app: AnyIntegrationApp): void
  all(): readonly AnyIntegrationApp[]
}

export const IntegrationApps = token<IntegrationApps>("IntegrationApps")

export function createIntegrationApps(...first: AnyIntegrationApp[]): IntegrationApps {
  const apps = new Map<string, AnyIntegrationApp>()
  const add = (app: AnyIntegrationApp): void => {
    if (apps.has(app.name)) throw new Error(`Two integration apps are named "${app.name}"; rename one.`)
    apps.set(app.name, app)
  }
  first.forEach(add)
  return {
    add,
    all: () => [...apps.values()],
  }
}

export function unknownApp(name: string, appNames: readonly string[]): AppError {
  const message = `The app ${JSON.stringify(name.slice(0, 100))} does not exist. Apps that can be connected: ${appNames.join(", ")}.`
  return new AppError("invalid_argument", message, {
    reason: "unknown_app",
    apps: [...appNames],
    fields: [{ path: "app", message: "unknown app" }],
  })
}
