// Rules about dropped promises, in addition to oxlint. oxlint reports promises in statements and async callbacks.
import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast"
import * as is from "typescript/unstable/ast/is"
import type { Checker, Type } from "typescript/unstable/sync"

export interface Finding {
  readonly line: number
  readonly message: string
}

/** Reads the type of each node in one request. */
type TypesOf = (nodes: readonly Node[]) => readonly (Type | undefined)[]

export function findDropped(file: SourceFile, checker: Checker): Finding[] {
  const nodes = descendants(file)
  const typesOf: TypesOf = (nodesAsked) => (nodesAsked.length === 0 ? [] : checker.getTypeAtLocation(nodesAsked))
  const findings = [voided, unused, late, compared, hasty, listening].flatMap((rule) => rule(nodes, typesOf, checker))
  return findings
    .map(({ node, message }) => ({ line: file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1, message }))
    .sort((a, b) => a.line - b.line)
}

interface Violation {
  readonly node: Node
  readonly message: string
}

/** `void f()` in any place. */
function voided(nodes: readonly Node[], typesOf: TypesOf): Violation[] {
  const expressions = nodes.filter(is.isVoidExpression).map(({ expression }) => expression)
  return promisesAmong(expressions, typesOf)
    .filter((node) => !isHandled(node))
    .map((node) => ({ node, message: "`void` drops a promise. Await it, or give it a rejection handler." }))
}

/** A variable with an unused promise, except for uses of its type. */
function unused(nodes: readonly Node[], typesOf: TypesOf): Violation[] {
  return variables(nodes, typesOf)
    .filter(({ uses }) => uses.length === 0)
    .map(({ node }) => ({ node, message: "This variable drops a promise. Await it, return it, or give it a rejection handler." }))
}

/** A promise may reject before its variable has a handler, since the function awaits another promise first. */
function late(nodes: readonly Node[], typesOf: TypesOf): Violation[] {
  const awaits = nodes.filter(is.isAwaitExpression)
  return variables(nodes, typesOf).flatMap(({ node, uses }) => {
    const [first] = uses
    const waits = awaits.some(
      (other) =>
        first &&
        other.pos > node.end &&
        other.end <= first.pos &&
        functionOf(other) === functionOf(node) &&
        functionOf(first) === functionOf(node),
    )
    return waits
      ? [{ node, message: "The function awaits another promise before it handles this one. Handle or await this one first." }]
      : []
  })
}

/** A call with a compared or tested promise, dropped afterwards. */
function compared(nodes: readonly Node[], typesOf: TypesOf): Violation[] {
  const calls = nodes.filter((node) => is.isCallExpression(node) && isLookedAt(node) && !/\.(get|at|find)$/.test(node.expression.getText()))
  return promisesAmong(calls, typesOf).map((node) => ({ node, message: "This expression drops the promise of a call. Await the call." }))
}

/** `Promise.all` of work for its effect: at the first rejection it returns, and the other work goes on. */
function hasty(nodes: readonly Node[], typesOf: TypesOf, checker: Checker): Violation[] {
  const calls = nodes.filter((node) => is.isCallExpression(node) && node.expression.getText() === "Promise.all")
  const types = typesOf(calls)
  return calls
    .filter((node, index) => isDiscarded(node) || isVoidList(types[index], checker))
    .map((node) => ({
      node,
      message: "`Promise.all` leaves work behind at the first rejection. Use `allDone` of core/kernel/promises.ts.",
    }))
}

/** An async function as a listener or a timer: its caller expects no promise. Types of some emitters allow any result. */
function listening(nodes: readonly Node[]): Violation[] {
  return nodes
    .filter(is.isCallExpression)
    .filter(({ expression }) =>
      /(^|\.)(on|once|addListener|prependListener|addEventListener|set(Timeout|Interval|Immediate)|queueMicrotask|nextTick)$/.test(
        expression.getText(),
      ),
    )
    .flatMap((call) => [...call.arguments])
    .filter((argument) => (is.isArrowFunction(argument) || is.isFunctionExpression(argument)) && /^async\b/.test(argument.getText()))
    .map((node) => ({
      node,
      message: "This async listener drops its promise. Call an async function in it, and give the promise a rejection handler.",
    }))
}

function isDiscarded(node: Node): boolean {
  const outer = is.isAwaitExpression(node.parent) ? node.parent : node
  return is.isExpressionStatement(outer.parent)
}

function isVoidList(type: Type | undefined, checker: Checker): boolean {
  return type !== undefined && /^Promise<(void\[\]|\[void(, void)*\])>$/.test(checker.typeToString(type))
}

interface PromiseVariable {
  readonly node: Node
  /** Expressions with a read of the variable as a promise, in order. */
  readonly uses: readonly Node[]
}

const cache = new WeakMap<readonly Node[], readonly PromiseVariable[]>()

function variables(nodes: readonly Node[], typesOf: TypesOf): readonly PromiseVariable[] {
  const earlier = cache.get(nodes)
  if (earlier) return earlier
  const declared = nodes
    .filter(is.isVariableDeclaration)
    .filter(({ name, initializer }) => is.isIdentifier(name) && initializer && isStarted(initializer))
  const started = new Set(
    promisesAmong(
      declared.map(({ initializer }) => initializer as Node),
      typesOf,
    ),
  )
  const declaration = declared
    .filter(({ initializer }) => started.has(initializer as Node))
    .map((node) => {
      const text = node.name.getText()
      const block = blockOf(node)
      const reads = nodes.filter(
        (other) => is.isIdentifier(other) && other.getText() === text && other !== node.name && isWithin(other, block) && isRead(other),
      )
      return { node, uses: promisesAmong(reads, typesOf).filter((read) => !isLookedAt(read)) }
    })
  cache.set(nodes, declaration)
  return declaration
}

/** Returns true for calls and `new`: they start the promise's work. */
function isStarted(node: Node): boolean {
  return (is.isCallExpression(node) && !isHandled(node)) || is.isNewExpression(node)
}

/** Returns true if the last call of a chain has a rejection handler. */
function isHandled(node: Node): boolean {
  if (!is.isCallExpression(node) || !is.isPropertyAccessExpression(node.expression)) return false
  const { name, expression } = node.expression
  const method = name.getText()
  if (method === "catch" || (method === "then" && node.arguments.length > 1)) return true
  return method === "finally" && isHandled(expression)
}

/** Returns true if the parent tests the value and yields another value. */
function isLookedAt(node: Node): boolean {
  const { parent } = node
  if (is.isTypeOfExpression(parent)) return true
  if (is.isPrefixUnaryExpression(parent)) return parent.operator === SyntaxKind.ExclamationToken
  if (is.isIfStatement(parent)) return parent.expression === node
  if (is.isConditionalExpression(parent)) return parent.condition === node
  if (!is.isBinaryExpression(parent)) return false
  const operator = parent.operatorToken.getText()
  return /^([!=]==?|instanceof|in)$/.test(operator) || (operator === "&&" && parent.left === node)
}

function isRead(node: Node): boolean {
  const { parent } = node
  if (is.isPropertyAccessExpression(parent)) return parent.expression === node
  return !(is.isPropertyAssignment(parent) && parent.name === node)
}

function promisesAmong<T extends Node>(nodes: readonly T[], typesOf: TypesOf): T[] {
  const types = typesOf(nodes)
  return nodes.filter((_, index) => hasPromise(types[index]))
}

function hasPromise(type: Type | undefined): boolean {
  if (type?.isUnionType()) return type.getTypes().some(hasPromise)
  return /^Promise(Like)?$/.test(type?.getSymbol()?.name ?? "")
}

function functionOf(node: Node): Node {
  let outer = node.parent
  while (outer.parent && !is.isFunctionLikeDeclaration(outer)) outer = outer.parent
  return outer
}

function blockOf(node: Node): Node {
  let outer = node.parent
  while (outer.parent && !is.isBlock(outer)) outer = outer.parent
  return outer
}

function isWithin(node: Node, outer: Node): boolean {
  return node.pos >= outer.pos && node.end <= outer.end
}

function descendants(root: Node): Node[] {
  const nodes: Node[] = []
  const visit = (node: Node): undefined => {
    nodes.push(node)
    node.forEachChild(visit)
    return undefined
  }
  root.forEachChild(visit)
  return nodes
}
