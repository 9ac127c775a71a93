// Counts of one pipeline in a block of minutes, as text: its last minute and its sums, then each minute that had events. With
// hundreds of pipelines, a question over hours reads the sums alone. Pure.
//
//     7 12 1 0;3 4 0 0;7 8 1 0
import { type Counts, none, sumOf } from "./counts.ts"

export const minutesPerBlock = 10

/** By minute of the block. */
export type Block = ReadonlyMap<number, Counts>

export function blockOf(minute: number): number {
  return Math.floor(minute / minutesPerBlock)
}

export function writeBlock(block: Block): string {
  const minutes = [...block].sort(([one], [other]) => one - other)
  const sum = minutes.reduce((all, [, counts]) => sumOf(all, counts), none)
  const last = minutes.at(-1)?.[0] ?? 0
  return [[last, sum] as const, ...minutes].map(([minute, counts]) => [minute, ...counts].join(" ")).join(";")
}

export function readBlock(text: string): Block {
  return new Map(text.split(";").slice(1).map(numbersOf))
}

/** Its last minute with events, and its sums. */
export function readSums(text: string): readonly [last: number, sums: Counts] {
  return numbersOf(text.slice(0, text.indexOf(";")))
}

function numbersOf(text: string): readonly [minute: number, counts: Counts] {
  const [minute = 0, accepted = 0, rejected = 0, failed = 0] = text.split(" ").map(Number)
  return [minute, [accepted, rejected, failed]]
}
