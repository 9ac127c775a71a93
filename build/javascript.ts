// Converts a source file to plain JavaScript. Spaces replace types, so lines and columns stay the same. Paths of other sources
// end in .js. Node refuses types under node_modules, the later place of the package.
import { existsSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { dirname, extname, join } from "node:path"
import { parse, type Token, tokTypes } from "acorn"
import { transformSync } from "esbuild"

const relativePath = /^\.{1,2}\/[\w./-]+\.tsx?$/
/** A program started by name. The caller adds its folder. */
const program = /^[a-z-]+-main\.ts$/
/** File names in a user's project, searched or written by the framework. */
const entryFiles = new Set(["index.ts", "client.ts"])

/** Throws for a text that looks like a source path without an existing source. */
export function javaScriptOf(file: string, source: string): string {
  let text = withoutTypes(file, source)
  // The last text comes first, because a shorter ending moves the texts after it.
  for (const { value, end } of quotedIn(text).reverse()) {
    if (program.test(value) || (relativePath.test(value) && existsSync(join(dirname(file), value))))
      text = `${text.slice(0, end - extname(value).length)}.js${text.slice(end)}`
    else if ((relativePath.test(value) || /^\w[\w.-]*\.ts$/.test(value)) && !entryFiles.has(value))
      throw new Error(`${file} holds "${value}", which names no source beside it; one that is meant is written as ./name.ts.`)
  }
  return text
}

function withoutTypes(file: string, source: string): string {
  // Screens contain JSX. The browser bundle does not preserve their lines.
  if (file.endsWith(".tsx")) return transformSync(source, { loader: "tsx", jsx: "automatic", jsxImportSource: "preact" }).code
  return file.endsWith(".ts") ? stripTypeScriptTypes(source) : source
}

/** Returns every quoted text with its end offset, including backticks. */
function quotedIn(text: string): { value: string; end: number }[] {
  const strings: { value: string; end: number }[] = []
  parse(text, {
    ecmaVersion: "latest",
    sourceType: "module",
    allowHashBang: true,
    onToken: ({ type, value, end }: Token & { readonly value?: unknown }) => {
      if (type === tokTypes.string) strings.push({ value: String(value), end: end - 1 })
      if (type === tokTypes.template) strings.push({ value: String(value), end })
    },
  })
  return strings
}
