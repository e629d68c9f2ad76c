// Shows formulas with KaTeX, which stands beside this file.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".formula")) {
    const block = place.tagName === "DIV";
    katex.render(place.textContent, place, { displayMode: block, throwOnError: false });
    if (block && place.scrollWidth > place.clientWidth) {
      place.tabIndex = 0; // what has to be scrolled can be, with keys too
      place.setAttribute("role", "group");
      place.setAttribute("aria-label", "formula");
    }
  }
});
