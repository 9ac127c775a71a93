// What somebody said of a variant, person or model, word for word.
import type { ComponentChildren } from "preact"
import { UntrustedText } from "#console"
import "./experiments.css"

interface SaidArgs {
  readonly variant: string
  readonly text: string
  readonly children?: ComponentChildren
}

export function Said({ variant, text, children }: SaidArgs) {
  return (
    <blockquote class="said">
      <p class="about">
        {variant} {children}
      </p>
      <UntrustedText text={text} isParagraph />
    </blockquote>
  )
}
