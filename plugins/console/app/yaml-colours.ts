// Line-based syntax colours for YAML and JSON: keys, quoted texts, numbers, comments and block texts. A tenth of the size of a
// parser. The linter reports errors.
import { StreamLanguage } from "@codemirror/language"

interface State {
  /** Indentation of the key with a continuing block text; -1 outside a block. */
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
