// YAML and JSON as an editor colours them, by line: keys, quoted texts, numbers, comments, and texts over several lines as one.
// It is a tenth of what a parser weighs; what is wrong with a document, the linter says.
import { StreamLanguage } from "@codemirror/language"

interface State {
  /** Indentation of the key whose text goes on below; -1 outside of one. */
  block: number
}

const quoted = `"(?:[^"\\\\]|\\\\.)*"?|'(?:[^']|'')*'?`
const patterns: readonly (readonly [RegExp, string | null])[] = [
  [/^(?:---|\.\.\.)(?=\s|$)/, "meta"],
  [/^[-?](?=\s|$)/, null],
  [new RegExp(`^(?:${quoted}|[^\\s#&*!|>'"%@\`{}\\[\\],:?-][^#:{}\\[\\],]*?)(?=\\s*:(?:\\s|$))`), "propertyName"],
  [new RegExp(`^(?:${quoted})`), "string-2"],
  [/^[&*!][^\s,[\]{}]+/, "meta"],
  [/^(?:true|false|null|~)(?=\s*(?:$|#|[,\]}]))/, "bool"],
  [/^[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?=\s*(?:$|#|[,\]}]))/i, "number"],
  [/^[^\s,[\]{}]+/, null],
]

export const yaml = StreamLanguage.define<State>({
  startState: () => ({ block: -1 }),
  token(stream, state) {
    if (stream.sol() && state.block >= 0) {
      if (stream.indentation() > state.block || /^\s*$/.test(stream.string)) {
        stream.skipToEnd()
        return "string"
      }
      state.block = -1
    }
    if (stream.eatSpace()) return null
    if (stream.match(/^#.*/)) return "comment"
    if (stream.match(/^[|>][-+\d]*\s*(?:#.*)?$/)) {
      state.block = stream.indentation()
      return "meta"
    }
    for (const [pattern, colour] of patterns) if (stream.match(pattern)) return colour
    stream.next()
    return null
  },
})
