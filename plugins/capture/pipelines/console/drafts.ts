// Unsaved documents, preserved while other views of the pipeline are open.
import { signal } from "@preact/signals"

/** Unsaved texts by slug. */
export const drafts = signal<Readonly<Record<string, string>>>({})

export function setDraft(slug: string, text: string | undefined): void {
  const { [slug]: _, ...others } = drafts.value
  drafts.value = text === undefined ? others : { ...others, [slug]: text }
}
