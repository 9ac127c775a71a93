// What the service and the process that renders say to each other; one order and one answer a process.
import type { Instruction, Viewport } from "../instructions.ts"
import type { OwnPages } from "../proxy/targets.ts"

export interface HtmlDocument {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
  /** Where the sender of one of its forms is redirected; undefined where nothing takes them. */
  readonly thanks: string | undefined
}

export interface RenderOrder {
  readonly url: string
  /** The document at `url`, with any query, given instead of fetched; its resources are fetched. */
  readonly document?: HtmlDocument
  readonly viewport: Viewport
  readonly full_page: boolean
  readonly instructions: readonly Instruction[]
  /** Whether the text that a visitor could read is wanted as well. */
  readonly reads_text: boolean
}

/** What is known of the page beside its picture. */
export interface Seen {
  /** That it was answered with; 0 where it was not fetched, or its document says none. */
  readonly httpStatus: number
  readonly warnings: readonly string[]
  /** What a visitor could read; undefined where it was not wanted, or the page did not let itself be read. */
  readonly text: string | undefined
}

export interface RenderTask extends RenderOrder {
  readonly own: OwnPages
  readonly proxy: string
  readonly executable: string
  /** Libraries to try where the system lacks some. */
  readonly libraries: string | undefined
  readonly sandbox: "auto" | "on" | "off"
  /** The process's own, for the profile and the image. */
  readonly folder: string
  readonly deadlineMs: number
}

export type RenderAnswer =
  | { readonly kind: "done"; readonly file: string; readonly unsandboxed: boolean; readonly seen: Seen }
  | { readonly kind: "failed"; readonly message: string /** Of the page that did not come. */; readonly url: string | undefined }
  /** No fault of the page's. */
  | { readonly kind: "broken"; readonly message: string }
