// Documents as text, for screens that edit some: what reads and writes them is loaded when it is needed first.
import type { DocumentText } from "./yaml-text.ts"

export type { DocumentText } from "./yaml-text.ts"

/** Reads YAML or JSON. */
export async function readDocument(text: string): Promise<DocumentText> {
  const { read } = await import("./yaml-text.ts")
  return read(text)
}

/** As YAML. */
export async function writeDocument(value: object): Promise<string> {
  const { write } = await import("./yaml-text.ts")
  return write(value)
}
