// Calls that an action makes past the service: no test can answer them, nothing keeps them to public addresses, and they
// are really made wherever the action is tried. Node tells of each request that its `fetch` and `http` begin.
import { AsyncLocalStorage } from "node:async_hooks"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { ClientRequest } from "node:http"
import type { AnyAction } from "../../contract/action.ts"
import { whileWatched } from "./running.ts"

const fetching = "undici:request:create"
const requesting = "http.client.request.start"

/** What `during` gave, and the hosts that the action called by itself in the course of it. */
export async function withOwnCalls<T>(action: AnyAction, during: () => Promise<T>): Promise<{ result: T; called: string[] }> {
  const running = new AsyncLocalStorage<true>()
  const called: string[] = []
  const note = (host: string) => {
    // Others in this process may call whom they like.
    if (running.getStore()) called.push(host)
  }
  const onFetch = (message: unknown) => note(String((message as { request: { origin: unknown } }).request.origin))
  const onRequest = (message: unknown) => note(String((message as { request: ClientRequest }).request.getHeader("host")))
  subscribe(fetching, onFetch)
  subscribe(requesting, onRequest)
  try {
    return { result: await whileWatched(action, (run) => running.run(true, run), during), called }
  } finally {
    unsubscribe(fetching, onFetch)
    unsubscribe(requesting, onRequest)
  }
}
