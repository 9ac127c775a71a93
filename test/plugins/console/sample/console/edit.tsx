// The editor, with a linter and completions.
import { useSignal } from "@preact/signals"
import { Editor, type Finding, type ScreenProps } from "#console"

const lint = async (text: string): Promise<Finding[]> => {
  const line = text.split("\n").indexOf("wrong: true") + 1
  return line > 0 ? [{ severity: "error", message: "This is wrong.", line }] : []
}

export default function Edit({ params }: ScreenProps) {
  const text = useSignal("name: sample\n")
  const runs = useSignal(0)
  return (
    <>
      <h1>Edit {params["slug"]}</h1>
      <Editor
        label="Document"
        language="yaml"
        text={text.value}
        onChange={(next) => {
          text.value = next
        }}
        lint={lint}
        complete={(typed, at) => ({
          from: at - (/\w*$/.exec(typed.slice(0, at))?.[0].length ?? 0),
          options: [{ label: "state_of_things" }],
        })}
        onRun={() => void runs.value++}
      />
      <pre data-test="text">{text.value}</pre>
      <p role="status">Run {runs.value} times</p>
    </>
  )
}
