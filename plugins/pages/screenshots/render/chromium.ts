// Locates Chromium: the operator's, or the packaged one, unpacked once per version into a private folder.
// (In the system's temporary folder, any user could place a program of that name first.)
import { constants, existsSync } from "node:fs"
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { ConfinedChild } from "#core/engine"

export interface Chromium {
  readonly executable: string
  readonly libraries: string | undefined
  /** A fontconfig file for the packaged fonts and the system's fonts. */
  readonly fonts: string | undefined
}

export function chromiumOf(settings: { readonly executable: string | undefined; readonly folder: string }): () => Promise<Chromium> {
  let unpacking: Promise<Chromium> | undefined
  return async () => {
    if (settings.executable !== undefined) return await executableOf(settings.executable)
    unpacking ??= unpacked(settings.folder)
    try {
      return await unpacking
    } catch (error) {
      // The next render tries again: the disk may have been full.
      unpacking = undefined
      throw error
    }
  }
}

/** Checked before a render starts processes: a mistyped path would cost a process each time. */
async function executableOf(executable: string): Promise<Chromium> {
  try {
    await access(executable, constants.X_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(`plugins.settings.screenshots.executable: ${executable} cannot be run (${code}); give the path of a Chromium.`)
  }
  return { executable, libraries: undefined, fonts: undefined }
}

async function unpacked(parent: string): Promise<Chromium> {
  // Absolute, since the programs start in their own folders.
  const folder = resolve(parent, await version())
  if (!existsSync(folder)) {
    await mkdir(parent, { recursive: true, mode: 0o700 })
    const draft = await mkdtemp(join(parent, "unpacking-"))
    try {
      await unpackInto(draft)
      await writeFile(join(draft, "fonts.conf"), fontConfig(join(folder, "fonts")))
      await rename(draft, folder)
    } catch (error) {
      await rm(draft, { recursive: true, force: true })
      // Another node with the same folder was faster.
      if (!existsSync(folder)) throw error
    }
  }
  return { executable: join(folder, "chromium"), libraries: join(folder, "al2023/lib"), fonts: join(folder, "fonts.conf") }
}

async function unpackInto(folder: string): Promise<void> {
  const main = new URL("./unpack-main.ts", import.meta.url)
  const child = new ConfinedChild({ name: "unpacking process", main, env: { TMPDIR: folder }, stdio: ["ignore", "ignore", "pipe"] })
  const { code, stderr } = await child.ended
  if (code !== 0) throw new Error(`Chromium could not be unpacked into ${folder}: ${stderr.trim()}`)
}

async function version(): Promise<string> {
  const entry = fileURLToPath(import.meta.resolve("@sparticuz/chromium"))
  const manifest = JSON.parse(await readFile(join(dirname(entry), "../package.json"), "utf8")) as { version: string }
  return manifest.version
}

function fontConfig(fonts: string): string {
  const folders = [fonts, "/usr/share/fonts", "/usr/local/share/fonts"].map(
    (folder) => `  <dir>${folder.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</dir>`,
  )
  return [
    '<?xml version="1.0"?>',
    '<!DOCTYPE fontconfig SYSTEM "fonts.dtd">',
    "<fontconfig>",
    ...folders,
    '  <cachedir prefix="xdg">fontconfig</cachedir>',
    "</fontconfig>",
    "",
  ].join("\n")
}
