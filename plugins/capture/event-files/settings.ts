// Limits of the files of forms.
import { z } from "zod"

const bytes = (value: number, what: string) => z.int().min(1).default(value).describe(what)

export const EventFileSettings = z.strictObject({
  max_file_bytes: bytes(10_485_760, "Maximum bytes of one file of a form."),
  max_event_bytes: bytes(10_485_760, "Maximum bytes of all files of one event."),
  max_pipeline_bytes: bytes(1_073_741_824, "Maximum bytes of all stored files of one pipeline."),
  max_organization_bytes: bytes(5_368_709_120, "Maximum bytes of all stored files of one organization."),
})
export type EventFileSettings = z.output<typeof EventFileSettings>
