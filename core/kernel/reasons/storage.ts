// Reasons of refused and failed storage calls.
import { z } from "zod"
import { defineReasons, FieldProblems } from "./define.ts"

export const storageReasons = defineReasons({
  commit_timeout: {
    code: "unavailable",
    summary: "Commits wait for too long.",
    details: { waiting: z.int().describe("Commits that wait.") },
  },
  condition_not_met: {
    code: "aborted",
    summary: "A document no longer matches the condition of the write.",
    remedy: "Read the document again.",
    details: { collection: z.string().describe("The collection."), id: z.string().describe("The document.") },
  },
  database_setup_failed: {
    code: "failed_precondition",
    summary: "The database's collections or indexes could not be created.",
    remedy: "Drop or rename the indexes that the message names.",
    details: { problems: z.array(z.string()).describe("What the server said.") },
  },
  document_not_found: {
    code: "not_found",
    summary: "A document that was to be changed does not exist.",
    remedy: "Read the collection again.",
    details: {
      collection: z.string().describe("The collection."),
      id: z.string().optional().describe("The document."),
      fields: FieldProblems.optional(),
    },
  },
  document_too_large: {
    code: "invalid_argument",
    summary: "A document is too large for the store.",
    remedy: "Split it.",
    details: { collection: z.string().describe("The collection.") },
  },
  document_unreadable: { code: "data_loss", summary: "A stored document cannot be read.", remedy: "Restore it from a backup." },
  duplicate_value: {
    code: "already_exists",
    summary: "Another document has the same value of a unique field.",
    remedy: "Choose another value.",
    details: { collection: z.string().describe("The collection."), fields: FieldProblems },
  },
  lease_lost: { code: "unavailable", summary: "This node's lease has expired, so it may not act." },
  not_started: { code: "unavailable", summary: "The store is not open." },
  overloaded: { code: "unavailable", summary: "The queue of this resource is full.", remedy: "Retry after `Retry-After`." },
  read_failed: { code: "unavailable", summary: "A read of the store failed." },
  read_timeout: {
    code: "deadline_exceeded",
    summary: "A read of the store timed out.",
    remedy: "Ask for less, or by an index.",
    details: { collection: z.string().describe("The collection."), deadline_ms: z.number().describe("The deadline.") },
  },
  sealed_text_corrupt: { code: "data_loss", summary: "A sealed secret was tampered with, or is damaged." },
  stopping: {
    code: "unavailable",
    summary: "The service is stopping.",
    details: { execution_id: z.string().optional().describe("The execution, if any.") },
  },
  storage_corrupt: { code: "unavailable", summary: "The data file is damaged.", remedy: "Restore a backup." },
  storage_full: {
    code: "unavailable",
    summary: "The disk is full, or the data file has reached its maximum size.",
    remedy: "Free space, or raise the limit.",
  },
  storage_missing: {
    code: "unavailable",
    summary: "The data file was moved or deleted.",
    remedy: "Bring the file back, and start the service again.",
  },
  storage_timeout: { code: "unavailable", summary: "Storage did not respond in time." },
  storage_unavailable: { code: "unavailable", summary: "Storage cannot be reached, or cannot be written to." },
  undeclared_collection: {
    code: "failed_precondition",
    summary: "The collection is not declared by any plugin.",
    remedy: "Load the plugin that declares it.",
    details: { collection: z.string().describe("The collection.") },
  },
  unknown_master_key: {
    code: "data_loss",
    summary: "The secret was sealed with an unknown master key.",
    remedy: "Give the service the earlier key as well.",
  },
  unsortable_value: {
    code: "failed_precondition",
    summary: "A value cannot be sorted.",
    remedy: "Sort by a field that holds plain values.",
    details: { collection: z.string().describe("The collection.") },
  },
  value_type_mismatch: {
    code: "failed_precondition",
    summary: "An update does not fit the type of the stored value.",
    remedy: "Read the document again, and change what is there.",
    details: { fields: FieldProblems.optional(), collection: z.string().optional().describe("The collection.") },
  },
  unsupported_server: {
    code: "failed_precondition",
    summary: "The database server is too old, or not a member of a replica set.",
    remedy: "Do what the message says.",
  },
  wrong_master_key: {
    code: "failed_precondition",
    summary: "The master key cannot open the store's secrets.",
    remedy: "Start with the key that the store was made with.",
    details: {
      needed: z.string().describe("Id of the key that the store needs."),
      given: z.string().optional().describe("Id of the key that was given."),
    },
  },
  wrong_organization: {
    code: "permission_denied",
    summary: "A write names a document of another organization.",
    remedy: "Write the document in its own organization.",
    details: { collection: z.string().describe("The collection.") },
  },
})
