// The theme's search button is called what it shows, "Search Ctrl+K", and the same where there is
// only room for its icon: a name by reference counts text that is not displayed.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".search-button-field").forEach((button, number) => {
    const parts = button.querySelectorAll(":scope > span");
    if (parts.length === 0) return; // keeps the theme's label
    parts.forEach((part, place) => { part.id = `search-button-${number}-${place}`; });
    button.setAttribute("aria-labelledby", Array.from(parts, (part) => part.id).join(" "));
    button.removeAttribute("aria-label");
  });
});
