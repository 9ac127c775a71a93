// uPlot in the console's colours, at the width of its container.
import "./language.ts"
import uPlot from "uplot"
import "uplot/dist/uPlot.min.css"
import type { Drawing, RatesArgs } from "./rates.tsx"
import { formatTime } from "./show.tsx"

export function draw(box: HTMLElement, { names, height, data }: Required<Pick<RatesArgs, "names" | "height" | "data">>): Drawing {
  const colour = (name: string) => () => colourOf(box, name)
  const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" }
  const plot = new uPlot(
    {
      width: box.clientWidth,
      height,
      legend: { show: false },
      cursor: { show: false },
      series: [
        {},
        ...names.map((label, index) => ({
          label,
          stroke: colour(`--tone-${["one", "two", "three", "bad"][index % 4]}`),
          width: 1.5,
          points: { show: false },
        })),
      ],
      axes: [
        { ...axis, values: (_plot, seconds) => seconds.map((at) => formatTime(at * 1_000).slice(11, 16)) },
        { ...axis, size: 44 },
      ],
      scales: { y: { range: (_plot, _least, max) => [0, Math.max(1, max)] } },
    },
    data as unknown as uPlot.AlignedData,
    box,
  )
  const watch = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height }))
  watch.observe(box)
  const scheme = matchMedia("(prefers-color-scheme: dark)")
  const redraw = () => plot.redraw(false)
  scheme.addEventListener("change", redraw)
  return {
    set: (next) => plot.setData(next as unknown as uPlot.AlignedData),
    end() {
      watch.disconnect()
      scheme.removeEventListener("change", redraw)
      plot.destroy()
    },
  }
}

/** Resolves a colour for the canvas. A light-dark property resolves only at its use. */
function colourOf(box: HTMLElement, name: string): string {
  box.style.color = `var(${name})`
  const { color } = getComputedStyle(box)
  box.style.color = ""
  return color
}
