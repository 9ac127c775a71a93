// The name of a function or a variable is neither a bare participle nor a pronoun. docs/glossary.md has the words.
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type AnyNode, type Pattern, parse } from "acorn"
import { expect } from "chai"
import { transformSync } from "esbuild"
import { projectRoot } from "./import-graph.ts"

interface Name {
  readonly name: string
  readonly isFunction: boolean
}

/** Limits for areas with names of earlier times. A limit only goes down. Other areas have the limit zero. */
const limits: Readonly<Record<string, number>> = {
  core: 4,
  "core/bootstrap": 24,
  "core/cli": 139,
  "core/client": 34,
  "core/cluster": 21,
  "core/contract": 28,
  "core/jobs": 33,
  "core/kernel": 120,
  "core/pipeline": 434,
  "core/process": 7,
  "core/rehearsal": 25,
  "core/resource": 30,
  "core/search": 14,
  "core/storage": 160,
  "core/surface": 227,
  "core/testing": 67,
  "plugins/agents/evals": 23,
  "plugins/agents/heartbeats": 11,
  "plugins/agents/integrations": 57,
  "plugins/agents/models": 19,
  "plugins/agents/threads": 5,
  "plugins/agents/workstreams": 7,
  "plugins/capture/actions": 14,
  "plugins/capture/event-files": 9,
  "plugins/capture/executions": 105,
  "plugins/capture/pipeline-files": 141,
  "plugins/capture/pipeline-insights": 129,
  "plugins/capture/pipelines": 123,
  "plugins/console/app": 1,
  "plugins/data/buckets": 7,
  "plugins/data/datasets": 33,
  "plugins/data/knowledge": 44,
  "plugins/inbound-auth/checks": 1,
  "plugins/pages/experiments": 91,
  "plugins/pages/page-analytics": 30,
  "plugins/pages/page-events": 32,
  "plugins/pages/pages": 28,
  "plugins/pages/screenshots": 16,
  "plugins/pages/user-agents": 1,
  "plugins/people/consents": 23,
  "plugins/people/conversations": 158,
  "plugins/people/email": 22,
  "plugins/people/inbound-mail": 65,
  "plugins/people/leads": 81,
  "plugins/people/sending-domains": 40,
  "plugins/people/suppressions": 36,
  "plugins/people/voice": 36,
}

const glossary = readFileSync(join(projectRoot, "docs/glossary.md"), "utf8")
const [, section = ""] = glossary.split("\n## Words that are not names\n")
const participles = wordsOf("Participles")
const others = wordsOf("Pronouns and adverbs")
const verbs = wordsOf("Allowed names of functions")

function wordsOf(title: string): ReadonlySet<string> {
  const line = section.split("\n").find((text) => text.startsWith(`${title}: `)) ?? ""
  return new Set([...line.matchAll(/`(\w+)`/g)].map(([, word = ""]) => word))
}

/** Functions also have no regular participle as a name. */
function isRefused({ name, isFunction }: Name): boolean {
  if (isFunction && verbs.has(name)) return false
  return participles.has(name) || others.has(name) || (isFunction && /^[a-z]+ed$/.test(name))
}

/** Names declared by a pattern. A field under its own name is declared elsewhere. */
function namesIn(pattern: Pattern | null): string[] {
  switch (pattern?.type) {
    case "Identifier":
      return [pattern.name]
    case "AssignmentPattern":
      return namesIn(pattern.left)
    case "RestElement":
      return namesIn(pattern.argument)
    case "ArrayPattern":
      return pattern.elements.flatMap(namesIn)
    case "ObjectPattern":
      return pattern.properties.flatMap((property) => {
        if (property.type === "RestElement") return namesIn(property.argument)
        return property.shorthand ? [] : namesIn(property.value)
      })
    default:
      return []
  }
}

/** `left` and `right` are two sides. */
function variablesIn(patterns: readonly Pattern[]): Name[] {
  const names = patterns.flatMap(namesIn)
  return names.filter((name) => name !== "left" || !names.includes("right")).map((name) => ({ name, isFunction: false }))
}

function declaredBy(node: AnyNode): Name[] {
  switch (node.type) {
    case "VariableDeclarator": {
      const isFunction = node.init?.type === "ArrowFunctionExpression" || node.init?.type === "FunctionExpression"
      return variablesIn([node.id]).map(({ name }) => ({ name, isFunction }))
    }
    case "FunctionDeclaration":
      return [{ name: node.id?.name ?? "", isFunction: true }, ...variablesIn(node.params)]
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return variablesIn(node.params)
    case "MethodDefinition":
      return node.key.type === "Identifier" || node.key.type === "PrivateIdentifier"
        ? [{ name: node.key.name, isFunction: node.kind === "method" }]
        : []
    default:
      return []
  }
}

function namesOf(source: string, path: string): Name[] {
  const { code } = transformSync(source, { loader: path.endsWith("x") ? "tsx" : "ts", jsx: "automatic", target: "esnext" })
  const names: Name[] = []
  const nodes: unknown[] = [parse(code, { ecmaVersion: "latest", sourceType: "module" })]
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    if (typeof node !== "object" || node === null) continue
    if ("type" in node) names.push(...declaredBy(node as AnyNode))
    nodes.push(...Object.values(node))
  }
  return names
}

const refusedIn = (source: string, path: string) => namesOf(source, path).flatMap((name) => (isRefused(name) ? [name.name] : []))

/** A plugin, a folder of core, or a folder of the root. */
function areaOf(path: string): string {
  const folders = path.split("/").slice(0, -1)
  return folders.slice(0, folders[0] === "plugins" ? 3 : 2).join("/")
}

describe("names", () => {
  it("have their refused words in the glossary", () => {
    expect([...participles]).to.include.members(["given", "found", "shown", "told", "kept"])
    expect([...others]).to.include.members(["one", "what", "own"])
  })

  it("are refused if they are a bare participle or a pronoun", () => {
    const source = `
      function told(given: string, { kept: seen, named }: Row, ...rest: string[]) {
        const found = rest.map((one) => one + given)
        for (const each of found) for (let [what] = each; what; ) what = ""
        return found.sort((left, right) => (left < right ? -1 : 1))
      }
      class Cache { #checked() {} read(text: string) { const all = () => text } get named() { return 1 } }
      const stored: Row = { told, kept: 1 }`
    expect(refusedIn(source, "sample.ts").toSorted()).to.deep.equal(
      ["checked", "each", "found", "given", "named", "one", "rest", "seen", "stored", "told", "what"].toSorted(),
    )
  })

  it("are refused in no area beyond its limit", () => {
    const files = globSync("{build,client,core,plugins}/**/*.{ts,tsx}", { cwd: projectRoot }).filter(
      (path) => !/\.(?:generated|d)\.ts$/.test(path),
    )
    const byArea = new Map<string, string[]>()
    for (const path of files) {
      const refused = refusedIn(readFileSync(join(projectRoot, path), "utf8"), path).map((name) => `${path}: ${name}`)
      byArea.set(areaOf(path), [...(byArea.get(areaOf(path)) ?? []), ...refused])
    }
    const beyond = [...byArea].flatMap(([area, refused]) =>
      refused.length > (limits[area] ?? 0) ? [`${area}: ${refused.length} names, at most ${limits[area] ?? 0}`, ...refused] : [],
    )
    expect(beyond, beyond.join("\n")).to.deep.equal([])
  })
})
