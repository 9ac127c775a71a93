// Steps before a screenshot: a short list of plain actions, no scripts.
import { z } from "zod"

export const maxInstructions = 20

const Selector = z.string().min(1).max(500).describe("CSS selector; the first match is used.")

const Click = z.strictObject({ action: z.literal("click"), selector: Selector })

const Fill = z.strictObject({ action: z.literal("fill"), selector: Selector, value: z.string().max(2_000) })

const Choose = z
  .strictObject({
    action: z.literal("choose"),
    selector: Selector,
    value: z.string().max(2_000).optional().describe("The option's value."),
    label: z.string().max(2_000).optional().describe("The option's label."),
  })
  .refine(({ value, label }) => (value === undefined) !== (label === undefined), "give one of value and label")

const Check = z.strictObject({
  action: z.literal("check"),
  selector: Selector,
  checked: z.boolean().default(true).describe("Target state of the checkbox or radio button."),
})

const Scroll = z
  .strictObject({
    action: z.literal("scroll"),
    selector: Selector.optional().describe("Scrolls this into view."),
    to: z.enum(["top", "bottom"]).optional(),
    y: z.int().min(0).max(1_000_000).optional().describe("CSS pixels from the top."),
  })
  .refine(({ selector, to, y }) => [selector, to, y].filter((value) => value !== undefined).length === 1, "give one of selector, to and y")

const Wait = z
  .strictObject({
    action: z.literal("wait"),
    selector: Selector.optional().describe("Waits until this is visible."),
    ms: z.int().min(1).max(10_000).optional(),
  })
  .refine(({ selector, ms }) => (selector === undefined) !== (ms === undefined), "give one of selector and ms")

export const Instruction = z.discriminatedUnion("action", [Click, Fill, Choose, Check, Scroll, Wait])
export type Instruction = z.output<typeof Instruction>

export const Viewport = z.strictObject({
  width: z.int().min(200).max(3_840).default(1_280),
  height: z.int().min(200).max(4_320).default(800),
  device_scale_factor: z.number().min(1).max(3).default(1).describe("Image pixels per CSS pixel."),
})
export type Viewport = z.output<typeof Viewport>
