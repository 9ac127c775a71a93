// A line on standard error that says what is going on, for what takes longer than a second; only where a person looks.
import type { Terminal } from "../../kernel/terminal.ts"

export interface Progress {
  /** Shown from the next second on. */
  say(what: string): void
  end(): void
}

const eachMs = 1_000

export function progressOn({ stderr }: Terminal, first: string): Progress {
  if (!stderr.isTTY) return { say() {}, end() {} }
  let what = first
  let drawn = false
  const started = performance.now()
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - started) / 1_000)
    stderr.write(`\r\u001b[K${`${what}, ${seconds} s`.slice(0, (stderr.columns ?? 80) - 1)}`)
    drawn = true
  }, eachMs)
  return {
    say(now) {
      what = now
    },
    end() {
      clearInterval(timer)
      if (drawn) stderr.write("\r\u001b[K")
    },
  }
}

export function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
