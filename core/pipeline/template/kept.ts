// What texts compiled to, by text: pipelines repeat each other's templates (`{{ event.email }}`), and a compiled one holds
// nothing of the document that it came from, so that one serves them all.

/** Longer texts are seldom the same twice. */
const maxTextLength = 500
const maxKept = 2_000

/** `compile` must give the same for the same text; what it gives is shared, and so never changed. */
export function keptByText<T>(compile: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>()
  return (text) => {
    const known = kept.get(text)
    if (known !== undefined) return known
    const compiled = compile(text)
    if (text.length > maxTextLength) return compiled
    // The oldest goes: what is in use anywhere is still held there.
    if (kept.size >= maxKept) for (const oldest of kept.keys()) if (kept.delete(oldest)) break
    kept.set(text, compiled)
    return compiled
  }
}
