// An app that can be connected: the form of its credentials, and its requests. Most apps are documents (apps/documents, and user
// documents). Plugins add others. `http` is for any API with fixed headers.
import type { z } from "zod"
import { AppError, type Json, type OutgoingHttp, type OutgoingRequest, token } from "#core"
import type { AppDocument, TestCall } from "./apps/document.ts"
import type { OAuthProvider } from "./apps/oauth-provider.ts"
import type { ServiceAccount } from "./apps/service-account.ts"

export interface IntegrationRequest {
  readonly method: string
  /** Relative to the app's base. Starts with `/`. */
  readonly path: string
  readonly query?: Readonly<Record<string, Json>> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: Json | undefined
  /**
   * A file to fetch instead of `path`, by an absolute URL from the app's API. The URL is at the base's origin, or at an origin
   * for files.
   */
  readonly file?: { readonly url: string; readonly maxBytes: number }
}

export interface ConnectUrlArgs {
  readonly integrationId: string
  readonly organization: string
  /** Empty: the service's own page. */
  readonly returnUrl: string
  readonly scopes: readonly string[]
}

/**
 * `native`: the service stores credentials. With `oauth` or `connectUrl`, access may be granted instead. `oauth`, `broker`: the
 * user grants access at a URL of the app.
 */
export interface IntegrationApp<C extends z.ZodType = z.ZodType> {
  /** The app's name for callers, in lower case. */
  readonly name: string
  readonly summary: string
  readonly kind: "native" | "oauth" | "broker"
  /** Set if the app is a document. */
  readonly document?: AppDocument
  /** Id and revision of the document of an organization's own app, as read. */
  readonly own?: { readonly id: string; readonly revision: number }
  /** A strict object. Its messages must not contain values. */
  readonly credentials: C
  /** Checks well-formed credentials. Throws an AppError without the credentials. */
  check?(credentials: z.output<C>, deps: { readonly http: OutgoingHttp }): Promise<void> | void
  /**
   * Returns the outgoing request with credentials. Throws `invalid_argument` for a request outside the app's base. `base`
   * replaces the app's base for other hosts with the same credentials.
   */
  request(credentials: z.output<C>, request: IntegrationRequest, base?: string): OutgoingRequest
  /** Returns the test call of the credentials, or undefined if the app has no test call. */
  test?(credentials: z.output<C>): TestCall | undefined
  /** The authorization server of the app. This plugin obtains and stores its grants. Requests then use `{ access_token }`. */
  readonly oauth?: OAuthProvider
  /** Accepts service-account JSON as credentials. Requests then use an access token. */
  readonly serviceAccount?: ServiceAccount
  /** For other apps: returns the URL for the user's grant. */
  connectUrl?(args: ConnectUrlArgs): Promise<string>
}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds apps of every kind of credentials.
export type AnyIntegrationApp = IntegrationApp<any>

export function defineIntegrationApp<C extends z.ZodType>(app: IntegrationApp<C>): IntegrationApp<C> {
  return app
}

export interface IntegrationApps {
  /** Call while services are created. Throws if the name exists. */
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
