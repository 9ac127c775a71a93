// uPlot formats numbers in the browser's language as soon as it is loaded, and fails where Intl does not know it,
// such as the "en-US@posix" of browsers started without a locale. To be imported before it.
try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, "language", { value: "en", configurable: true })
}
