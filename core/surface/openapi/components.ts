// Shared parts of the OpenAPI document: headers and parameters (components.json), the error body, and the shared responses.
import { z } from "zod"
import { type ErrorCode, httpStatusOf } from "../../kernel/errors.ts"
import type { JsonObject } from "../wire-schema.ts"
import components from "./components.json" with { type: "json" }
import meaningByCode from "./error-meanings.json" with { type: "json" }

interface ErrorMeaning {
  readonly means: string
  readonly advice: string
}

/** The meaning of each error code and advice for the caller, for the documentation. */
export const errorMeanings: Readonly<Record<ErrorCode, ErrorMeaning>> = meaningByCode

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

/** Shared responses of all operations, by component name. */
export const sharedAnswers = components.answers as Readonly<Record<string, SharedAnswer>>

export const parameterComponents: JsonObject = components.parameters
export const headerComponents: JsonObject = components.headers

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

/** The error body with one of these codes. */
export function errorOf(codes: readonly ErrorCode[]): JsonObject {
  return { allOf: [ref("schemas", "Error"), { type: "object", properties: { code: { enum: [...codes] } } }] }
}

export function ref(kind: "schemas" | "parameters" | "headers" | "responses", name: string): JsonObject {
  return { $ref: `#/components/${kind}/${name}` }
}
