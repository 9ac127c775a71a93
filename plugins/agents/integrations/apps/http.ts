// The app `http`: any API with a base URL and fixed headers.
import { z } from "zod"
import { checkHeaders } from "../../../platform/outgoing-http/index.ts"
import { defineIntegrationApp } from "../app.ts"
import { requestBelow } from "./below-base.ts"

const HttpCredentials = z.strictObject({
  base_url: z
    .string()
    .max(2_048)
    .refine(isBase, "expected an absolute http(s) URL without user name, password, query or fragment")
    .describe("Base URL of the API, such as https://api.example.com/v2."),
  headers: z.record(z.string(), z.string()).default({}).describe("Sent with every request, such as Authorization."),
  file_origins: z
    .array(
      z
        .string()
        .max(300)
        .refine(
          (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && new URL(text).origin === text,
          "expected an origin such as https://files.example.com",
        ),
    )
    .max(10)
    .default([])
    .describe("Further origins at which the API keeps files; the headers are sent there as well."),
  test_path: z
    .string()
    .max(2_048)
    .regex(/^\/(?!\/)[^\s\\?#]*$/, "expected a path that starts with one / and holds no query")
    .optional()
    .describe("Path whose GET answers 2xx where the credentials are good; they are checked by it."),
})

export const httpApp = defineIntegrationApp({
  name: "http",
  summary: "Any HTTP API: a base URL and headers with credentials.",
  kind: "native",
  credentials: HttpCredentials,
  check({ base_url, headers }, { http }) {
    checkHeaders(headers)
    http.check(base_url)
  },
  test: ({ test_path: path }) =>
    path === undefined ? undefined : { method: "GET", path, query: {}, success: { status: [200, 201, 202, 204] } },
  request: ({ base_url, headers, file_origins }, request) => requestBelow({ url: base_url, headers, fileOrigins: file_origins }, request),
})

function isBase(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return !url.username && !url.password && !/[?#]/.test(text) && !/\s/.test(text)
}
