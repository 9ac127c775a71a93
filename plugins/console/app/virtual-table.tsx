// A table that draws the rows in sight. Its script is loaded when it is shown: most screens have no such table.
import type { ComponentType } from "preact"
import { Lazy } from "./lazy.tsx"
import type { VirtualTableArgs } from "./virtual-table-rows.tsx"

const load = () => import("./virtual-table-rows.tsx")

export function VirtualTable<T>(props: VirtualTableArgs<T>) {
  return <Lazy load={load as () => Promise<{ readonly default: ComponentType<VirtualTableArgs<T>> }>} props={props} />
}
