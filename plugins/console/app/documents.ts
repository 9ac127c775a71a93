// Documents as text, for screens with an editor. The parser loads on first use.
import type { DocumentText } from "./yaml-text.ts"

export type { DocumentText } from "./yaml-text.ts"

/** Reads YAML or JSON. */
export async function readDocument(text: string): Promise<DocumentText> {
  const { read } = await import("./yaml-text.ts")
  return read(text)
}

/** Writes YAML. */
export async function writeDocument(value: object): Promise<string> {
  const { write } = await import("./yaml-text.ts")
  return write(value)
}
