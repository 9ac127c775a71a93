// Requests of the sign-in. The service answers 503 while it cannot reach the store, and the same request succeeds later.

const maxTries = 4
const maxPauseMs = 5_000

/** Like `fetch`, but repeats a request after a 503. Undefined without a response. */
export async function fetchPatiently(url: string, init: RequestInit): Promise<Response | undefined> {
  for (let tries = 1; ; tries++) {
    const response = await fetch(url, init).catch(() => undefined)
    if (response?.status !== 503 || tries === maxTries) return response
    const askedMs = Number(response.headers.get("retry-after") ?? 1) * 1_000
    await new Promise((resolve) => setTimeout(resolve, Math.min(maxPauseMs, askedMs || 1_000)))
  }
}
