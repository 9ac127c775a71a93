// Documents that are being written, kept while one looks at other parts of the pipeline.
import { signal } from "@preact/signals"

/** Texts that are not saved yet, by slug: they stay while one looks at something else. */
export const drafts = signal<Readonly<Record<string, string>>>({})

export function setDraft(slug: string, text: string | undefined): void {
  const { [slug]: _, ...others } = drafts.value
  drafts.value = text === undefined ? others : { ...others, [slug]: text }
}
