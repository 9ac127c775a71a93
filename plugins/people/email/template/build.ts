// Compiles message.mjml into parts.generated.json, so a running service needs no MJML. As a program it writes the file. A test
// compares the file with the committed version.
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import mjml2html from "mjml"

export const generatedFile = fileURLToPath(new URL("./parts.generated.json", import.meta.url))

const sourceFile = fileURLToPath(new URL("./message.mjml", import.meta.url))

/** Inner parts first. An outer part then contains the placeholder of the inner part instead of its text. */
const partNames = ["intro", "field", "fields", "button"] as const

/** Returns the text of parts.generated.json. Throws with all problems found by MJML. */
export async function generateParts(): Promise<string> {
  const { html, errors } = await mjml2html(readFileSync(sourceFile, "utf8"), { validationLevel: "strict", fonts: {} })
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join("\n"))
  const parts: [name: string, text: string][] = []
  let page = html
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join("\n")
  for (const name of partNames) {
    const [begin, end] = [`<!-- begin:${name} -->`, `<!-- end:${name} -->`]
    const [from, to] = [page.indexOf(begin), page.indexOf(end)]
    if (from < 0 || to < from) throw new Error(`message.mjml lacks ${begin} ... ${end}.`)
    parts.push([name, page.slice(from + begin.length, to).trim()])
    page = `${page.slice(0, from)}%%${name}_part%%${page.slice(to + end.length)}`
  }
  return `${JSON.stringify({ page, ...Object.fromEntries(parts) }, null, 2)}\n`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(generatedFile, await generateParts())
