// Import this before uPlot. On load, uPlot formats numbers in the browser's language. It fails if Intl does not support the
// language, such as "en-US@posix" of browsers started without a locale.
try {
  new Intl.NumberFormat(navigator.language)
} catch {
  Object.defineProperty(navigator, "language", { value: "en", configurable: true })
}
