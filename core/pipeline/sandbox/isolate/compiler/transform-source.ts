// Reads a transform's syntax tree and turns the text into what an isolate evaluates, or says why it is no pure function:
// top level only functions and constants, nothing asynchronous, nothing that changes a top-level name.
import { type AnyNode, type Expression, type Function as FunctionNode, type Pattern, type Program, parse, type Statement } from "acorn"
import type { ProgramProblem } from "../../sandbox.ts"
import { withContextMark, withoutContextMark } from "../../transform-mark.ts"

type Found = { readonly problems: ProgramProblem[] } | { readonly text: string }

const longest = 256 * 1_024

export function transformSource(source: string): Found {
  if (source.length > longest) return refuse(`transform_js is ${source.length} characters; at most ${longest} are allowed`)
  let tree: Program
  try {
    tree = parse(source, { ecmaVersion: "latest", sourceType: "script", locations: true, checkPrivateFields: true })
    // Strict mode is what it runs in; the first parse gives places in the author's own text.
    parse(`"use strict";${source}`, { ecmaVersion: "latest", sourceType: "script", locations: true })
  } catch (error) {
    return { problems: [syntaxProblem(error)] }
  }
  const problems: ProgramProblem[] = []
  const names: string[] = []
  for (const statement of tree.body) topLevel(statement, names, problems)
  try {
    inspect(tree, new Set(names), problems)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return refuse("transform_js nests too deep to be read")
  }
  const transform = tree.body.map(transformOf).find((each) => each !== undefined)
  if (!transform && problems.length === 0)
    return refuse("transform_js defines no function named transform; write `function transform(event) { ... }`")
  if (problems.length > 0) return { problems: problems.slice(0, 20) }
  return { text: compiled(source, names, transform as Parameters) }
}

function refuse(message: string): Found {
  return { problems: [{ part: "transform", message: `${message}.` }] }
}

interface Parameters {
  readonly params: readonly Pattern[]
}

/** Everything stays on the author's own lines, so that an error's line is theirs. */
function compiled(source: string, names: readonly string[], transform: Parameters): string {
  const wantsContext = transform.params.length > 1 || transform.params[0]?.type === "RestElement"
  const mark = wantsContext ? withContextMark : withoutContextMark
  return `${mark}{"use strict";${source}\nreturn{run:transform,held:[${["arguments", ...names].join(",")}],wantsContext:${wantsContext}}})`
}

function transformOf(statement: AnyNode): Parameters | undefined {
  if (statement.type === "FunctionDeclaration") return statement.id?.name === "transform" ? statement : undefined
  if (statement.type !== "VariableDeclaration") return undefined
  for (const { id, init } of statement.declarations) {
    if (id.type !== "Identifier" || id.name !== "transform") continue
    if (init?.type === "ArrowFunctionExpression" || init?.type === "FunctionExpression") return init
  }
  return undefined
}

function topLevel(statement: Statement | AnyNode, names: string[], problems: ProgramProblem[]): void {
  if (statement.type === "EmptyStatement") return
  if (statement.type === "ExpressionStatement" && "directive" in statement && statement.directive) return
  if (statement.type === "FunctionDeclaration" && statement.id) {
    names.push(statement.id.name)
    return
  }
  if (statement.type === "VariableDeclaration") {
    if (statement.kind !== "const") {
      problems.push(
        at(statement, `\`${statement.kind}\` at top level keeps state between events; use \`const\`, or move it into the function`),
      )
    }
    for (const { id, init } of statement.declarations) {
      if (id.type !== "Identifier") {
        problems.push(at(id, "Destructuring is not allowed at top level; name each constant"))
        continue
      }
      names.push(id.name)
      const wrong = init ? notConstant(init) : undefined
      if (wrong) problems.push(wrong)
    }
    return
  }
  problems.push(
    at(statement, `${kindOf(statement)} at top level is not allowed: only functions and constants of plain values may stand there`),
  )
}

/** The first part of a constant's value that isn't one: calls, mutable collections, stateful regexes. */
function notConstant(node: Expression | AnyNode): ProgramProblem | undefined {
  switch (node.type) {
    case "Literal":
      if ("regex" in node && node.regex && /[gy]/.test(node.regex.flags)) {
        return at(
          node,
          `A regular expression with flag ${node.regex.flags.includes("g") ? "g" : "y"} keeps a position between events; write it inside the function`,
        )
      }
      return undefined
    case "FunctionExpression":
    case "ArrowFunctionExpression":
    case "TemplateElement":
      return undefined
    case "Identifier":
      return undefined
    case "TemplateLiteral":
      return firstOf(node.expressions)
    case "UnaryExpression":
      return node.operator === "delete" ? at(node, "`delete` is not allowed in a top-level constant") : notConstant(node.argument)
    case "BinaryExpression":
    case "LogicalExpression":
      return firstOf([node.left, node.right])
    case "ConditionalExpression":
      return firstOf([node.test, node.consequent, node.alternate])
    case "ParenthesizedExpression":
      return notConstant(node.expression)
    case "ArrayExpression":
      return firstOf(node.elements)
    case "SpreadElement":
      return notConstant(node.argument)
    case "ObjectExpression":
      return firstOf(node.properties)
    case "Property":
      if (node.kind !== "init") return at(node, "Getters and setters are not allowed in a top-level constant")
      return (node.computed ? notConstant(node.key) : undefined) ?? notConstant(node.value)
    case "CallExpression":
      if (isFreeze(node.callee) && node.arguments.length === 1) return firstOf(node.arguments)
  }
  return at(
    node,
    `${kindOf(node)} is not allowed in a top-level constant: only plain values, lists, objects and functions are. Move it into the function`,
  )
}

function firstOf(nodes: readonly (AnyNode | null)[]): ProgramProblem | undefined {
  for (const node of nodes) {
    const wrong = node ? notConstant(node) : undefined
    if (wrong) return wrong
  }
  return undefined
}

function isFreeze(node: AnyNode): boolean {
  return (
    node.type === "MemberExpression" &&
    !node.computed &&
    node.object.type === "Identifier" &&
    node.object.name === "Object" &&
    node.property.type === "Identifier" &&
    node.property.name === "freeze"
  )
}

/** Walks the whole tree for what no pure function may hold. */
function inspect(node: AnyNode, topNames: ReadonlySet<string>, problems: ProgramProblem[]): void {
  const wrong = impurity(node, topNames)
  if (wrong) problems.push(at(node, wrong))
  for (const value of Object.values(node) as unknown[]) {
    if (Array.isArray(value)) {
      for (const each of value) if (isNode(each)) inspect(each, topNames, problems)
    } else if (isNode(value)) inspect(value, topNames, problems)
  }
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
}

function impurity(node: AnyNode, topNames: ReadonlySet<string>): string | undefined {
  switch (node.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return (node as FunctionNode).async ? "`async` is not allowed: a transform answers at once" : undefined
    case "AwaitExpression":
      return "`await` is not allowed: a transform answers at once"
    case "ForOfStatement":
      return node.await ? "`for await` is not allowed: a transform answers at once" : reassigned(node.left, topNames)
    case "ForInStatement":
      return reassigned(node.left, topNames)
    case "ImportExpression":
      return "`import()` is not allowed: a transform has nothing to load"
    case "MetaProperty":
      return node.meta.name === "import" ? "`import.meta` is not allowed" : undefined
    case "WithStatement":
      return "`with` is not allowed"
    case "Identifier":
      if (node.name === "Promise") return "`Promise` is not allowed: a transform answers at once"
      return node.name === "eval" ? "`eval` is not allowed" : undefined
    case "AssignmentExpression":
      return reassigned(node.left, topNames)
    case "UpdateExpression":
      return reassigned(node.argument, topNames)
  }
  return undefined
}

/** Strict mode's functions are variables still; assigning one would carry state to the next event. */
function reassigned(target: AnyNode, topNames: ReadonlySet<string>): string | undefined {
  if (target.type === "Identifier") {
    return topNames.has(target.name)
      ? `\`${target.name}\` names a function or constant at top level and can't be assigned; give the variable another name`
      : undefined
  }
  if (target.type === "MemberExpression" || target.type === "VariableDeclaration") return undefined
  for (const part of partsOf(target)) {
    const wrong = reassigned(part, topNames)
    if (wrong) return wrong
  }
  return undefined
}

function partsOf(pattern: AnyNode): AnyNode[] {
  switch (pattern.type) {
    case "ArrayPattern":
      return pattern.elements.filter((each) => each !== null)
    case "ObjectPattern":
      return pattern.properties.map((each) => (each.type === "Property" ? each.value : each.argument))
    case "AssignmentPattern":
      return [pattern.left]
    case "RestElement":
      return [pattern.argument]
    default:
      return []
  }
}

const kinds: Record<string, string> = {
  ClassDeclaration: "A class",
  ExpressionStatement: "A statement that runs",
  CallExpression: "A call",
  NewExpression: "`new`",
  MemberExpression: "Reading a property",
  ClassExpression: "A class",
  TaggedTemplateExpression: "A tagged template",
  AssignmentExpression: "An assignment",
}

function kindOf(node: AnyNode): string {
  return kinds[node.type] ?? `A ${node.type.replace(/(Statement|Declaration|Expression)$/, (word) => ` ${word.toLowerCase()}`)}`
}

function at(node: AnyNode, message: string): ProgramProblem {
  const start = node.loc?.start
  const place = start ? { line: start.line, column: start.column + 1 } : {}
  return { part: "transform", message: /[.!?]$/.test(message) ? message : `${message}.`, ...place }
}

function syntaxProblem(error: unknown): ProgramProblem {
  if (error instanceof RangeError) return { part: "transform", message: "transform_js nests too deep to be read." }
  if (!(error instanceof SyntaxError)) throw error
  const message = `${error.message.replace(/ \(\d+:\d+\)$/, "")}.`
  const loc = "loc" in error ? (error.loc as { line: number; column: number }) : undefined
  return loc ? { part: "transform", message, line: loc.line, column: loc.column + 1 } : { part: "transform", message }
}
