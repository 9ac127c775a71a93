// Personas: simulated visitors of panels.
import { z } from "zod"
import { defineResource, Name, slugFrom } from "#core"

const Points = z.array(z.string().trim().min(1).max(500)).max(20)

export const Personas = defineResource()({
  name: "persona",
  plural: "personas",
  title: "Persona",
  path: "/v1/personas",
  collection: { name: "experiment_personas" },
  access: { read: { scope: "experiments:read", role: "guest" }, write: { scope: "experiments:write", role: "member" } },
  key: slugFrom("name"),
  fields: {
    name: Name,
    description: z.string().trim().max(4_000).describe("Work, situation, and habits of reading a page."),
    goals: Points.describe("Goals of the person."),
    fears: Points.describe("Reasons that stop the person from acting."),
  },
  defaults: { description: "", goals: [], fears: [] },
  columns: ["slug", "name", "description", "updated_at"],
  examples: [
    {
      input: {
        name: "Busy founder",
        description: "Runs a company of twelve people and reads on a phone between meetings.",
        goals: ["Save an hour a day"],
        fears: ["A contract that cannot be ended"],
      },
    },
  ],
  change: { goals: ["Save two hours a day"] },
  verbs: {
    create: { summary: "Create a persona: a simulated visitor for panels." },
    update: { summary: "Change a persona. Earlier panels keep its former version." },
    delete: { summary: "Delete a persona. The ledger keeps its answers in panels." },
  },
})
