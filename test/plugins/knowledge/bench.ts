// A service with knowledge, and helpers for its tests.
import { expect } from "chai"
import type { ApiResponse, TestHost } from "#core/testing"
import { patiently, until } from "../../waiting.ts"

export interface Item {
  readonly id: string
  readonly title: string
  readonly category: string
  readonly type: string
  readonly content: string
  readonly content_state: string
  readonly content_reason: string
  readonly content_message: string
  readonly content_version: number
  readonly version: number
  readonly revision: number
}

export interface SearchResult extends Item {
  readonly score: number
  readonly highlights: readonly { readonly text: string; readonly marks: readonly { readonly from: number; readonly to: number }[] }[]
  readonly explanation?: {
    readonly score: number
    readonly words: {
      readonly rank: number
      readonly score: number
      readonly each: readonly { readonly word: string; readonly items: number; readonly score: number }[]
    } | null
    readonly meaning: { readonly rank: number; readonly similarity: number } | null
  }
}

export interface Refused {
  readonly code: string
  readonly details: { readonly reason?: string; readonly fields?: readonly { readonly path: string }[] }
}

export class KnowledgeBench {
  readonly host: TestHost

  constructor(host: TestHost) {
    this.host = host
  }

  /** Retries while the node is unavailable. On a busy machine its lease may expire. */
  api<T = Record<string, unknown>>(...call: Parameters<TestHost["api"]>): Promise<ApiResponse<T>> {
    return patiently(() => this.host.api<T>(...call))
  }

  async create(input: object): Promise<Item> {
    const { status, body } = await this.api<Item>("POST", "/v1/knowledge", input)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }

  async read(id: string): Promise<Item> {
    return (await this.api<Item>("GET", `/v1/knowledge/${id}`)).body
  }

  /** Resolves once the latest version has been read in, or has failed. */
  async whenRead(id: string): Promise<Item> {
    await until("the item being read in", async () => (await this.read(id)).content_state !== "pending")
    return await this.read(id)
  }

  async search(q: string, more = ""): Promise<SearchResult[]> {
    const path = `/v1/knowledge-search?q=${encodeURIComponent(q)}${more}`
    const answer = await this.api<{ items: SearchResult[] }>("GET", path)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body.items
  }

  /** Resolves once the search returns `count` items. */
  async find(q: string, count: number, more = ""): Promise<SearchResult[]> {
    await until(`${count} items being found by ${q}`, async () => (await this.search(q, more)).length === count)
    return await this.search(q, more)
  }
}
