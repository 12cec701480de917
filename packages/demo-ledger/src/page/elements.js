/**
 * Elements of the page. Text of documents becomes text nodes and attribute values, never markup.
 */

/**
 * Creates an element with attributes, listeners by `on…`, and children: elements or texts.
 * @param {string} name
 * @param {Record<string, unknown>} attributes `onclick` and the like are listeners; null and false
 * leave an attribute out
 * @param {...(Node | string | null)} children null is no child
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false)
      made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Heads of columns with amounts.
const amounts = new Set(["Total", "Paid", "Credited", "Due", "Left", "Amount"]);

/**
 * Creates a table, or a sentence if there are no rows.
 * @param {string} label the name for assistive software
 * @param {readonly string[]} heads
 * @param {readonly HTMLTableRowElement[]} rows
 */
export function table(label, heads, rows) {
  if (rows.length === 0) return element("p", { class: "detail" }, "None.");
  const classOf = (text) => (amounts.has(text) ? "amount" : null);
  const head = element(
    "tr",
    {},
    ...heads.map((text) => element("th", { scope: "col", class: classOf(text) }, text)),
  );
  return element(
    "table",
    { "aria-label": label },
    element("thead", {}, head),
    element("tbody", {}, ...rows),
  );
}

/** A cell of a table. @param {...(Node | string | null)} children */
export function cell(...children) {
  return element("td", {}, ...children);
}

/** A cell with an amount. @param {string} text */
export function amountCell(text) {
  return element("td", { class: "amount" }, text);
}

/** A small line below other text. @param {string} text */
export function detail(text) {
  return element("div", { class: "detail" }, text);
}

/** A button. @param {string} text @param {() => void} onclick */
export function button(text, onclick) {
  return element("button", { type: "button", onclick }, text);
}
