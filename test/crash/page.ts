// Writes the output of `npm run test:crash -- … --write-docs`, with the machine, into the page on reliability.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { projectRoot } from "../import-graph.ts"

const pageFile = join(projectRoot, "docs/reliability.md")

export interface Printed {
  /** Arguments behind `npm run test:crash -- `. */
  readonly command: string
  readonly date: string
  readonly machine: string
  readonly lines: readonly string[]
}

/** Returns the page with the output in the named block. Throws if the block is missing. */
export function withPrinted(page: string, block: string, { command, date, machine, lines }: Printed): string {
  const pattern = new RegExp(`(<!-- printed ${block} -->\n)[\\s\\S]*?(<!-- end -->)`)
  if (!pattern.test(page)) throw new Error(`docs/reliability.md has no block "printed ${block}".`)
  const text = [`$ npm run test:crash -- ${command}`, ...lines].join("\n")
  return page.replace(
    pattern,
    (_whole, start: string, end: string) => `${start}\n${date}, ${machine}:\n\n\`\`\`text\n${text}\n\`\`\`\n\n${end}`,
  )
}

export function writePrinted(block: string, printed: Printed): void {
  writeFileSync(pageFile, withPrinted(readFileSync(pageFile, "utf8"), block, printed))
}
