// A service that takes screenshots, and helpers for its tests.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { browserFolder } from "../../chromium.ts"
import { untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { decodePng, type Pixels } from "./pixels.ts"

export interface Result {
  readonly job_id: string
  readonly status: string
  readonly bucket_key: string
  readonly signed_url: string
  readonly expires_at: string
  readonly media_type: string
  readonly width: number
  readonly height: number
  readonly error: string
  readonly http_status: number
  readonly warnings: string[]
}

export interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { readonly reason?: string; readonly fields?: { path: string; message: string }[] }
}

export interface TakingOptions {
  readonly allow?: readonly string[]
  readonly settings?: Readonly<Record<string, unknown>>
  readonly buckets?: Readonly<Record<string, unknown>>
  readonly pages?: Readonly<Record<string, unknown>>
  readonly plugins?: NonNullable<TestHostOptions["plugins"]>
}

export function startTaking({ allow = [], settings = {}, buckets = {}, pages = {}, plugins = [] }: TakingOptions = {}): Promise<TestHost> {
  // For tests with another subject than the deadline: the longest deadline, for busy machines.
  const screenshots = { browser_folder: browserFolder, deadline_ms: 300_000, ...settings }
  return testHost({ plugins, env: { ...pluginSettings({ screenshots, buckets, pages }), MILLRACE_OUTGOING_ALLOW_HOSTS: allow.join(",") } })
}

export async function start(host: TestHost, input: Record<string, unknown>, key?: string) {
  return await host.api<{ job_id: string; status: string } & Refusal>(
    "POST",
    "/v1/screenshot/start",
    input,
    key === undefined ? {} : { key },
  )
}

export async function resultOf(host: TestHost, job_id: string, key?: string): Promise<Result> {
  const answer = await host.api<Result>("POST", "/v1/screenshot/result", { job_id }, key === undefined ? {} : { key })
  expect(answer.status).to.equal(200)
  return answer.body
}

/** Starts a screenshot and polls until it is no longer `processing`. */
export async function take(host: TestHost, input: Record<string, unknown>): Promise<Result> {
  const started = await start(host, input)
  expect([started.status, started.body.message]).to.deep.equal([200, undefined])
  return await finished(host, started.body.job_id)
}

export function finished(host: TestHost, job_id: string, key?: string): Promise<Result> {
  return until("the end of the screenshot", async () => {
    const result = await resultOf(host, job_id, key)
    return result.status !== "processing" && result
  })
}

/** Returns the picture behind a result's link, checked against the result's fields. */
export async function pictureOf(result: Result): Promise<Pixels> {
  expect([result.status, result.error]).to.deep.equal(["done", ""])
  const answer = await fetch(result.signed_url)
  expect([answer.status, answer.headers.get("content-type")]).to.deep.equal([200, "image/png"])
  const pixels = decodePng(Buffer.from(await answer.arrayBuffer()))
  expect([pixels.width, pixels.height]).to.deep.equal([result.width, result.height])
  return pixels
}

/** Creates a key of another organization. */
export async function keyElsewhere(host: TestHost): Promise<string> {
  return await host.get(UnitsOfWork).run((work) => {
    const organization = host.get(Organizations).create(work, { name: "Elsewhere" })
    return host.get(ApiKeys).mint(work, organization.id, { name: "Key", kind: "api_key", role: "owner", scopes: null, user: null }).text
  })
}
