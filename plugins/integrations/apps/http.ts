// The app `http`: any API that is reached at a base URL with fixed headers.
import { z } from "zod"
import { checkHeaders } from "../../outgoing-http/index.ts"
import { defineIntegrationApp } from "../app.ts"
import { requestBelow } from "./below-base.ts"

const HttpCredentials = z.strictObject({
  base_url: z
    .string()
    .max(2_048)
    .refine(isBase, "expected an absolute http(s) URL without user name, password, query or fragment")
    .describe("Base URL of the API, such as https://api.example.com/v2."),
  headers: z.record(z.string(), z.string()).default({}).describe("Sent with every request, such as Authorization."),
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
  request: ({ base_url, headers }, request) => requestBelow({ url: base_url, headers }, request),
})

function isBase(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return !url.username && !url.password && !/[?#]/.test(text) && !/\s/.test(text)
}
