// The API reference in the browser: filters the operations, and sends those that are tried. The key stays in its field.
const filter = document.getElementById("filter")
filter.addEventListener("input", () => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean)
  for (const section of document.querySelectorAll("nav section")) {
    const links = [...section.querySelectorAll("a")]
    for (const link of links) link.hidden = !words.every((word) => link.dataset.find.includes(word))
    section.hidden = links.every((link) => link.hidden)
  }
})

for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    void send(form)
  })
}

async function send(form) {
  const outcome = form.querySelector(".outcome")
  outcome.hidden = false
  outcome.textContent = "Sending…"
  const began = performance.now()
  try {
    const response = await fetch(...requestOf(form))
    const text = await response.text()
    const took = Math.round(performance.now() - began)
    outcome.textContent = `${response.status} ${response.statusText} (${took} ms)\n\n${pretty(text)}`
  } catch (error) {
    outcome.textContent = `Not sent: ${error.message}`
  }
}

function requestOf(form) {
  const headers = new Headers()
  const query = new URLSearchParams()
  let path = form.dataset.path
  const key = document.getElementById("key").value.trim()
  if (key) headers.set("Authorization", `Bearer ${key}`)
  for (const { name, value, dataset } of form.querySelectorAll("input[data-in]")) {
    if (dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value))
    else if (value && dataset.in === "query") query.append(name, value)
    else if (value) headers.set(name, value)
  }
  const body = form.querySelector("textarea")?.value
  if (body !== undefined) headers.set("Content-Type", "application/json")
  const url = query.size > 0 ? `${path}?${query}` : path
  return [url, { method: form.dataset.method, headers, body }]
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
