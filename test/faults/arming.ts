// Builds seeded faults into sources while Node loads them. One fault is active at a time.
import { registerHooks } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { projectRoot } from "../import-graph.ts"
import type { Fault } from "./fault.ts"

const active = "activeFaultOfTest"

/**
 * Registers the faults for modules loaded later. Returns a function to activate one fault. Without a fault it deactivates all.
 */
export function arm(faults: readonly Fault[]): (fault: Fault | undefined) => void {
  const byUrl = Object.groupBy(faults, ({ file }) => pathToFileURL(join(projectRoot, file)).href)
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const own = byUrl[url]
      if (!own) return loaded
      return { ...loaded, source: withFaults(textOf(loaded.source), own, (fault) => faults.indexOf(fault)) }
    },
  })
  return (fault) => void Reflect.set(globalThis, active, fault && faults.indexOf(fault))
}

/** Returns the source with a branch for each fault. Throws if the text of a fault does not occur exactly once. */
export function withFaults(source: string, faults: readonly Fault[], numberOf: (fault: Fault) => number): string {
  const branches = new Map<string, (text: string) => string>()
  for (const fault of faults) {
    const { find } = fault
    const parts = source.split(find)
    if (parts.length !== 2)
      throw new Error(`${fault.file}: the text of "${fault.rule}" occurs ${parts.length - 1} times. Move the fault along: ${find}`)
    const branch = branchOf(fault, parts[0] ?? "", `globalThis.${active} === ${numberOf(fault)}`)
    const earlier = branches.get(find)
    branches.set(find, earlier ? (text) => branch(earlier(text)) : branch)
  }
  let text = source
  for (const [find, branch] of branches) text = text.split(find).join(branch(find))
  return text
}

/** Statements begin a line. A property has a name and a value. Everything else is an expression. */
function branchOf({ find, replace }: Fault, before: string, isActive: string): (text: string) => string {
  if (/(?:^|\n)[ \t]*$/.test(before)) return (text) => `if (${isActive}) { ${replace} } else { ${text} }`
  const property = /^(\w+): ([\s\S]+)$/
  const [match, replaced] = [property.exec(find), property.exec(replace)]
  if (match && replaced) return (text) => getter(match[1] ?? "", `${isActive} ? (${replaced[2]})`, property.exec(text)?.[2] ?? text)
  return (text) => `(${isActive} ? (${replace}) : (${text}))`
}

function getter(name: string, condition: string, value: string): string {
  return `get ${name}() { return ${condition} : (${value}) }`
}

function textOf(source: string | ArrayBuffer | NodeJS.TypedArray | null | undefined): string {
  return typeof source === "string" ? source : new TextDecoder().decode(source ?? new Uint8Array())
}
