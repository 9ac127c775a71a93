// Schemas of answers, made from the schemas of inputs. An answer keeps kinds and descriptions. It drops bounds, so an item
// stored under older bounds stays readable.
import { z } from "zod"
import type { Shape } from "./spec.ts"

/** A schema of the same kind without bounds, patterns and defaults. */
function shownSchema(schema: z.ZodType): z.ZodType {
  const bare = bareSchema(schema)
  const { description } = schema
  return description === undefined ? bare : bare.describe(description)
}

export function shownShape(shape: Shape): Record<string, z.ZodType> {
  return Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, shownSchema(schema)]))
}

function bareSchema(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return shownSchema(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodPipe) return shownSchema(schema.out as z.ZodType)
  if (schema instanceof z.ZodNullable) return shownSchema(schema.unwrap() as z.ZodType).nullable()
  if (schema instanceof z.ZodOptional) return shownSchema(schema.unwrap() as z.ZodType).optional()
  if (schema instanceof z.ZodArray) return z.array(shownSchema(schema.element as z.ZodType))
  if (schema instanceof z.ZodObject) return z.object(shownShape(schema.shape as Shape))
  if (schema instanceof z.ZodString) return z.string()
  if (schema instanceof z.ZodNumber) return schema.isInt ? z.int() : z.number()
  return schema
}
