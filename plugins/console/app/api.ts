// The API for the app: the declared operations of the service, called with the browser's session.
import { type Signal, signal } from "@preact/signals"
import { type CallOptions, type ClientError, createClient, type Operations, type OutputOf } from "#client"
import type { CatalogOperation } from "../catalog.ts"
import { reportLost, returns } from "./connection.ts"
import { fetchPatiently } from "./patient-fetch.ts"

export type Operation = CatalogOperation
export type Row = Readonly<Record<string, unknown>>
/** Response of an operation, by the operation's schema. */
export type Output<Name extends keyof Operations> = OutputOf<Operations[Name]>

export interface Me {
  /** Null for a person without an organization in the session. */
  readonly organization: { readonly id: string; readonly slug: string; readonly name: string } | null
  /** Null without an organization. */
  readonly role: string | null
  /** Scopes of a token. Null for keys: they have all rights of their role. */
  readonly scopes: readonly string[] | null
  readonly credential: { readonly id: string; readonly manager: boolean }
  readonly user: { readonly id: string; readonly email: string; readonly name: string } | null
  /** Null for a session opened with a key. */
  readonly sign_in: { readonly method: string; readonly at: string; readonly is_fresh: boolean } | null
  readonly organizations: readonly { readonly slug: string; readonly name: string }[]
  readonly may_create_organizations: boolean
}

/** undefined: loading; null: signed out. */
export const me: Signal<Me | null | undefined> = signal(undefined)
/** Reason for the missing session, shown with the sign-in form. */
export const parting: Signal<string> = signal("")
/** The session expired. The open page stays hidden until the next sign-in. */
export const isSignedOut: Signal<boolean> = signal(false)
export const operations: Signal<readonly Operation[]> = signal([])

/** Lowest first. */
export const roles = ["guest", "member", "admin", "owner"]
let client: { call(name: string, input: object, options?: CallOptions): Promise<unknown> } | undefined

export async function load(): Promise<void> {
  const [isPresent] = await Promise.all([hasSession(), client ?? loadClient()])
  me.value = isPresent ? await call<Me>("me.get", {}).catch(nullIfSignedOut) : null
}

async function loadClient(): Promise<void> {
  const response = await fetch("/console-assets/catalog.json")
  operations.value = (await response.json()) as Operation[]
  client = createClient(Object.fromEntries(operations.value.map((operation) => [operation.name, routeOf(operation)])), {
    baseUrl: location.origin,
    retries: { attempts: 2 },
  }) as unknown as typeof client
}

/**
 * Checked first because a browser logs each refusal as an error. True without a response: the following call reports the failure.
 */
async function hasSession(): Promise<boolean> {
  try {
    const response = await fetch("/console-session")
    return ((await response.json()) as { present: boolean }).present !== false
  } catch {
    return true
  }
}

function nullIfSignedOut(error: ClientError): null {
  if (error.code === "unauthenticated") return null
  throw error
}

/** Throws ClientError. Without a session the app shows the sign-in. A call with a required fresh sign-in runs again after it. */
export async function call<T = Row>(name: string, input: object, options: CallOptions = {}): Promise<T> {
  try {
    const answer = await client?.call(name, input, options)
    return answer as T
  } catch (cause) {
    const error = cause as ClientError
    if (error.code === "unauthenticated") {
      if (me.value && !isSignedOut.value) end("Your session has ended; sign in to go on where you were.")
      isSignedOut.value = Boolean(me.value)
    }
    if (error.code === "unavailable") reportLost(error.message)
    if (error.details["reason"] === "sign_in_again" && (await signedInAgain())) return await call<T>(name, input, options)
    throw error
  }
}

/**
 * Reloads the browser's session in all its windows. Returns the problem; empty on success. `reason`: shown with the sign-in form
 * if the session has ended.
 */
export async function refreshSession(reason = ""): Promise<string> {
  tellOthers()
  return (await loadSession(reason)) ? "" : "The browser kept no session. Allow cookies for this page, and sign in again."
}

/** Loads the current session of the browser. */
async function loadSession(reason = ""): Promise<boolean> {
  const before = me.value?.organization?.id
  await load()
  // Sockets and their messages belong to one organization.
  if (before !== undefined && me.value?.organization?.id !== before) for (const listener of endings) listener()
  const isBack = Boolean(me.value) && isSignedOut.value
  isSignedOut.value = false
  if (me.value || reason !== "") parting.value = me.value ? "" : reason
  // Requests refused in the meantime run again.
  if (isBack) returns.value++
  return Boolean(me.value)
}

/** All windows of a browser share one session. A sign-in or sign-out in one window applies to all. */
const windows = new BroadcastChannel("session")
windows.onmessage = () => void loadSession().catch((error: Error) => reportLost(error.message))

function tellOthers(): void {
  windows.postMessage("changed")
}

/** Switches to another organization of the person, in every window of the browser. Returns the problem; empty on success. */
export async function switchOrganization(slug: string): Promise<string> {
  try {
    await call("me.switch_organization", { organization: slug })
  } catch (error) {
    return (error as ClientError).message
  }
  return await refreshSession()
}

export async function signOut(): Promise<void> {
  const response = await fetchPatiently("/console-session", { method: "DELETE" })
  // The cookie stays until the service has ended the session, so the app stays signed in.
  if (!response?.ok) return reportLost("You are not signed out yet; sign out again once the connection is back.")
  end("You have signed out.")
  me.value = null
  isSignedOut.value = false
  tellOthers()
}

function end(reason: string): void {
  parting.value = reason
  for (const listener of endings) listener()
}

const endings = new Set<() => void>()

/** Registers a function for the end of the session. */
export function onSignOut(ending: () => void): void {
  endings.add(ending)
}

/** Returns true if the role and scopes of the session permit the operation. */
export function may({ role, scope, withoutOrganization }: Operation): boolean {
  const { role: ownRole = "guest", scopes } = me.value ?? {}
  if (ownRole === null) return withoutOrganization
  return roles.indexOf(ownRole) >= roles.indexOf(role) && (!scopes || scopes.includes(scope))
}

export function areaOf({ name }: Operation): string {
  return name.slice(0, name.indexOf("."))
}

export function verbOf({ name }: Operation): string {
  return capital(words(name.slice(name.indexOf(".") + 1)))
}

export function capital(text: string): string {
  return text.replace(/^./u, (letter) => letter.toUpperCase())
}

export function words(text: string): string {
  return text.replaceAll("_", " ")
}

function routeOf({ method, path, repeatable, readOnly, streams }: Operation) {
  return {
    method,
    path,
    ...(repeatable ? { repeatable: true as const } : {}),
    ...(method === "POST" && !readOnly ? { keyed: true as const } : {}),
    ...(streams ? { streams: true as const } : {}),
  }
}

// Calls with a required fresh sign-in wait here for the dialog. Concurrent calls share one dialog.

export interface SignInRequest {
  readonly finish: (isDone: boolean) => void
}

/** The request behind the open dialog. */
export const signInRequest: Signal<SignInRequest | undefined> = signal(undefined)
let pending: Promise<boolean> | undefined

/** Requests a new sign-in. Resolves with false if the person cancels. */
function signedInAgain(): Promise<boolean> {
  pending ??= new Promise<boolean>((finish) => {
    signInRequest.value = { finish }
  }).finally(() => {
    signInRequest.value = undefined
    pending = undefined
  })
  return pending
}
