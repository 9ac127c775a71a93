// The lines around a place in a text, with a mark below the place.

export interface FramePlace {
  readonly line: number
  readonly column: number
}

/** Two lines before and one after; long lines are cut around the place. */
export function codeFrame(text: string, { line, column }: FramePlace): string {
  const lines = text.split(/\r?\n/)
  if (line > lines.length) return ""
  const [from, to] = [Math.max(1, line - 2), Math.min(lines.length, line + 1)]
  const width = String(to).length
  const cut = Math.max(0, column - 80)
  const shown: string[] = []
  for (let number = from; number <= to; number++) {
    const content = (lines[number - 1] ?? "").slice(cut, cut + 140).replaceAll("\t", " ")
    if (number === to && number !== line && content.trim() === "") continue
    shown.push(`${number === line ? ">" : " "} ${String(number).padStart(width)} | ${content}`.trimEnd())
    if (number === line) shown.push(`  ${" ".repeat(width)} | ${" ".repeat(Math.max(0, column - 1 - cut))}^`)
  }
  return shown.join("\n")
}
