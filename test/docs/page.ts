// A documentation page as data: its code blocks and links. Compares output with the page.
import { readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { projectRoot } from "../import-graph.ts"

/** Pages followed as a reader would, in order. */
export const pages = ["docs/README.md", "docs/concepts.md", "docs/first-pipeline.md", "docs/first-plugin.md", "docs/operations.md"]

/** Reference pages with files and expected output. */
export const references = [
  "docs/templates.md",
  "docs/transforms.md",
  "docs/organizations.md",
  "docs/managed-organizations.md",
  "docs/reference/pipeline.md",
  "docs/reference/tests.md",
]

export interface Block {
  /** "" without a language. */
  readonly language: string
  /** Without the indentation of a list. */
  readonly text: string
  readonly line: number
  /** File named in the first line's comment: `# pipelines/lead.yaml`, `// plugins/…`. */
  readonly file: string | undefined
}

export interface Page {
  /** Path below the project. */
  readonly path: string
  readonly text: string
  readonly blocks: readonly Block[]
  /** Targets below the project, without their fragments. */
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

/** Returns true if the output matches the page. `…` stands for any text in a line, or for any lines if alone on a line. */
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
