// Parses a transform and compiles it to the text for an isolate, or reports why it is impure. The top level allows only functions
// and constants. Asynchronous code and changes of top-level names are refused.
import { type AnyNode, type Function as FunctionNode, type Program, parse, type Statement, type VariableDeclarator } from "acorn"
import type { Expression } from "../../mapping/expression.ts"
import type { ProgramProblem, ResultFields } from "../../sandbox.ts"
import { withContextMark, withoutContextMark } from "../../transform-mark.ts"
import { mappedTransform } from "./mapped-transform.ts"
import { isNode, resultFieldsOf } from "./result-fields.ts"
import { at, isPrimitive, kindOf, notConstant } from "./top-level-constant.ts"

type Found =
  | { readonly problems: ProgramProblem[] }
  | { readonly text: string; readonly fields: ResultFields | null; readonly mapped: Expression | null }

const longest = 256 * 1_024

/** `entry` names the function to run: `transform` or `script`. */
export function transformSource(source: string, entry: string): Found {
  if (source.length > longest) return refuse(`transform_js is ${source.length} characters; at most ${longest} are allowed`)
  let tree: Program
  try {
    tree = parse(source, { ecmaVersion: "latest", sourceType: "script", locations: true, checkPrivateFields: true })
    // The isolate uses strict mode. The first parse gives positions in the author's own text.
    parse(`"use strict";${source}`, { ecmaVersion: "latest", sourceType: "script", locations: true })
  } catch (error) {
    return { problems: [syntaxProblem(error)] }
  }
  const problems: ProgramProblem[] = []
  const names: string[] = []
  const primitives = new Set<string>()
  for (const statement of tree.body) topLevel(statement, { names, primitives }, problems)
  try {
    inspect(tree, new Set(names), problems)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return refuse("transform_js is nested too deeply")
  }
  const transform = tree.body.map((statement) => functionNamed(entry, statement)).find((each) => each !== undefined)
  if (!transform && problems.length === 0)
    return refuse(`transform_js defines no function named ${entry}; write \`function ${entry}(event) { ... }\``)
  if (problems.length > 0) return { problems: problems.slice(0, 20) }
  const found = transform as FunctionNode
  return { text: compiled(source, entry, names, found), fields: resultFieldsOf(found), mapped: mappedTransform(tree, found) }
}

function refuse(message: string): Found {
  return { problems: [{ part: "transform", message: `${message}.` }] }
}

/** Keeps the author's line numbers, so the line of an error is correct. */
function compiled(source: string, entry: string, names: readonly string[], transform: FunctionNode): string {
  const wantsContext = transform.params.length > 1 || transform.params[0]?.type === "RestElement"
  const mark = wantsContext ? withContextMark : withoutContextMark
  return `${mark}{"use strict";${source}\nreturn{run:${entry},held:[${["arguments", ...names].join(",")}],wantsContext:${wantsContext}}})`
}

function functionNamed(name: string, statement: AnyNode): FunctionNode | undefined {
  if (statement.type === "FunctionDeclaration") return statement.id?.name === name ? statement : undefined
  if (statement.type !== "VariableDeclaration") return undefined
  for (const { id, init } of statement.declarations) {
    if (id.type !== "Identifier" || id.name !== name) continue
    if (init?.type === "ArrowFunctionExpression" || init?.type === "FunctionExpression") return init
  }
  return undefined
}

interface TopLevel {
  readonly names: string[]
  /** Constants of strings, numbers and other primitives. Operators may use these. */
  readonly primitives: Set<string>
}

function topLevel(statement: Statement | AnyNode, { names, primitives }: TopLevel, problems: ProgramProblem[]): void {
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
    for (const declaration of statement.declarations) constant(declaration, { names, primitives }, problems)
    return
  }
  problems.push(at(statement, `${kindOf(statement)} at top level is not allowed: only functions and constants of plain values are`))
}

function constant({ id, init }: VariableDeclarator, { names, primitives }: TopLevel, problems: ProgramProblem[]): void {
  if (id.type !== "Identifier") {
    problems.push(at(id, "Destructuring is not allowed at top level; name each constant"))
    return
  }
  names.push(id.name)
  if (id.name === "Object") problems.push(at(id, "`Object` can't be a constant's name: `Object.freeze` at top level means the built-in"))
  const wrong = init ? notConstant(init, primitives) : undefined
  if (wrong) problems.push(wrong)
  else if (init && isPrimitive(init, primitives)) primitives.add(id.name)
}

/** Searches the whole tree for impure code. */
function inspect(node: AnyNode, topNames: ReadonlySet<string>, problems: ProgramProblem[]): void {
  const wrong = impurity(node, topNames)
  if (wrong) problems.push(at(node, wrong))
  for (const value of Object.values(node) as unknown[]) {
    if (Array.isArray(value)) {
      for (const each of value) if (isNode(each)) inspect(each, topNames, problems)
    } else if (isNode(value)) inspect(value, topNames, problems)
  }
}

function impurity(node: AnyNode, topNames: ReadonlySet<string>): string | undefined {
  switch (node.type) {
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return (node as FunctionNode).async ? "`async` is not allowed: a transform is synchronous" : undefined
    case "AwaitExpression":
      return "`await` is not allowed: a transform is synchronous"
    case "ForOfStatement":
      return node.await ? "`for await` is not allowed: a transform is synchronous" : reassigned(node.left, topNames)
    case "ForInStatement":
      return reassigned(node.left, topNames)
    case "ImportExpression":
      return "`import()` is not allowed: a transform cannot load modules"
    case "MetaProperty":
      return node.meta.name === "import" ? "`import.meta` is not allowed" : undefined
    case "WithStatement":
      return "`with` is not allowed"
    case "Identifier":
      if (node.name === "Promise") return "`Promise` is not allowed: a transform is synchronous"
      return node.name === "eval" ? "`eval` is not allowed" : undefined
    case "AssignmentExpression":
      return reassigned(node.left, topNames)
    case "UpdateExpression":
      return reassigned(node.argument, topNames)
  }
  return undefined
}

/** Strict mode allows assignment to functions. An assignment would carry state to the next event. */
function reassigned(target: AnyNode, topNames: ReadonlySet<string>): string | undefined {
  if (target.type === "Identifier") {
    return topNames.has(target.name)
      ? `\`${target.name}\` is a function or constant at top level and can't be assigned; rename the variable`
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

function syntaxProblem(error: unknown): ProgramProblem {
  if (error instanceof RangeError) return { part: "transform", message: "transform_js is nested too deeply." }
  if (!(error instanceof SyntaxError)) throw error
  const message = `${error.message.replace(/ \(\d+:\d+\)$/, "")}.`
  const loc = "loc" in error ? (error.loc as { line: number; column: number }) : undefined
  return loc ? { part: "transform", message, line: loc.line, column: loc.column + 1 } : { part: "transform", message }
}
