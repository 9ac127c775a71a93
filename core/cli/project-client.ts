// `millrace generate client`: a project's client with the operations of its plugins and the shipped operations. Types come from
// the project's exports.
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { type Declarations, frameworkRoot } from "../bootstrap/plugins.ts"
import { type AnyOperation, Operations } from "../contract/operation.ts"
import type { GeneratedFile } from "../kernel/plugin.ts"
import { clientRoute, routeLine, typeLine } from "./client-operations.ts"
import { assertExported, type ExportedOperation, exportedOperations } from "./exported-operations.ts"
import { byName } from "./markdown.ts"

/** First line of the file. It identifies the generated file. */
export const projectClientMark = "// Made by `millrace generate client` of the operations of this project's plugins; edit those."

/** Throws BootError if an operation has no exported type. */
export async function projectClient(declarations: Declarations, file: string): Promise<GeneratedFile> {
  const own = ownOperations(declarations)
  const places = await placesOf(declarations, own, dirname(file))
  assertExported(own, places)
  const lines = [
    projectClientMark,
    "import {",
    "  type ClientOptions,",
    "  type ClientRoute,",
    "  createClient,",
    "  type Operations as Shipped,",
    "  routes as shipped,",
    '} from "millrace/client"',
    "",
    'export { ClientError } from "millrace/client"',
    "",
    "// biome-ignore format: one line each",
    "/** The operations of this project and those that ship, by name. */",
    "export type Operations = Shipped & {",
    ...own.map((operation) => typeLine(operation, places.get(operation)?.path ?? "", places.get(operation)?.name)),
    "}",
    "",
    "// biome-ignore format: one line each",
    "/** Where each of them is called. */",
    "export const routes: { readonly [Name in keyof Operations]: ClientRoute } = {",
    "  ...shipped,",
    ...own.map((operation) => routeLine(operation.name, clientRoute(operation))),
    "}",
    "",
    "/** A client of one service, with a key of its own. */",
    "export function millrace(options: ClientOptions) {",
    "  return createClient<Operations>(routes, options)",
    "}",
    "",
    "export type Client = ReturnType<typeof millrace>",
    "",
  ]
  return { file, text: lines.join("\n") }
}

function ownOperations({ plugins, registry }: Declarations): AnyOperation[] {
  const shipped = new Set(plugins.filter(({ entry }) => isShipped(entry)).map(({ plugin }) => plugin.id))
  const own = registry.all(Operations).filter(({ plugin }) => !shipped.has(plugin))
  return byName(
    own.map(({ item }) => item),
    ({ name }) => name,
  )
}

function isShipped(entry = ""): boolean {
  return entry.startsWith("file:") && !relative(join(frameworkRoot, "plugins"), fileURLToPath(entry)).startsWith("..")
}

/** Finds the exported operations. `path` is the import specifier for the client's file: a relative file or a package. */
async function placesOf({ plugins }: Declarations, own: readonly AnyOperation[], from: string): Promise<Map<unknown, ExportedOperation>> {
  const wanted = new Set<unknown>(own)
  const places = new Map<unknown, ExportedOperation>()
  for (const { entry, from: source } of plugins) {
    if (entry === undefined || isShipped(entry)) continue
    const name = /^package (.+)$/.exec(source)?.[1]
    const found = name === undefined ? await inFolder(dirname(fileURLToPath(entry)), from) : await inPackage(entry, name)
    for (const [operation, place] of found) if (wanted.has(operation) && !places.has(operation)) places.set(operation, place)
  }
  return places
}

async function inFolder(folder: string, from: string): Promise<[unknown, ExportedOperation][]> {
  const below = relative(from, folder).replaceAll("\\", "/")
  const beside = below.startsWith(".") ? below : `./${below}`
  return [...(await exportedOperations(folder))].map(([operation, { path, name }]) => [operation, { path: `${beside}/${path}`, name }])
}

async function inPackage(entry: string, path: string): Promise<[unknown, ExportedOperation][]> {
  const module = (await import(entry)) as Record<string, unknown>
  return Object.entries(module).map(([name, value]) => [value, { path, name }])
}
