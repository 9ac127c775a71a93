// What the operations of an OpenAPI document share: headers, parameters, the error body, and the answers that any of
// them may give.
import { z } from "zod"
import { type ErrorCode, httpStatusOf } from "../../kernel/errors.ts"
import type { JsonObject } from "../wire-schema.ts"
import { errorMeanings } from "./error-meanings.ts"

const meanings = Object.entries(errorMeanings)
  .map(([code, { means, advice }]) => `- \`${code}\`: ${means} ${advice}`)
  .join("\n")

export const ErrorSchema = z.object({
  code: z.enum(Object.keys(httpStatusOf) as ErrorCode[]).describe(`The kind of error.\n\n${meanings}`),
  message: z.string().describe("For people: what was wrong, with which value, and what to do."),
  details: z
    .looseObject({
      reason: z.string().optional().describe("A stable word that programs can switch on."),
      fields: z
        .array(z.object({ path: z.string(), message: z.string() }))
        .optional()
        .describe("Every field that is not valid."),
    })
    .describe("Always an object."),
})

interface SharedAnswer {
  readonly status: number
  readonly code: ErrorCode
  readonly description: string
  readonly example: { readonly message: string; readonly details: JsonObject }
}

/** Answers that any operation may give, by the name of their component. */
export const sharedAnswers: Readonly<Record<string, SharedAnswer>> = {
  Unauthenticated: {
    status: 401,
    code: "unauthenticated",
    description: "`unauthenticated`: the credential is missing, unknown, expired or revoked.",
    example: {
      message: "This operation needs a key. Send it as `Authorization: Bearer mr_api_...`.",
      details: { reason: "missing_credential" },
    },
  },
  PermissionDenied: {
    status: 403,
    code: "permission_denied",
    description: "`permission_denied`: the token lacks the scope, or the credential's role is too low.",
    example: {
      message: 'This token does not have the scope "notes:write", which notes.create needs.',
      details: { reason: "missing_scope", needed_scope: "datasets:write", scopes: ["datasets:read"] },
    },
  },
  BodyTooLarge: {
    status: 413,
    code: "resource_exhausted",
    description: "`resource_exhausted`: the body is larger than the limit.",
    example: { message: "The body is larger than 1048576 bytes.", details: { reason: "body_too_large", max_bytes: 1_048_576 } },
  },
  UnsupportedType: {
    status: 415,
    code: "invalid_argument",
    description: "`invalid_argument`: the body's type, charset or encoding is not supported.",
    example: {
      message: 'The body\'s type is "text/plain"; send Content-Type: application/json.',
      details: { reason: "unsupported_content_type" },
    },
  },
  RateLimited: {
    status: 429,
    code: "resource_exhausted",
    description: "`resource_exhausted`: too many calls for this key, organization or address; `Retry-After` says when to try again.",
    example: {
      message: "More than 6000 calls a minute for this key; try again in 1 s.",
      details: { reason: "rate_limited", quota: "key", limit: 6_000, window_s: 60, retry_after_s: 1 },
    },
  },
  Internal: {
    status: 500,
    code: "internal",
    description: "`internal`: something went wrong on our side; the cause is in the log, under the request id.",
    example: { message: "The service has failed. Quote the request id when you report it.", details: {} },
  },
  Unavailable: {
    status: 503,
    code: "unavailable",
    description: "`unavailable`: storage is down, or the service is stopping; try again.",
    example: { message: "The service is stopping.", details: { reason: "draining" } },
  },
}

export function answerComponents(): JsonObject {
  return Object.fromEntries(Object.entries(sharedAnswers).map(([name, answer]) => [name, answerComponent(answer)]))
}

function answerComponent({ status, code, description, example }: SharedAnswer): JsonObject {
  return {
    description,
    headers: {
      "X-Request-Id": ref("headers", "RequestId"),
      ...(status === 401 ? { "WWW-Authenticate": ref("headers", "WwwAuthenticate") } : {}),
      ...(status === 429 || status === 503 ? { "Retry-After": ref("headers", "RetryAfter") } : {}),
    },
    content: { "application/json": { schema: errorOf([code]), example: { code, ...example } } },
  }
}

/** The error body, its code one of these. */
export function errorOf(codes: readonly ErrorCode[]): JsonObject {
  return { allOf: [ref("schemas", "Error"), { type: "object", properties: { code: { enum: [...codes] } } }] }
}

export function parameterComponents(): JsonObject {
  return {
    OrganizationId: {
      name: "X-Organization-ID",
      in: "header",
      description: "UUID or slug of the organization to act in; the credential's own when absent; `not_found` without access to it.",
      schema: { type: "string" },
      example: "acme",
    },
    RequestId: {
      name: "X-Request-Id",
      in: "header",
      description: "Echoed, and recorded in logs and the audit log; generated when absent or malformed.",
      schema: { type: "string" },
      example: "checkout-7f3a",
    },
    IdempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      description:
        "For 24 hours, the same key and body return the first response, without secrets that are shown once; another body is `invalid_argument`, a call still running `aborted`. Quotes around the key are ignored.",
      schema: { type: "string", pattern: "^[\\x21-\\x7e]{1,255}$" },
      example: "8e03978e-40d5-43dd-bc93-6894a57f9324",
    },
    IfMatch: {
      name: "If-Match",
      in: "header",
      description:
        "Entity tags of a read of this path. The change fails with `aborted` unless the resource still has one of them; `*` matches any.",
      schema: { type: "string" },
    },
    IfNoneMatch: {
      name: "If-None-Match",
      in: "header",
      description: "Entity tags of cached responses; 304 when the response would have one of them.",
      schema: { type: "string" },
    },
  }
}

export function headerComponents(): JsonObject {
  const text = { type: "string" }
  return {
    RequestId: { description: "The request's id.", schema: text, example: "checkout-7f3a" },
    RateLimitPolicy: {
      description: "The quotas (draft-ietf-httpapi-ratelimit-headers): `q` calls in `w` seconds.",
      schema: text,
      example: '"key";q=6000;w=60, "organization";q=30000;w=60',
    },
    RateLimit: {
      description: "The remaining quota: `r` calls now, the full quota again in `t` seconds.",
      schema: text,
      example: '"key";r=5999;t=1, "organization";r=29999;t=1',
    },
    RetryAfter: { description: "Seconds after which to try again.", schema: { type: "integer" }, example: 1 },
    ETag: {
      description: "Entity tag of this response, for If-None-Match and, on changes of the resource, If-Match.",
      schema: text,
      example: 'W/"bX3Q2Zc0kq1mB7nq9u3VtYh2a5E"',
    },
    IdempotencyReplayed: {
      description: "`true` when this is the response of an earlier call with the same key.",
      schema: { type: "string", enum: ["true"] },
    },
    WwwAuthenticate: { description: "How to authenticate.", schema: text, example: 'Bearer realm="millrace"' },
    ContentDisposition: { description: "The file's name.", schema: text, example: 'attachment; filename="leads.csv"' },
  }
}

export function ref(kind: "schemas" | "parameters" | "headers" | "responses", name: string): JsonObject {
  return { $ref: `#/components/${kind}/${name}` }
}
