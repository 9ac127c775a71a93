// Messages between the service and its reading process. The task is an argument of the process. The process first writes a line
// "ready". Then it reads one byte and the document, and writes its response: a line of JSON, and the text.

export interface ReadTask {
  readonly type: "html" | "pdf" | "text"
  /** For text and HTML documents. */
  readonly charset: string
  readonly maxCharacters: number
  readonly maxPages: number
}

/** A task with the size of its document in bytes. */
export interface SizedTask extends ReadTask {
  readonly bytes: number
}

/** Reason for a document without a usable text, as in `content_reason` of items. */
export type ReadFault = "malformed" | "encrypted" | "too_long" | "too_many_pages" | "no_text"

interface Fault {
  readonly kind: "fault"
  readonly fault: ReadFault
  readonly message: string
}

/** Result of reading a document. */
export type ReadResult = { readonly kind: "text"; readonly title: string; readonly text: string } | Fault

export const ready = "ready\n"

export function answerOf(result: ReadResult): string {
  const { text, ...line } = { text: "", ...result }
  return `${JSON.stringify(line)}\n${text}`
}

/** Throws for an incomplete response. */
export function readAnswer(answer: string): ReadResult {
  const end = answer.indexOf("\n")
  const line = JSON.parse(answer.slice(0, end)) as ReadResult
  return line.kind === "text" ? { ...line, text: answer.slice(end + 1) } : line
}
