// CodeMirror in a shadow root. There it adopts style sheets. The page's policy allows them and refuses `<style>` elements.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { bracketMatching, HighlightStyle, indentOnInput, StreamLanguage, syntaxHighlighting } from "@codemirror/language"
import { type Diagnostic, linter, lintGutter, lintKeymap } from "@codemirror/lint"
import { EditorState, type Extension, type Text } from "@codemirror/state"
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view"
import { tags } from "@lezer/highlight"
import type { EditorArgs, Finding, OpenEditor } from "./editor.tsx"
import { yaml } from "./yaml-colours.ts"

const theme = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--back)", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-scroller": { fontFamily: "ui-monospace, monospace", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--faint)", border: "0" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--accent) 6%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 25%, transparent)",
  },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--back)" },
  ".cm-diagnostic": { fontFamily: "system-ui, sans-serif" },
})

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.keyword], color: "var(--tone-one)" },
  { tag: [tags.string, tags.content], color: "var(--text)" },
  { tag: [tags.quote, tags.special(tags.string)], color: "var(--tone-two)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--tone-three)" },
  { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
])

const words =
  /^(?:select|from|where|group|order|by|limit|offset|with|as|and|or|not|in|is|null|case|when|then|else|end|join|left|right|full|inner|outer|on|using|having|distinct|over|partition|union|all|interval|between|like|ilike|desc|asc|filter|true|false|cast|exists)\b/i

const sql = StreamLanguage.define({
  token(stream) {
    if (stream.eatSpace()) return null
    if (stream.match(/^--.*/)) return "comment"
    if (stream.match(/^'(?:[^']|'')*'?/)) return "string-2"
    if (stream.match(/^"(?:[^"]|"")*"?/)) return null
    if (stream.match(/^\d+(?:\.\d+)?/)) return "number"
    if (stream.match(words)) return "keyword"
    if (!stream.match(/^\w+/)) stream.next()
    return null
  },
})

const languages: Readonly<Record<EditorArgs["language"], Extension>> = { yaml, sql, text: [] }

/** Reads `args.current` at each use, for the handlers of the latest rendering. */
export function openEditor(box: HTMLElement, args: { readonly current: EditorArgs }): OpenEditor {
  const { text, language, isReadOnly = false, label } = args.current
  const root = box.shadowRoot ?? box.attachShadow({ mode: "open" })
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        highlightActiveLine(),
        bracketMatching(),
        indentOnInput(),
        languages[language],
        syntaxHighlighting(colours),
        theme,
        EditorState.readOnly.of(isReadOnly),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) args.current.onChange?.(update.state.doc.toString())
        }),
        typedOverSelection,
        autocompletion({ override: [completionsOf(args)], icons: false }),
        args.current.lint ? [lintGutter(), linter(({ state }) => diagnosticsOf(args, state.doc), { delay: 400 })] : [],
        keymap.of([
          { key: "Mod-Enter", run: () => runWith(args.current) },
          ...completionKeymap,
          ...historyKeymap,
          ...lintKeymap,
          // Tab leaves the editor like any field. Ctrl [ and Ctrl ] indent.
          ...defaultKeymap,
        ]),
      ],
    }),
  })
  return {
    setText(next) {
      const now = view.state.doc.toString()
      if (next !== now) view.dispatch({ changes: { from: 0, to: now.length, insert: next } })
    },
    end: () => view.destroy(),
  }
}

/**
 * Browsers preserve the style of replaced text as a style attribute. The page's policy refuses it, so the editor replaces the
 * text.
 */
const typedOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== "insertText" || event.data === null || view.state.selection.main.empty || view.state.readOnly) return false
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true })
    return true
  },
})

function runWith({ onRun }: EditorArgs): boolean {
  onRun?.()
  return onRun !== undefined
}

function completionsOf(args: { readonly current: EditorArgs }) {
  return async ({ state, pos, explicit }: { state: EditorState; pos: number; explicit: boolean }) => {
    const before = state.sliceDoc(Math.max(0, pos - 1), pos)
    if (!explicit && !/[\w.:-]/.test(before)) return null
    const completion = await args.current.complete?.(state.doc.toString(), pos)
    return completion ? { from: completion.from, options: completion.options, validFor: /^[\w.-]*$/ } : null
  }
}

async function diagnosticsOf({ current }: { readonly current: EditorArgs }, doc: Text): Promise<Diagnostic[]> {
  const findings = (await current.lint?.(doc.toString())) ?? []
  return findings.map(({ severity, message, ...at }) => ({ severity, message, ...rangeOf(at, doc) }))
}

function rangeOf({ line = 1, column, endLine, endColumn }: Omit<Finding, "severity" | "message">, doc: Text): { from: number; to: number } {
  const inside = (number: number) => doc.line(Math.min(Math.max(1, number), doc.lines))
  const first = inside(line)
  const from = Math.min(first.from + (column ?? 1) - 1, first.to)
  const last = inside(endLine ?? line)
  const to = endColumn === undefined ? last.to : Math.min(last.from + endColumn - 1, last.to)
  return { from, to: Math.max(from, to) }
}
