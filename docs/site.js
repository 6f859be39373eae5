// What the theme leaves to be done: the keyboard reaches all that scrolls, and the start page's
// picture comes to life.
"use strict";

/** What scrolls sideways is a stop of the keyboard; what does not is none. */
const reach = new ResizeObserver((seen) => {
  for (const { target } of seen) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

/** The theme wraps tables, and gives code its buttons, after the page has loaded. */
function mend() {
  const scrolling = ".md-typeset pre, .md-typeset__scrollwrap, .md-typeset p:has(> img), .hero";
  for (const each of document.querySelectorAll(scrolling)) reach.observe(each);
  // A button alone is no landmark.
  for (const each of document.querySelectorAll(".md-code__nav")) each.setAttribute("role", "none");
}

new MutationObserver(mend).observe(document.querySelector(".md-content"), {
  childList: true,
  subtree: true,
});
mend();

// ---- the start page ----------------------------------------------------------------------------

/** Puts the lab's lanes in the place of a picture of the same run, once they run: `data-lab` says
 * where. Who wants no motion, or to save data, keeps the picture. */
function revive(figure) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches || navigator.connection?.saveData)
    return;
  const frame = document.createElement("iframe");
  frame.title = "The lab: two disciplines on the same link, running";
  const scheme = () =>
    frame.contentWindow.postMessage({ scheme: document.body.dataset.mdColorScheme }, "*");
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || !data.penstock) return;
    frame.style.height = `${data.penstock}px`;
    if (!figure.classList.contains("live")) scheme();
    figure.classList.add("live");
  });
  new MutationObserver(scheme).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
  frame.src = figure.dataset.lab;
  figure.append(frame);
}

const hero = document.querySelector("[data-lab]");
if (hero) addEventListener("load", () => revive(hero));
