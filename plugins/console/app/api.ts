// The API as the app calls it: the operations that the service has declared, with the browser's session.
import { signal } from "@preact/signals"
import { type CallOptions, type ClientError, createClient } from "#client"
import type { CatalogOperation } from "../catalog.ts"
import { lost } from "./connection.ts"

export type Operation = CatalogOperation
export type Row = Readonly<Record<string, unknown>>

export interface Me {
  readonly organization: { readonly slug: string; readonly name: string }
  readonly role: string
  readonly credential: { readonly id: string }
  readonly user: { readonly id: string; readonly email: string } | null
}

/** undefined: not known yet; null: nobody has signed in. */
export const me = signal<Me | null | undefined>(undefined)
export const operations = signal<readonly Operation[]>([])

const roles = ["guest", "member", "admin", "owner"]
let client: { call(name: string, input: object, options?: CallOptions): Promise<unknown> } | undefined

export async function load(): Promise<void> {
  if (client === undefined) {
    const response = await fetch("/console-assets/catalog.json")
    operations.value = (await response.json()) as Operation[]
    client = createClient(Object.fromEntries(operations.value.map((one) => [one.name, routeOf(one)])), {
      baseUrl: location.origin,
      retries: { attempts: 2 },
    }) as unknown as typeof client
  }
  me.value = await call<Me>("me.get", {}).catch((error: ClientError) => {
    if (error.code === "unauthenticated") return null
    throw error
  })
}

/** Throws ClientError; without a session, the app goes back to signing in. */
export async function call<T = Row>(name: string, input: object, options: CallOptions = {}): Promise<T> {
  try {
    const answer = await client?.call(name, input, options)
    return answer as T
  } catch (cause) {
    const error = cause as ClientError
    if (error.code === "unauthenticated") me.value = null
    if (error.code === "unavailable") lost(error.message)
    throw error
  }
}

export async function signIn(given: { readonly key: string } | { readonly code: string }): Promise<string> {
  const response = await fetch("/console-session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(given),
  })
  if (!response.ok) return ((await response.json()) as { message: string }).message
  await load()
  return ""
}

export async function signOut(): Promise<void> {
  await fetch("/console-session", { method: "DELETE" })
  for (const end of endings) end()
  me.value = null
}

const endings = new Set<() => void>()

/** What has to end with the session. */
export function onSignOut(end: () => void): void {
  endings.add(end)
}

/** Whether the role of who has signed in is enough. */
export function may({ role }: Operation): boolean {
  return roles.indexOf(me.value?.role ?? "guest") >= roles.indexOf(role)
}

export function areaOf({ name }: Operation): string {
  return name.slice(0, name.indexOf("."))
}

export function verbOf({ name }: Operation): string {
  return words(name.slice(name.indexOf(".") + 1))
}

export function words(text: string): string {
  return text.replaceAll("_", " ")
}

/** Names in the braces of a path. */
export function pathFields({ path }: Operation): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)
}

/** Operations that answer a list without being told of what: an area's first is what it shows. */
export function listsOf(area: string): Operation[] {
  return operations.value.filter(
    (one) => areaOf(one) === area && one.readOnly && pathFields(one).length === 0 && listField(one) && may(one),
  )
}

/** The field of the answer that holds the list. */
export function listField({ output }: Operation): string | undefined {
  return Object.keys(output).find((name) => output[name] === "array")
}

/** The operation that reads one of an area. */
export function readerOf(area: string): Operation | undefined {
  const reads = (one: Operation) => areaOf(one) === area && one.method === "GET" && !one.streams && pathFields(one).length === 1 && may(one)
  return (
    operations.value.find((one) => reads(one) && one.name.endsWith(".get")) ?? operations.value.find((one) => reads(one) && !listField(one))
  )
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
