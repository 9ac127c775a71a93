// A card of the overview.
import { Answered, Figure, useAnswer } from "#console"

export default function SampleCard() {
  const listed = useAnswer<{ datasets: unknown[] }>("datasets.list")
  return <Answered of={listed}>{({ datasets }) => <Figure label="datasets" value={datasets.length} href="/console/sample" />}</Answered>
}
