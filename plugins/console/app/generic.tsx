// Generic pages for places without a screen, built from operations: the area, one resource, or one operation.
import { Area, Do, One } from "./area.tsx"

interface GenericArgs {
  readonly area: string
  readonly id: string | undefined
  readonly name: string | undefined
}

export default function Generic({ area, id, name }: GenericArgs) {
  if (id === "-" && name !== undefined) return <Do key={name} name={name} />
  if (id !== undefined && id !== "-") return <One key={`${area} ${id}`} area={area} id={id} />
  return <Area key={area} area={area} />
}
