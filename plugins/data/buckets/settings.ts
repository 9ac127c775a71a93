// Settings of the object storage.
import { z } from "zod"

const endpoint = z.url({ protocol: /^https?$/, error: "expected an http(s) URL such as https://s3.example.com" })

const S3Settings = z
  .strictObject({
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens")
      .describe("Bucket that holds all objects."),
    region: z.string().min(1).default("us-east-1").describe("Region; most servers other than AWS accept any."),
    endpoint: endpoint.optional().describe("Endpoint of a server other than AWS, such as https://minio.internal:9000."),
    public_endpoint: endpoint.optional().describe("Endpoint for readers of signed links, where it differs."),
    path_style: z
      .boolean()
      .default(false)
      .describe("Path-style addressing: the bucket in the path instead of the host name; most servers other than AWS need it."),
    prefix: z
      .string()
      .regex(/^(?:[a-z0-9_-]+\/)*$/, "empty, or folders that end in /, such as millrace/")
      .default("")
      .describe("Prefix of every key."),
    timeout_ms: z
      .int()
      .min(100)
      .max(600_000)
      .default(30_000)
      .describe("Milliseconds for an answer, and for each next part of an object, before a request is given up."),
    access_key_id: z.string().min(1).optional().describe("Absent: AWS's default credential chain (environment, instance role)."),
    secret_access_key: z.string().min(1).optional().describe("Give it as `{ from_env: NAME }`."),
  })
  .refine((s3) => (s3.access_key_id === undefined) === (s3.secret_access_key === undefined), {
    path: ["secret_access_key"],
    message: "access_key_id and secret_access_key come together",
  })

export type S3Settings = z.output<typeof S3Settings>

export const BucketSettings = z.strictObject({
  s3: S3Settings.optional().describe("S3, or a compatible server. Absent: files under <data_dir>/buckets."),
  max_object_bytes: z.int().min(1).max(5_368_709_120).default(67_108_864).describe("Maximum size of an object."),
})
