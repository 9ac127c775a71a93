// Where JSON text goes wrong. V8's own message often leaves the place out and quotes the text instead, which may hold
// secrets. Only called for text that JSON.parse has refused.

export interface Position {
  readonly offset: number
  readonly line: number
  readonly column: number
}

type Expected = "value" | "valueOrEnd" | "key" | "keyOrEnd" | "colon" | "commaOrEnd" | "end"

const space = /[ \t\n\r]*/y
const scalar =
  /"(?:[\x20\x21\x23-\x5b\x5d-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** The first place at which the text stops being JSON; its end when it only breaks off. */
export function jsonErrorPosition(text: string): Position {
  const closers: string[] = []
  let expected: Expected = "value"
  let offset = skip(text, 0)
  while (offset < text.length) {
    const next = step(text, offset, expected, closers)
    if (!next) break
    expected = next.expected
    offset = skip(text, next.offset)
  }
  const before = text.slice(0, offset)
  const lineStart = before.lastIndexOf("\n") + 1
  return { offset, line: before.split("\n").length, column: offset - lineStart + 1 }
}

function step(text: string, offset: number, expected: Expected, closers: string[]): { offset: number; expected: Expected } | undefined {
  const char = text[offset]
  const closes = char === closers.at(-1) && (expected === "commaOrEnd" || expected === "valueOrEnd" || expected === "keyOrEnd")
  if (closes) {
    closers.pop()
    return { offset: offset + 1, expected: closers.length > 0 ? "commaOrEnd" : "end" }
  }
  switch (expected) {
    case "end":
      return undefined
    case "colon":
      return char === ":" ? { offset: offset + 1, expected: "value" } : undefined
    case "commaOrEnd":
      return char === "," ? { offset: offset + 1, expected: closers.at(-1) === "}" ? "key" : "value" } : undefined
    case "key":
    case "keyOrEnd":
      return char === '"' ? afterScalar(text, offset, "colon") : undefined
    default:
      return openOrScalar(text, offset, closers)
  }
}

function openOrScalar(text: string, offset: number, closers: string[]): { offset: number; expected: Expected } | undefined {
  const char = text[offset]
  if (char === "{" || char === "[") {
    closers.push(char === "{" ? "}" : "]")
    return { offset: offset + 1, expected: char === "{" ? "keyOrEnd" : "valueOrEnd" }
  }
  return afterScalar(text, offset, closers.length > 0 ? "commaOrEnd" : "end")
}

function afterScalar(text: string, offset: number, expected: Expected): { offset: number; expected: Expected } | undefined {
  scalar.lastIndex = offset
  return scalar.test(text) ? { offset: scalar.lastIndex, expected } : undefined
}

function skip(text: string, offset: number): number {
  space.lastIndex = offset
  space.test(text)
  return space.lastIndex
}
