// Reads the framework's sources for lists without run-time declarations. The formatter fixes the layout, so patterns suffice.
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { frameworkRoot } from "../../bootstrap/plugins.ts"

interface Named {
  readonly name: string
  readonly as: string
  readonly typeOnly: boolean
}

const texts = new Map<string, string>()

/** Returns the text of a framework file. The path is relative to the framework's folder. */
export function sourceOf(file: string): string {
  const known = texts.get(file)
  if (known !== undefined) return known
  const path = join(frameworkRoot, file)
  if (!existsSync(path)) throw new Error(`${file} does not exist, so its exports cannot be read.`)
  const text = readFileSync(path, "utf8")
  texts.set(file, text)
  return text
}

/** Paths of all TypeScript files of the core and the plugins, in order. */
export function productFiles(): string[] {
  return globSync("{core,plugins}/**/*.ts", { cwd: frameworkRoot }).sort()
}

/** Matches `export { a, type B as C } from "./x.ts"`, and imports alike. */
export function exportLists(text: string, word: "export" | "import" = "export"): { names: Named[]; from: string }[] {
  const statement = new RegExp(`^${word} (type )?\\{([^}]*)\\} from "([^"]+)"`, "gm")
  return [...text.matchAll(statement)].map(([, type, list = "", from = ""]) => ({
    from,
    names: list
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== "")
      .map((one) => {
        const [name = "", as = name] = one.replace(/^type /, "").split(" as ")
        return { name, as, typeOnly: type !== undefined || one.startsWith("type ") }
      }),
  }))
}

/** Resolves an import of `file`. */
export function targetOf(file: string, specifier: string): string {
  const entryPoint = { "#core": "core/index.ts", "#core/engine": "core/engine.ts" }[specifier]
  return entryPoint ?? join(dirname(file), specifier)
}
