// The inbound endpoint in the OpenAPI document. It is not an operation: event senders have no key of the service. The pipeline's
// auth mode verifies them.
import { inboundPrefix } from "../../contract/route.ts"
import type { JsonObject } from "../wire-schema.ts"
import { errorOf, ref } from "./components.ts"

export const inboundTag = { name: "inbound", description: "Public endpoints of pipelines, where events arrive." }

export function inboundPath(): Record<string, JsonObject> {
  const event = { type: "object", additionalProperties: true }
  const failure = (description: string, codes: Parameters<typeof errorOf>[0]) => ({
    description,
    headers: { "X-Request-Id": ref("headers", "RequestId") },
    content: { "application/json": { schema: errorOf(codes) } },
  })
  return {
    [`${inboundPrefix}{endpoint_id}`]: {
      post: {
        operationId: "inbound.receive",
        summary: "Send an event to a pipeline.",
        description: [
          "The event is verified by the pipeline's auth mode, validated against its `request_schema`, normalized by its `transform_js` and run through its actions. A 2xx response means that all its effects are on disk.",
          "The auth mode defines how the sender authenticates: a signature header (`X-Signature-256` unless renamed), a shared secret (`X-Webhook-Secret`), a provider's own scheme, a viewer's token, or nothing.",
          "A published page's own events (a pipeline of purpose `page_events`) arrive as a batch of at most 200, `{ _envelope, sent_at, events: [{ event, event_id, at, … }] }`, and `results` has one result per event; docs/pages.md has the vocabulary.",
          "A top-level object `_envelope` (`page_url`, `artifact_id`, `variant`, …) and a top-level `is_test` are removed before the body is validated. Setup handshakes of providers are answered here too, with the method that the provider uses.",
        ].join("\n\n"),
        tags: [inboundTag.name],
        security: [{}],
        parameters: [
          {
            name: "endpoint_id",
            in: "path",
            required: true,
            description: "The pipeline's `endpoint_id`; the whole address is its `inbound_url`.",
            schema: { type: "string", pattern: "^in_[0-9A-Za-z]{22}$" },
            example: "in_4kT9xWq2LmZr8VbNc0YpDs",
          },
          {
            name: "X-Service-Test",
            in: "header",
            description:
              "`1` or `true` marks the event as a test: its rows land with `is_test` true. A top-level `is_test` of true does the same. Needs no signature.",
            schema: { type: "string", enum: ["1", "true"] },
          },
          {
            name: "X-Signature-256",
            in: "header",
            description: "For `hmac_sha256`: `sha256=` and the hex HMAC of the raw body under the pipeline's secret.",
            schema: { type: "string" },
          },
          {
            name: "X-Webhook-Secret",
            in: "header",
            description: "For `shared_secret_header`: the pipeline's secret.",
            schema: { type: "string" },
          },
          ref("parameters", "RequestId"),
        ],
        requestBody: {
          required: true,
          description: "The event. `text/plain` is read as JSON, which is what `navigator.sendBeacon` sends; file parts are rejected.",
          content: {
            "application/json": {
              schema: event,
              examples: {
                event: {
                  summary: "An event",
                  value: { email: "ada@example.com", name: "Ada", _envelope: { page_url: "https://acme.test/spring" } },
                },
                page_events: {
                  summary: "A batch of a page's own events",
                  value: {
                    _envelope: {
                      artifact_id: "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04",
                      page_url: "https://acme.test/p/acme/spring",
                      variant: "control",
                    },
                    sent_at: 1_793_000_000_500,
                    events: [
                      { event: "pageview", event_id: "2f1c9a7e4b6d8035", at: 1_793_000_000_000 },
                      { event: "scroll_milestone", event_id: "9d04e2b71c5f6a38", at: 1_793_000_000_400, scroll_depth: 25 },
                    ],
                  },
                },
              },
            },
            "application/x-www-form-urlencoded": { schema: event },
            "multipart/form-data": { schema: event },
            "text/plain": { schema: { type: "string" } },
          },
        },
        responses: {
          "200": {
            description: "Accepted; or the pipeline's own response, with its status.",
            headers: { "X-Request-Id": ref("headers", "RequestId") },
            content: {
              "application/json": {
                schema: {
                  type: "object",
                  properties: { status: { type: "string", enum: ["accepted"] }, execution_id: { type: "string", format: "uuid" } },
                },
                example: { status: "accepted", execution_id: "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04" },
              },
            },
          },
          "400": failure("`invalid_argument`: malformed, or fails the schema. `failed_precondition`: the transform failed on it.", [
            "invalid_argument",
            "failed_precondition",
          ]),
          "401": failure("`unauthenticated`: not verified.", ["unauthenticated"]),
          "403": failure("`permission_denied`: page events of bots are not counted.", ["permission_denied"]),
          "404": failure("`not_found`: no active pipeline has this endpoint.", ["not_found"]),
          "408": ref("responses", "RequestTimeout"),
          "413": ref("responses", "BodyTooLarge"),
          "415": ref("responses", "UnsupportedType"),
          "429": ref("responses", "RateLimited"),
          "431": ref("responses", "HeadTooLarge"),
          "500": failure("`internal`: an action before the reply failed; `details` names the execution.", ["internal"]),
          "503": ref("responses", "Unavailable"),
        },
      },
    },
  }
}
