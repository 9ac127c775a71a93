// Where objects are kept, as an operator says it.
import { z } from "zod"

const endpoint = z.url({ protocol: /^https?$/, error: "no http(s) URL such as https://s3.example.com" })

const S3Settings = z
  .strictObject({
    bucket: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens")
      .describe("Bucket that holds all objects."),
    region: z.string().min(1).default("us-east-1").describe("Its region; many servers other than AWS take any."),
    endpoint: endpoint.optional().describe("Of a server other than AWS, such as https://minio.internal:9000."),
    public_endpoint: endpoint.optional().describe("The same server as readers of signed links reach it, where that is another address."),
    path_style: z.boolean().default(false).describe("Bucket in the path instead of the host name; most servers other than AWS need it."),
    prefix: z
      .string()
      .regex(/^(?:[a-z0-9_-]+\/)*$/, "empty, or folders that end in /, such as millrace/")
      .default("")
      .describe("Put in front of every key."),
    access_key_id: z.string().min(1).optional().describe("Absent: the credentials that AWS's own tools find (environment, instance role)."),
    secret_access_key: z.string().min(1).optional().describe("Give it as `{ from_env: NAME }`."),
  })
  .refine((s3) => (s3.access_key_id === undefined) === (s3.secret_access_key === undefined), {
    path: ["secret_access_key"],
    message: "access_key_id and secret_access_key come together",
  })

export type S3Settings = z.output<typeof S3Settings>

export const BucketSettings = z.strictObject({
  s3: S3Settings.optional().describe("S3, or a server that speaks its protocol. Absent: files under <data_dir>/buckets."),
  max_object_bytes: z.int().min(1).default(67_108_864).describe("Largest object."),
})
