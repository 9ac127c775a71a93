// The page that an agent made, as the text that a reader sees: a page of the organization that its answer names, or the
// document that it gave.
import { type Pages, pageText } from "../../../pages/pages/index.ts"
import type { AgentAnswer } from "../../threads/index.ts"

/** Undefined where the answer names no page of the organization and holds no document. */
export async function artifactOf(
  pages: Pages,
  organization: { readonly id: string; readonly slug: string },
  answer: AgentAnswer,
): Promise<string | undefined> {
  const named = answer.page ?? linkedPage(answer.output, organization.slug)
  const page = named === undefined ? undefined : await pages.get(organization.id, named)
  const html = page?.variants[0]?.html ?? answer.html ?? fencedDocument(answer.output)
  return html === undefined ? undefined : pageText(html)
}

/** The slug of the last page of the organization that a text links to (`/p/{organization}/{page}`). */
function linkedPage(text: string, organization: string): string | undefined {
  const links = [...text.matchAll(/\/p\/([a-z0-9-]{1,100})\/([a-z0-9-]{1,100})/g)].filter(([, owner]) => owner === organization)
  return links.at(-1)?.[2]
}

/** The last fenced HTML of a text, or all of it where it is a document. */
function fencedDocument(text: string): string | undefined {
  if (/^\s*<(?:!doctype|html)\b/i.test(text)) return text
  const parts = text.split("```")
  for (let at = parts.length - (parts.length % 2 === 0 ? 1 : 2); at > 0; at -= 2) {
    const [, body] = /^html\s*\n([\s\S]*)$/i.exec(parts[at] ?? "") ?? []
    if (body !== undefined) return body
  }
  return undefined
}
