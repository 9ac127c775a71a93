// Live rates drawn by uPlot. The library loads with the first chart.
import { useEffect, useRef } from "preact/hooks"
import { inBackground } from "./connection.ts"

export interface RatesArgs {
  readonly label: string
  readonly names: readonly string[]
  /** Times in Unix seconds, then one list for each name. */
  readonly data: readonly [readonly number[], ...(readonly number[])[]]
  readonly height?: number
}

export interface Drawing {
  set(data: RatesArgs["data"]): void
  end(): void
}

export function Rates({ label, names, data, height = 160 }: RatesArgs) {
  const box = useRef<HTMLDivElement>(null)
  const drawing = useRef<Drawing | undefined>(undefined)
  const now = useRef(data)
  now.current = data
  useEffect(() => {
    let isUnmounted = false
    inBackground(
      import("./rates-drawing.ts").then(({ draw }) => {
        if (isUnmounted || !box.current) return
        drawing.current = draw(box.current, { names, height, data: now.current })
      }),
    )
    return () => {
      isUnmounted = true
      drawing.current?.end()
      drawing.current = undefined
    }
  }, [names.join(), height])
  useEffect(() => drawing.current?.set(data), [data])
  const last = data.slice(1).map((values, index) => `${names[index]}: ${values.at(-1) ?? 0}`)
  return (
    <figure class="chart">
      <figcaption>{label}</figcaption>
      <div ref={box} class="rates" aria-hidden="true" style={{ height: `${height}px` }} />
      <p class="about">Now {last.join(", ")}.</p>
    </figure>
  )
}
