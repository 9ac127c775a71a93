// Routes for the beacon and its web vitals script, on a first-party path. Any cache may store them.
import { defineRoute, type RouteResponse } from "#core"
import { beacon, vitals, vitalsVersion } from "./scripts.generated.ts"

const scriptAnswers = {
  "200": { description: "The script.", type: "text/javascript" },
  "304": { description: "Not modified." },
  "429": { description: "Too many requests from this client IP." },
}

export const serveBeacon = defineRoute({
  name: "page_events.beacon",
  summary: "The script that published pages load to send page events.",
  method: "GET",
  path: "/v1/beacon.js",
  whilePaused: "Acts for no organization.",
  origins: "any",
  document: {
    description:
      "Added to every published page with analytics, as a deferred script element whose attribute `data-mr` holds the page's envelope and endpoint. Under 2.5 KB compressed; sends batches to the page's inbound endpoint, retries them after 429, 5xx or a network error, and never throws into the page.",
    answers: scriptAnswers,
  },
  handle: () => script(beacon, "public, max-age=3600, stale-while-revalidate=86400"),
})

export const serveVitals = defineRoute({
  name: "page_events.beacon_vitals",
  summary: "The script that the beacon loads later, to measure web vitals.",
  method: "GET",
  path: "/v1/beacon-vitals.js",
  whilePaused: "Acts for no organization.",
  origins: "any",
  document: {
    description: "Measures LCP, INP and CLS of real visitors for the beacon, which imports it after the page has loaded.",
    query: { v: "Its version; with the current one it may be kept for a year." },
    answers: scriptAnswers,
  },
  // The beacon requests a version. Without a version the content may change at any time.
  handle: ({ request }) =>
    script(vitals, request.query.get("v") === vitalsVersion ? "public, max-age=31536000, immutable" : "public, max-age=300"),
})

function script(body: string, caching: string): RouteResponse {
  const headers = {
    "Content-Type": "text/javascript; charset=utf-8",
    "Cache-Control": caching,
    // The same value for all callers, so a cached answer fits every page origin.
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
  }
  return { headers, body, shared: true }
}
