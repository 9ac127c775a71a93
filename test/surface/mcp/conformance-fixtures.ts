// Operations under the conformance suite's expected names, as far as operations can match them.
import { z } from "zod"
import { AppError, defineOperation, definePlugin } from "#core"

const reads = {
  access: { scope: "test:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
} as const
const nothing = z.strictObject({})

const simpleText = defineOperation({
  ...reads,
  name: "test.simple_text",
  summary: "Answers a text.",
  http: { method: "GET", path: "/v1/test-simple-text" },
  input: nothing,
  output: z.object({ text: z.string() }),
  errors: [],
  resource: { uri: "test://static-text" },
  handle: () => ({ text: "This is a simple text response for testing." }),
})

const errorHandling = defineOperation({
  ...reads,
  name: "test.error_handling",
  summary: "Refuses.",
  http: { method: "GET", path: "/v1/test-error-handling" },
  input: nothing,
  output: z.object({}),
  errors: ["failed_precondition"],
  handle: () => {
    throw new AppError("failed_precondition", "This tool intentionally returns an error for testing", { reason: "job_failed" })
  },
})

const templated = defineOperation({
  ...reads,
  name: "test.templated",
  summary: "Answers what it was asked for.",
  http: { method: "GET", path: "/v1/test-templated/{id}" },
  input: z.strictObject({ id: z.string() }),
  output: z.object({ id: z.string() }),
  errors: [],
  resource: { uri: "test://template/{id}/data" },
  handle: ({ input }) => input,
})

export const conformanceFixtures = definePlugin({
  id: "conformance-fixtures",
  needs: [],
  config: nothing,
  register: (registrar) => registrar.operations(simpleText, errorHandling, templated),
})
