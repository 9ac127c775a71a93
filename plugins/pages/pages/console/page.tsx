// Page type and status badge for the screens.
import { Badge, type Output, type Tone } from "#console"

export type Page = Output<"pages.get">

export const statuses = ["draft", "published", "archived"]

const tones: Readonly<Record<string, Tone>> = { published: "good" }

export function Status({ status }: { readonly status: string }) {
  return <Badge tone={tones[status] ?? "plain"}>{status}</Badge>
}
