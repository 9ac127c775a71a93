// A page of the documentation as data: its code blocks, its links, and whether what was said is what it shows.
import { readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { projectRoot } from "../import-graph.ts"

/** Pages that are followed as a reader would, in order. */
export const pages = ["docs/README.md", "docs/concepts.md", "docs/first-pipeline.md", "docs/first-plugin.md", "docs/operations.md"]

/** Reference pages that show files and what is said of them. */
export const references = [
  "docs/templates.md",
  "docs/transforms.md",
  "docs/organizations.md",
  "docs/managed-organizations.md",
  "docs/reference/pipeline.md",
  "docs/reference/tests.md",
]

export interface Block {
  /** "" where none is named. */
  readonly language: string
  /** Freed of the indentation that it has in a list. */
  readonly text: string
  readonly line: number
  /** The file that its first line names, in a comment: `# pipelines/lead.yaml`, `// plugins/…`. */
  readonly file: string | undefined
}

export interface Page {
  /** Below the project. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly Block[]
  /** Targets below the project, without what follows #. */
  readonly links: readonly string[]
}

export function readPage(path: string): Page {
  return pageOf(path, readFileSync(join(projectRoot, path), "utf8"))
}

export function pageOf(path: string, text: string): Page {
  return { path, text, blocks: blocksOf(text), links: linksOf(path, text) }
}

function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map((match) => {
    const [, indent = "", language = "", inner = ""] = match
    const freed = inner.replaceAll(new RegExp(`^${indent}`, "gm"), "")
    const file = /^(?:#|\/\/) ([\w./-]+\.\w+)$/m.exec(freed.split("\n")[0] ?? "")?.[1]
    return { language, text: freed, line: text.slice(0, match.index).split("\n").length, file }
  })
}

function linksOf(path: string, text: string): string[] {
  return [...text.matchAll(/\]\(([^)#\s]*)(#[^)]*)?\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => target !== "" && !/^[a-z]+:/.test(target))
    .map((target) => relative(projectRoot, join(projectRoot, dirname(path), target)))
}

/** Whether output is as a page shows it; `…` stands for anything in a line, or for any lines where it stands alone. */
export function isAsShown(output: string, text: string): boolean {
  const lines = text.trimEnd().split("\n")
  const pattern = lines.map((line, index) => {
    if (line.trim() === "…") return "(?:[^\\n]*\\n)*?"
    const within = line.split("…").map(escaped).join("[^\\n]*")
    return `${within}[ ]*${index === lines.length - 1 ? "" : "\\n"}`
  })
  return new RegExp(`(?:^|\\n)${pattern.join("")}(?:\\n|$)`).test(output)
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
}
