// The public API: every export of the entry points, with kind and comment. Read from the sources. config/public-api.txt lists the
// names, so a review shows each change.
import { generatedNote, pageOf, table } from "../markdown.ts"
import { exportLists, sourceOf, targetOf } from "./sources.ts"

export interface PublicName {
  readonly name: string
  /** The kind of import: for run time, for the compiler, or both. */
  readonly kind: "value" | "type" | "value and type"
  /** The comment at the declaration; empty without a comment. */
  readonly comment: string
}

/** Entry points by import name, with their file. */
export const entryPoints: Readonly<Record<string, string>> = {
  "#core": "core/index.ts",
  "#core/engine": "core/engine.ts",
  "#core/testing": "core/testing.ts",
  "millrace/client": "client/index.ts",
  "millrace/live": "client/live.ts",
}

/** Returns the exports in alphabetical order. Throws for exports of an unknown form. */
export function publicNames(entryPoint: string): PublicName[] {
  const file = entryPoints[entryPoint] ?? entryPoint
  const text = sourceOf(file)
  if (/^export \*/m.test(text)) throw new Error(`${file} exports "*"; an entry point names what it exports.`)
  const passed = exportLists(text).flatMap(({ names, from }) => names.map((one) => ({ ...one, file: targetOf(file, from) })))
  const own = [...text.matchAll(declaration)].map(([, , name = ""]) => ({ name, as: name, typeOnly: false, file }))
  return [...passed, ...own]
    .map(({ name, as, typeOnly, file: from }) => ({ name: as, ...declared(name, from), ...(typeOnly ? { kind: "type" as const } : {}) }))
    .sort((left, right) => (left.name < right.name ? -1 : 1))
}

/** config/public-api.txt */
export function publicApiList(): string {
  const blocks = Object.keys(entryPoints).map((entryPoint) =>
    [entryPoint, ...publicNames(entryPoint).map(({ name, kind }) => `  ${name.padEnd(24)} ${kind}`)].join("\n"),
  )
  return `# What programs may rely on (CONTRIBUTING.md, versions). Made by \`npm run generate\`.\n\n${blocks.join("\n\n")}\n`
}

/** docs/reference/api.md */
export function publicApiPage(): string {
  return pageOf([
    generatedNote("the comments at the declarations"),
    "# Exports",
    "The public exports; everything else may change without notice. In a project, `#core` is `millrace`, and `#core/testing` is `millrace/testing`.",
    ...Object.keys(entryPoints).flatMap((entryPoint) => [
      `## ${entryPoint}`,
      table(
        ["name", "", ""],
        publicNames(entryPoint).map(({ name, kind, comment }) => [`\`${name}\``, kind, comment]),
      ),
    ]),
  ])
}

const declaration = /^export (?:declare )?(?:abstract )?(const|function|async function|class|interface|type) (\w+)/gm

/** Returns kind and comment of a name from its declaration, in this module or in an imported module. */
function declared(name: string, file: string): Pick<PublicName, "kind" | "comment"> {
  const text = sourceOf(file)
  const found = [...text.matchAll(declaration)].filter(([, , one]) => one === name)
  if (found.length > 0) {
    const words = found.map(([, word = ""]) => word)
    const isType = words.some((word) => ["interface", "type", "class"].includes(word))
    const isValue = words.some((word) => !["interface", "type"].includes(word))
    const comments = found.map(({ index }) => commentBefore(text, index)).filter((comment) => comment !== "")
    return { kind: isType && isValue ? "value and type" : isType ? "type" : "value", comment: comments[0] ?? "" }
  }
  for (const { names, from } of [...exportLists(text), ...exportLists(text, "import")]) {
    const passed = names.find(({ as }) => as === name)
    if (passed && !from.startsWith(".")) return { kind: passed.typeOnly ? "type" : "value", comment: `As the package ${from} has it.` }
    if (passed) return declared(passed.name, targetOf(file, from))
  }
  throw new Error(`${file} exports "${name}", and nothing there declares it.`)
}

/** Returns the text of the comment directly above. */
function commentBefore(text: string, index: number): string {
  const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:\/\/ biome-ignore.*\s*)?$/.exec(text.slice(0, index))?.[1] ?? ""
  return comment
    .replaceAll(/^\s*\* ?/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim()
}
