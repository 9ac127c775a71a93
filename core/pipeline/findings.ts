// What the compiler has to say about a document: every problem at once, each with the place it stands at.

export type FindingLevel = "error" | "warning"

/** One thing that the compiler has to say of a document, with its place. */
export interface Finding {
  /** Kebab-case id of the rule; `docs/rules/<rule>.md` explains it. */
  readonly rule: string
  readonly level: FindingLevel
  readonly message: string
  /** JSON pointer into the document, "" for the whole. */
  readonly pointer: string
  /** From 1; known when the document came from text. */
  readonly line?: number
  readonly column?: number
  /** Where no text is known: the place within the text value that the pointer names, such as a script. */
  readonly inside?: { readonly line: number; readonly column: number }
}
