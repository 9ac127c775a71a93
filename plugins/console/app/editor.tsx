// An editor for documents, loaded on first display. It shows findings of the service's linter and offers completions.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import { inBackground } from "./connection.ts"

export interface Finding {
  readonly severity: "error" | "warning" | "info"
  readonly message: string
  /** From 1. A finding without a line concerns the whole document. */
  readonly line?: number
  readonly column?: number
  readonly endLine?: number
  readonly endColumn?: number
}

export interface Completion {
  readonly label: string
  /** Shown behind the label. */
  readonly detail?: string
  /** Shown beside the list. */
  readonly info?: string
  /** Inserted in place of the label. */
  readonly apply?: string
}

export interface EditorArgs {
  readonly label: string
  readonly text: string
  readonly language: "yaml" | "sql" | "text"
  readonly isReadOnly?: boolean
  readonly onChange?: (text: string) => void
  /** Called shortly after the last change. */
  readonly lint?: (text: string) => Promise<readonly Finding[]>
  /** Returns completions at an offset. They replace the text from `from`. */
  readonly complete?: (
    text: string,
    offset: number,
  ) =>
    | { readonly from: number; readonly options: readonly Completion[] }
    | null
    | Promise<{ readonly from: number; readonly options: readonly Completion[] } | null>
  /** `Ctrl Enter`. */
  readonly onRun?: () => void
}

export interface OpenEditor {
  setText(text: string): void
  end(): void
}

export function Editor(args: EditorArgs) {
  const box = useRef<HTMLDivElement>(null)
  const editor = useRef<OpenEditor | undefined>(undefined)
  const now = useRef(args)
  now.current = args
  useEffect(() => {
    let isUnmounted = false
    inBackground(
      import("./code-mirror.ts").then(({ openEditor }) => {
        if (!isUnmounted && box.current) editor.current = openEditor(box.current, now)
      }),
    )
    return () => {
      isUnmounted = true
      editor.current?.end()
      editor.current = undefined
    }
  }, [args.language, args.isReadOnly])
  // Runs before the next key press. Otherwise an older text of the editor could overwrite a newer text.
  useLayoutEffect(() => editor.current?.setText(args.text), [args.text])
  return <div ref={box} class="editor" />
}
