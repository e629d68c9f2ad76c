// Panels: progress, search, review, files and history.
import { get, Refused } from './calls.js';

export function element(kind, text, more = {}) {
  const made = Object.assign(document.createElement(kind), more);
  if (text !== undefined) made.textContent = text;
  return made;
}

const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
const many = (count) => count.toLocaleString('en');
const kinds = { answer: 'label', imported: 'brought in', skip: 'skipped', cannot_tell: 'cannot tell', undo: 'undone' };

export function stood(stands) {
  if (!stands) return 'no label';
  return stands[1] ?? kinds[stands[0]];
}

function table(heads, rows) {
  const made = element('table');
  const head = made.createTHead().insertRow();
  heads.forEach((text) => head.append(element('th', text, { scope: 'col' })));
  const body = made.createTBody();
  rows.forEach((cells) => {
    const row = body.insertRow();
    cells.forEach((text) => { row.insertCell().textContent = text; });
  });
  const wide = element('div', undefined, { className: 'wide' });
  wide.append(made);
  return wide;
}

// --- when to stop ---

function accuracyOf(found) {
  const look = found.audit;
  if (!look) {
    return [`Accuracy is first told at ${found.next_look} audit rows; ${found.audit_asked} of ${many(found.audit_rows)} were asked.`];
  }
  const said = [];
  if (look.accuracy) {
    const [share, low, high] = look.accuracy;
    said.push(`Right in ${percent(share)} of ${look.known} audit rows: between ${percent(low)} and ${percent(high)}.`);
  }
  if (look.known < look.rows) {
    const [share, low, high] = look.accuracy_of_all;
    said.push(`With the ${look.rows - look.known} audit rows that were skipped or could not be told counted as wrong: ${percent(share)}, between ${percent(low)} and ${percent(high)}.`);
  }
  said.push(`This was the model with ${many(found.audit_labels)} labels. The next look is at ${found.next_look} audit rows; ${found.audit_asked} were asked. All looks of a session hold together in nine sessions of ten.`);
  return said;
}

function stoppingOf(found) {
  const stopping = found.stopping;
  if (stopping.would_ask === null) return ['Nothing was learned yet: labels of two classes are needed.'];
  const said = [`The model would ask about ${percent(stopping.would_ask)} of ${many(stopping.looked_at)} random rows that are left.`];
  if (stopping.changed === null) said.push('How much the last 100 labels changed is told from some 125 labels on.');
  else said.push(`The last 100 labels changed ${percent(stopping.changed)} of the predictions of ${many(stopping.fixed)} rows.`);
  return said;
}

// What a class with too few audit rows can be looked at by: neither is part of the audit.
function rareOf(label, actions) {
  const said = element('p', `${label} has fewer than ten audit rows: `, { className: 'rare' });
  const search = element('button', 'Search for it', { type: 'button', className: 'quiet' });
  const negatives = element('button', 'Audit of predicted negatives', { type: 'button', className: 'quiet' });
  search.setAttribute('aria-label', `Search for ${label}`);
  negatives.setAttribute('aria-label', `Audit of predicted negatives of ${label}`);
  search.addEventListener('click', () => actions.search());
  negatives.addEventListener('click', () => actions.negatives(label));
  said.append(search, ', ', negatives);
  return said;
}

function negativesOf(each) {
  const about = `rows at random of those without a label that the model with ${many(each.labels)} labels predicted as something else than ${each.label}`;
  if (!each.rows) return [`${each.asked} of ${each.drawn} ${about} were asked; what they say is told from 25 on.`];
  const said = [];
  if (each.share) {
    const [share, low, high] = each.share;
    said.push(`Of ${each.known} ${about}, ${each.found} are ${each.label}: ${percent(share)}, between ${percent(low)} and ${percent(high)}. That is the share that this model misses among such rows; it is no part of the accuracy or of F.`);
  }
  if (each.known < each.rows) {
    const [share, low, high] = each.share_of_all;
    said.push(`With the ${each.rows - each.known} of them that were skipped or could not be told counted as ${each.label}: ${percent(share)}, between ${percent(low)} and ${percent(high)}.`);
  }
  return said;
}

export async function showProgress(panel, actions) {
  panel.replaceChildren(element('p', 'Looking …'));
  const found = await get('figures');
  const parts = [element('h3', 'How often it is right')];
  accuracyOf(found).forEach((text) => parts.push(element('p', text)));
  if (found.audit) {
    const rows = found.audit.classes.map((each) => (each.f === null
      ? [each.label, '–', '']
      : [each.label, each.f.toFixed(2), `${each.interval[0].toFixed(2)} to ${each.interval[1].toFixed(2)}`]));
    parts.push(table(['Class', 'F', 'Between'], rows));
    found.audit.classes.filter((each) => each.f === null).forEach((each) => parts.push(rareOf(each.label, actions)));
  }
  if (found.negatives.length) {
    parts.push(element('h3', 'What it misses'));
    found.negatives.flatMap(negativesOf).forEach((text) => parts.push(element('p', text)));
  }
  parts.push(element('h3', 'What more labels would change'));
  stoppingOf(found).forEach((text) => parts.push(element('p', text)));
  parts.push(element('h3', 'Labels'));
  parts.push(table(['Label', 'Rows'], Object.entries(found.counts).map(([name, count]) => [name, many(count)])));
  parts.push(element('p', `${many(found.labelled)} of ${many(found.rows)} rows have a label, ${many(found.cannot_tell)} could not be told, ${many(found.skipped)} were skipped.`));
  const [same, total] = found.oneself;
  if (total) parts.push(element('p', `Rows that were asked twice got the same label in ${same} of ${total} cases.`));
  const [agreed, shared] = found.others;
  if (shared) parts.push(element('p', `Annotators say the same of ${agreed} of ${shared} audit rows that several have answered.`));
  if (found.conflicts) parts.push(element('p', `Of ${found.conflicts} rows people say different things: see Review.`));
  if (found.missing || found.changed) parts.push(element('p', `Labels that are set aside: ${found.missing} of rows that are gone, ${found.changed} of rows with other cells.`));
  panel.replaceChildren(...parts);
}

// --- rows to choose from ---

export function listRows(list, found, choose, describe = (each) => stood(each.stands)) {
  list.replaceChildren(...found.map((each) => {
    const item = element('li');
    const button = element('button', undefined, { type: 'button' });
    button.append(element('span', `Row ${many(each.row)}: ${describe(each)} `, { className: 'soft' }), element('span', each.text));
    button.addEventListener('click', () => choose(each.row));
    item.append(button);
    return item;
  }));
  if (!found.length) list.replaceChildren(element('li', 'None.'));
}

export async function showReview(conflicts, suspects, choose) {
  [conflicts, suspects].forEach((list) => list.replaceChildren(element('li', 'Looking …')));
  const disagreed = await get('conflicts');
  listRows(conflicts, disagreed.found, choose, (each) => Object.entries(each.people).map(([who, label]) => `${who} says ${label}`).join(', '));
  const doubted = await get('suspects');
  listRows(suspects, doubted.found, choose);
}

export async function showHistory(list, row) {
  list.replaceChildren();
  const found = await get('history', { row });
  list.replaceChildren(...found.events.map((each) => {
    const when = new Date(1000 * each.time).toLocaleString();
    return element('li', `${when}: ${kinds[each.kind] ?? each.kind}${each.label ? ` ${each.label}` : ''} (${each.annotator})`);
  }));
  if (!found.events.length) list.replaceChildren(element('li', 'Nothing to show: what was said of a row is shown once it is answered.'));
}

// --- files ---

export function showFiles(list, said, names) {
  const about = {
    'labels.csv': 'Labels, as CSV', 'labels.parquet': 'Labels, as Parquet', 'labels.jsonl': 'Labels, as JSON lines',
    'predictions.csv': 'Predictions with probabilities for all rows, as CSV', 'predictions.parquet': 'The same, as Parquet',
    'model.squareone': 'The model, for squareone.load', 'events.jsonl': 'Everything that happened, as JSON lines',
    'report.html': 'A page of labels spent and labels saved',
  };
  list.replaceChildren(...names.map((name) => {
    const item = element('li');
    const button = element('button', about[name] ?? name, { type: 'button' });
    button.addEventListener('click', () => take(name, button, said));
    item.append(button);
    return item;
  }));
}

async function take(name, button, said) {
  button.disabled = true;
  said.textContent = 'Writing …';
  try {
    const response = await fetch(`/api/export/${name}`);
    if (!response.ok) throw new Refused((await response.json()).error, response.status);
    const link = element('a');
    link.href = URL.createObjectURL(await response.blob());
    link.download = /filename="?([^";]+)/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    said.textContent = `${link.download} was saved. ${response.headers.get('x-squareone-note') ?? ''}`;
  } catch (error) {
    said.textContent = error.message;
  } finally {
    button.disabled = false;
  }
}
