// What elements of a page say of themselves. Only attributes are asked: a form's properties (id, name, action, method) are
// hidden by fields of these names.
import type { Element } from "./browser.ts"

/** What its author calls an element; never what it says. */
export const named = (element: Element) =>
  attribute(element, "data-cta") || attribute(element, "id") || attribute(element, "name") || element.tagName.toLowerCase()

export const attribute = (element: Element, name: string) => element.getAttribute(name) ?? ""

/** Whether a form is the page's, by the rule of what serves it: it goes to the page's own address, asks for nothing, and is not to be left alone. */
export const isOwn = (form: Element, page: string) => {
  const { origin, pathname } = new URL(attribute(form, "action"), page)
  return origin + pathname === page && form.getAttribute("data-mr-ignore") === null && !/^(get|dialog)$/i.test(attribute(form, "method"))
}
