/**
 * What a page does with a script: it searches, copies code, and remembers the chosen language.
 * Without it the page has all its text.
 */
import MiniSearch from "minisearch";

const mostResults = 12;

/** Creates an element with properties and children. */
function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** Loads the index. Its addresses are relative to this file, so a prefix of a proxy stays. */
async function loadIndex() {
  const answer = await fetch(new URL("search-index.json", import.meta.url));
  const sections = await answer.json();
  const index = new MiniSearch({
    idField: "address",
    fields: ["title", "above", "names"],
    storeFields: ["title", "above"],
    searchOptions: {
      boost: { title: 4, above: 2 },
      boostDocument: (address) => (address.includes("#") ? 1 : 2),
      prefix: true,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      combineWith: "AND",
    },
  });
  index.addAll(
    sections.map(([address, title, above, names]) => ({ address, title, above, names })),
  );
  return index;
}

/** Puts the search into its place in the bar. `/` goes there, Escape leaves it. */
function addSearch(place) {
  const field = element("input", { type: "search", placeholder: "Search" });
  field.setAttribute("aria-label", "Search the documentation");
  field.setAttribute("aria-keyshortcuts", "/");
  const said = element("p", { role: "status" });
  const list = element("ul");
  const found = element("div", { className: "found", hidden: true }, said, list);
  place.append(field, element("kbd", {}, "/"), found);
  let loading;

  const show = async () => {
    loading ??= loadIndex();
    const index = await loading;
    const words = field.value.trim();
    const results = words === "" ? [] : index.search(words).slice(0, mostResults);
    list.replaceChildren(
      ...results.map(({ id, title, above }) => {
        const href = new URL(id, import.meta.url).href;
        return element("li", {}, element("a", { href }, title, element("small", {}, above)));
      }),
    );
    said.textContent = results.length === 0 ? "Nothing is found." : "";
    found.hidden = words === "";
  };
  field.addEventListener("focus", () => void show());
  field.addEventListener("input", () => void show());

  const links = () => [field, ...list.querySelectorAll("a")];
  place.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      links()[links().indexOf(document.activeElement) + step]?.focus();
    } else if (event.key === "Enter" && document.activeElement === field) {
      links()[1]?.click();
    } else if (event.key === "Escape") {
      field.value = "";
      found.hidden = true;
      field.blur();
    }
  });
  place.addEventListener("focusout", ({ relatedTarget }) => {
    if (!place.contains(relatedTarget)) found.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    const isTyped = event.ctrlKey || event.metaKey || event.altKey;
    if (event.key !== "/" || isTyped || event.target.closest("input")) return;
    event.preventDefault();
    field.focus();
  });
}

/** Adds a button to a block of code. Browsers copy on safe addresses only. */
function addCopy(block) {
  const button = element("button", { type: "button", className: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent.trimEnd());
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1_500);
  });
  block.closest(".code").append(button);
}

/** Chooses a language wherever there is a choice. */
function choose(language) {
  for (const choice of document.querySelectorAll(".tabs > input"))
    if (choice.value === language) choice.checked = true;
}

/** Scrolls a long menu to the page. `scrollIntoView` would also move where the keyboard begins. */
function scrollMenu() {
  const menu = document.querySelector("#menu");
  const here = menu.querySelector("[aria-current=page]");
  if (here !== null) menu.scrollTop = here.offsetTop - menu.clientHeight / 2;
}

addSearch(document.querySelector("search"));
scrollMenu();
document.querySelector("#menu").addEventListener("toggle", scrollMenu);
if (navigator.clipboard)
  for (const block of document.querySelectorAll("pre > code")) addCopy(block);
choose(localStorage.getItem("docs-language"));
document.addEventListener("change", ({ target }) => {
  if (!target.matches(".tabs > input")) return;
  localStorage.setItem("docs-language", target.value);
  choose(target.value);
});
