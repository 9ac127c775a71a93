// A page as the screens show it.
import { Badge, type Tone } from "#console"

export interface Summary {
  readonly id: string
  readonly slug: string
  readonly title: string
  readonly status: string
  readonly url: string
  readonly revision: number
  readonly updated_at: string
  readonly published_at: string | null
}

export interface Page extends Summary {
  readonly single_page: boolean
  readonly variants: readonly { readonly key: string; readonly html: string; readonly weight: number }[]
  readonly warnings: readonly string[]
}

export const statuses = ["draft", "published", "archived"]

const tones: Readonly<Record<string, Tone>> = { published: "good" }

export function Status({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? "plain"}>{status}</Badge>
}
