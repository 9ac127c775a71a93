// Settings of knowledge.
import { z } from "zod"
import { token } from "#core"

export const KnowledgeSettings = z.strictObject({
  max_characters: z.int().min(1_000).max(4_000_000).default(1_000_000).describe("Of an item's text; a longer document is not read in."),
  max_fetched_bytes: z.int().min(1_024).max(33_554_432).default(10_485_760).describe("Of a document that is fetched from a URL."),
  max_uploaded_bytes: z.int().min(1_024).max(33_554_432).default(10_485_760).describe("Of a document that is uploaded to a link."),
  max_pages: z.int().min(1).max(20_000).default(2_000).describe("Of a PDF."),
  max_versions: z.int().min(1).max(100).default(20).describe("Versions of an item that are kept, the latest."),
  read_memory_mb: z.int().min(128).max(4_096).default(384).describe("Memory of the process that reads a document."),
  read_timeout_ms: z.int().min(1_000).max(60_000).default(30_000).describe("Time limit of reading one document."),
  readers: z.int().min(1).max(16).default(2).describe("Documents read at once on a node; organizations take turns."),
  index_memory_mb: z.int().min(16).max(16_384).default(512).describe("Of the indexes that a node holds for searches, about."),
})

export type KnowledgeSettings = z.output<typeof KnowledgeSettings>

export const KnowledgeSettingsToken = token<KnowledgeSettings>("KnowledgeSettings")
