// Prints a one-line remedy on an outdated Node. Plain JavaScript, so any Node can read it.
const [major = "0"] = process.versions.node.split(".")
if (Number(major) < 24) {
  console.error(
    `Millrace needs Node 24 or later and this is ${process.version}: run it through npm ("npm start", "npm run millrace -- …"), which uses its own Node.`,
  )
  process.exit(1)
}
