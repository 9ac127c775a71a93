// Messages between the service and the render process: one order and one answer per process.
import type { Instruction, Viewport } from "../instructions.ts"
import type { OwnPages } from "../proxy/targets.ts"

export interface HtmlDocument {
  readonly html: string
  readonly headers: Readonly<Record<string, string>>
  /** Redirect after a submitted form; undefined if no pipeline receives the page's forms. */
  readonly thanks: string | undefined
}

export interface RenderOrder {
  readonly url: string
  /** The document at `url`, with any query. It is supplied instead of fetched; its resources are fetched. */
  readonly document?: HtmlDocument
  readonly viewport: Viewport
  readonly full_page: boolean
  readonly instructions: readonly Instruction[]
  /** True if the visible text is requested as well. */
  readonly reads_text: boolean
}

/** Facts about the page besides its image. */
export interface Seen {
  /** HTTP status; 0 if the page was not fetched or has no status. */
  readonly httpStatus: number
  readonly warnings: readonly string[]
  /** Visible text; undefined if it was not requested or the page blocks reading. */
  readonly text: string | undefined
}

export interface RenderTask extends RenderOrder {
  readonly own: OwnPages
  readonly proxy: string
  readonly executable: string
  /** Libraries to try if the system lacks some. */
  readonly libraries: string | undefined
  readonly sandbox: "auto" | "on" | "off"
  /** The process's own folder for the profile and the image. */
  readonly folder: string
  readonly deadlineMs: number
}

export type RenderAnswer =
  | { readonly kind: "done"; readonly file: string; readonly unsandboxed: boolean; readonly seen: Seen }
  | { readonly kind: "failed"; readonly message: string /** URL of the failed page. */; readonly url: string | undefined }
  /** The cause is not the page. */
  | { readonly kind: "broken"; readonly message: string }
