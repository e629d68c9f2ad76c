// The theme's search button is read aloud as what it shows.
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".search-button__button[aria-label]")) {
    button.removeAttribute("aria-label");
  }
});
