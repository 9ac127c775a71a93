// What is wrong at one place of a transform, in words.
import type { AnyNode } from "acorn"
import type { ProgramProblem } from "../../sandbox.ts"

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

export function kindOf(node: AnyNode): string {
  return kinds[node.type] ?? `A ${node.type.replace(/(Statement|Declaration|Expression)$/, (word) => ` ${word.toLowerCase()}`)}`
}

export function at(node: AnyNode, message: string): ProgramProblem {
  const start = node.loc?.start
  const place = start ? { line: start.line, column: start.column + 1 } : {}
  return { part: "transform", message: /[.!?]$/.test(message) ? message : `${message}.`, ...place }
}
