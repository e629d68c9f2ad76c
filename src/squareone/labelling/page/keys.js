// Which key gives which label: numbers, and a letter of the label that nothing else has.
export const COMMANDS = {
  u: 'Undo the last answer, as often as you like',
  s: 'Skip: leave this row for a later pass',
  d: 'Cannot tell: this row does not show its label',
  g: 'Show the guess of the model',
  f: 'Unfold a long text',
  '/': 'Search, or open a row by its number',
  '?': 'This list',
};

export function keysOf(labels) {
  const taken = new Set(Object.keys(COMMANDS));
  return labels.map((label, place) => {
    const letters = [...label.toLowerCase()].filter((letter) => /^[a-z]$/.test(letter));
    const letter = letters.find((each) => !taken.has(each)) ?? null;
    if (letter) taken.add(letter);
    return { label, number: place < 9 ? String(place + 1) : null, letter };
  });
}

// The key of an event that is meant for the page: not for a field, an open panel or the browser. One
// that was just closed may have the focus still.
export function keyOf(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return null;
  if (event.target.closest('input, textarea, select, dialog[open]')) return null;
  return event.key.length === 1 ? event.key.toLowerCase() : null;
}
