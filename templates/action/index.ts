// The action type sample.name: counts the words of a text. Later steps read `{{ steps.<id>.words }}`.
import { z } from "zod"
import { defineAction, definePlugin, template } from "#core"

const action = defineAction({
  type: "sample.name",
  summary: "Count the words of a text.",
  timing: "commit",
  idempotency: "exactly_once",
  config: z.strictObject({
    text: template(z.string()).describe("Text whose words are counted."),
  }),
  result: z.object({ words: z.int().describe("How many words the text has.") }),
  examples: [{ title: "Count the words of a message", yaml: 'type: sample.name\ntext: "{{ event.message }}"' }],
  run({ config }) {
    return { words: config.text.split(/\s+/).filter((word) => word !== "").length }
  },
})

export default definePlugin({
  id: "action-sample-name",
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(action),
})
