// A real S3-compatible server on loopback, from the binary in MILLRACE_TEST_S3_SERVER, on a temporary folder. Without the
// variable, tests that need it are skipped with one warning.
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePort } from "../../free-port.ts"

export interface S3Server {
  /** Settings of the buckets plugin for this server, under `s3`. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly secret: string
  /** Ends the server at once; its data stays. */
  kill(): Promise<void>
  /** Restarts it at the same address after `kill`. */
  again(): Promise<void>
  /** While true, the server accepts connections but sends no answers. */
  hold(isHeld: boolean): void
  stop(): Promise<void>
}

const binary = process.env["MILLRACE_TEST_S3_SERVER"]

export const s3Available = binary !== undefined && binary !== ""

if (!s3Available) {
  console.warn("\n!!! NO S3 SERVER: its tests are SKIPPED. Set MILLRACE_TEST_S3_SERVER to the versitygw binary.\n")
}

const bucket = "millrace-test"
const accessKey = "millraceTestKey"
const secret = "millrace-test-S3-SECRET-91c4"

export async function startS3(): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-s3-"))
  mkdirSync(join(folder, bucket))
  const port = await freePort()
  const args = ["--access", accessKey, "--secret", secret, "--port", `127.0.0.1:${port}`, "posix", folder]
  let server: ChildProcess
  const again = async () => {
    server = spawn(binary ?? "", args, { stdio: ["ignore", "ignore", "inherit"] })
    await answering(server, `http://127.0.0.1:${port}/`)
  }
  const kill = async () => {
    const ended = once(server, "exit")
    server.kill("SIGKILL")
    await ended
  }
  await again()
  return {
    secret,
    again,
    kill,
    hold: (isHeld) => void server.kill(isHeld ? "SIGSTOP" : "SIGCONT"),
    settings: {
      bucket,
      region: "us-east-1",
      endpoint: `http://127.0.0.1:${port}`,
      path_style: true,
      prefix: "of-a-test/",
      access_key_id: accessKey,
      secret_access_key: secret,
    },
    async stop() {
      await kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function answering(server: ChildProcess, url: string): Promise<void> {
  const failed = new Promise<never>((_resolve, reject) => {
    server.once("error", reject)
    server.once("exit", (code) => reject(new Error(`The S3 server ended with code ${code}.`)))
  })
  const whenAsked = async () => {
    for (;;) {
      const answer = await fetch(url).catch(() => undefined)
      if (answer) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await Promise.race([whenAsked(), failed])
}
