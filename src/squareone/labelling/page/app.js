// The page: one row at a time, answered by keys; what is shown next is there before it is wanted.
import { get, Outbox, post } from './calls.js';
import { COMMANDS, keyOf, keysOf } from './keys.js';
import { element, listRows, showFiles, showHistory, showProgress, showReview, stood } from './panels.js';

const AHEAD = 3; // rows that are fetched before they are wanted
const LOOK_AGAIN = 400; // milliseconds, where the learner looks for a row
const FOLDED = 1500; // characters from which a text is folded

const NO_GUESS = 'There is no guess for this row: some rows have none, so that you do not see which of them measure, and none has one before two classes have a label.';

const at = (name) => document.getElementById(name);
const state = { labels: [], keys: [], ahead: [], shown: null, pause: null, given: 0, counts: {}, rows: 0, fetching: false, auditOnly: false, negatives: null, aside: [], timer: null, exports: [] };
const outbox = new Outbox(showSaved);

// --- what is shown ---

function show(question) {
  state.shown = question;
  const none = question === null;
  at('row').hidden = none;
  at('pause').hidden = !none;
  if (none) {
    showPause();
  } else {
    showRow(question);
    performance.mark('shown');
  }
  const waits = none || outbox.full;
  for (const button of document.querySelectorAll('#labels button, #skip, #cannot, #ask-guess')) button.disabled = waits;
}

function showRow(question) {
  at('row-name').textContent = `Row ${question.row.toLocaleString('en')}${question.review ? ', to review' : ''}`;
  const long = (question.text ?? '').length > FOLDED;
  at('text').textContent = question.text ?? '';
  at('text').hidden = question.text === null;
  at('text').classList.toggle('folded', long);
  at('unfold').hidden = !long;
  at('fields').hidden = !question.fields.length;
  at('fields').replaceChildren(...question.fields.flatMap(([name, value]) => [element('dt', name), element('dd', value)]));
  at('guess').hidden = true;
  at('stands').hidden = !question.stands;
  if (question.stands) at('stands').textContent = `It has: ${stood(question.stands)}. A new answer replaces that.`;
  for (const button of at('labels').children) button.classList.toggle('chosen', Boolean(question.stands) && button.dataset.label === question.stands[1]);
  at('spoken').textContent = `Row ${question.row}. ${question.text ?? question.fields.map((pair) => pair.join(': ')).join(', ')}`.slice(0, 400);
}

const PAUSES = { looking: 'Looking for a row', ended: 'Nothing more to ask', waiting: 'Waiting' };

function showPause() {
  const pause = state.pause ?? { kind: 'looking', text: 'One moment.' };
  at('pause-name').textContent = PAUSES[pause.kind];
  at('pause-text').textContent = pause.text;
  at('pause-do').hidden = pause.kind !== 'ended' || state.auditOnly || state.negatives !== null;
  at('spoken').textContent = pause.text;
}

function showSaved() {
  const count = outbox.waiting.length;
  at('saved').textContent = count ? `${count} not saved yet` : state.given ? 'all saved' : '';
  at('trouble').hidden = !outbox.trouble && !outbox.full;
  if (outbox.trouble) {
    at('trouble').textContent = `${outbox.trouble} ${count} answer${count > 1 ? 's are' : ' is'} not saved yet, and tried again; keep this page open.`;
  } else if (outbox.full) {
    at('trouble').textContent = `${count} answers are not confirmed yet: the page waits until they are on the disk.`;
  }
  const waits = outbox.full || state.shown === null;
  for (const button of document.querySelectorAll('#labels button, #skip, #cannot')) button.disabled = waits;
  showCount();
}

function showCount() {
  const labelled = Object.values(state.counts).reduce((sum, each) => sum + each, 0);
  at('count').textContent = `${labelled.toLocaleString('en')} of ${state.rows.toLocaleString('en')} rows have a label`;
}

function showLabels() {
  state.keys = keysOf(state.labels);
  at('labels').replaceChildren(...state.keys.map(({ label, number, letter }) => {
    const button = element('button', undefined, { type: 'button' });
    button.dataset.label = label;
    const hint = [number, letter].filter(Boolean).join(' ');
    button.append(element('span', label), element('kbd', hint));
    button.setAttribute('aria-label', hint ? `${label}, key ${[number, letter].filter(Boolean).join(' or ')}` : label);
    if (hint) button.setAttribute('aria-keyshortcuts', hint);
    button.addEventListener('click', () => answer('answer', label));
    return button;
  }));
  const rows = [...state.keys.map(({ label, number, letter }) => [[number, letter].filter(Boolean).join(' or ') || '–', label]), ...Object.entries(COMMANDS)];
  const body = document.querySelector('#keys tbody');
  body.replaceChildren(...rows.map(([key, what]) => {
    const row = element('tr');
    const head = element('td');
    head.append(element('kbd', key));
    row.append(head, element('td', what));
    return row;
  }));
}

// --- what is asked ---

async function fetchAhead() {
  if (state.fetching || state.ahead.length >= AHEAD) return;
  clearTimeout(state.timer);
  state.fetching = true;
  try {
    const found = await post('next', { wanted: AHEAD - state.ahead.length, audit_only: state.auditOnly, negatives_of: state.negatives });
    state.ahead.push(...found.questions);
    document.body.dataset.ahead = state.ahead.length;
    state.pause = found.pause;
    if (found.failed) complain(found.failed);
  } catch (error) {
    state.pause = { kind: 'waiting', text: error.message };
  } finally {
    state.fetching = false;
  }
  if (state.shown === null) advance();
  if (state.pause && state.pause.kind !== 'ended') state.timer = setTimeout(fetchAhead, LOOK_AGAIN);
}

function advance() {
  show(state.ahead.shift() ?? null);
  document.body.dataset.ahead = state.ahead.length;
  fetchAhead();
}

function complain(text) {
  at('trouble').textContent = text;
  at('trouble').hidden = false;
}

async function answer(kind, label) {
  const question = state.shown;
  if (question === null || outbox.full) return;
  const told = outbox.put('answer', { question: question.question, row: question.row, kind, label });
  state.given += 1;
  advance();
  try {
    take(await told);
  } catch (error) {
    complain(`Row ${question.row}: ${error.message}`);
  }
}

function take(found) {
  if (!found.counts) return;
  state.given = found.counts.given;
  state.counts = found.counts.labels;
  if (state.pause?.kind === 'ended') fetchAhead();
  showSaved();
}

async function undo() {
  if (outbox.full) return;
  try {
    const found = await outbox.put('undo', {});
    take(found);
    if (found.question === null) {
      at('spoken').textContent = 'There is nothing to undo.';
      return;
    }
    if (state.shown) state.ahead.unshift(state.shown);
    show(found.question);
    at('spoken').textContent = `Undone. ${at('spoken').textContent}`;
  } catch (error) {
    complain(error.message);
  }
}

async function open(row, why) {
  for (const panel of document.querySelectorAll('dialog[open]')) panel.close();
  try {
    const found = await post('ask', { row, why });
    if (state.shown) state.ahead.unshift(state.shown);
    show({ ...found.question, stands: found.stands });
    at('row').focus();
  } catch (error) {
    complain(error.message);
  }
}

// Rows that the model predicts as something else than a class, until somebody goes back.
async function beginNegatives(label) {
  at('progress').close();
  try {
    await post('negatives', { label });
    if (state.negatives === null) state.aside = [state.shown, ...state.ahead].filter((each) => each !== null);
    change({ negatives: label, ahead: [] });
    at('mode').hidden = false;
    at('mode-text').textContent = `Rows at random that the model predicts as something else than ${label}. They say what it misses, and are no part of the accuracy.`;
  } catch (error) {
    complain(error.message);
  }
}

function endNegatives() {
  at('mode').hidden = true;
  change({ negatives: null, ahead: [...state.aside, ...[state.shown, ...state.ahead].filter((each) => each !== null)] });
  state.aside = [];
}

function change(mode) {
  Object.assign(state, mode, { pause: null, shown: null });
  advance();
}

async function guess() {
  const question = state.shown;
  if (question === null) return;
  let said;
  try {
    const found = await get('guess', { question: question.question, row: question.row });
    said = found.guess
      ? `The model guesses ${found.guess.label}, with probability ${found.guess.probability.toFixed(2)}.`
      : NO_GUESS;
  } catch (error) {
    said = error.message;
  }
  if (state.shown !== question) return;
  at('guess').textContent = said;
  at('guess').hidden = false;
  at('spoken').textContent = said;
}

async function addLabel() {
  try {
    const found = await post('label', { label: at('label-name').value });
    state.labels = found.labels;
    showLabels();
    show(state.shown);
    at('label-name').value = '';
    at('new-label').close();
  } catch (error) {
    at('label-said').textContent = error.message;
  }
}

let searched = 0;
async function search() {
  const words = at('words').value.trim();
  const own = ++searched;
  if (!words) return;
  try {
    const found = await get('search', { words });
    if (own !== searched) return; // another search was begun since
    at('search-said').textContent = `${found.total.toLocaleString('en')} rows${found.total > found.found.length ? `, of which the first ${found.found.length} are shown` : ''}`;
    listRows(at('search-found'), found.found, (row) => open(row, 'search'));
  } catch (error) {
    at('search-said').textContent = error.message;
  }
}

// --- panels and keys ---

async function panel(name) {
  for (const said of at(name).querySelectorAll('[role=alert]')) said.remove(); // of another row
  at(name).showModal();
  try {
    if (name === 'progress') await showProgress(at('figures'), { search: () => { at('progress').close(); panel('search'); }, negatives: beginNegatives });
    if (name === 'review') await showReview(at('conflicts'), at('suspects'), (row) => open(row, 'review'));
    if (name === 'files') showFiles(at('exports'), at('export-said'), state.exports);
    if (name === 'past') await showHistory(at('events'), state.shown.row);
    if (name === 'search') at('words').focus();
    if (name === 'new-label') at('label-name').focus();
  } catch (error) {
    at(name).append(element('p', error.message, { role: 'alert' }));
  }
}

const unfold = () => {
  at('text').classList.remove('folded');
  at('unfold').hidden = true;
};

const commands = {
  u: undo, g: guess, f: unfold,
  s: () => answer('skip'), d: () => answer('cannot_tell'),
  '/': () => panel('search'), '?': () => panel('help'),
};

function pressed(event) {
  const key = keyOf(event);
  if (key === null) return;
  const found = state.keys.find(({ number, letter }) => key === number || key === letter);
  if (!found && !commands[key]) return;
  event.preventDefault();
  performance.mark('pressed', { startTime: event.timeStamp });
  if (found) answer('answer', found.label);
  else commands[key]();
}

function fromAddress() {
  const found = /^#row=(\d{1,12})$/.exec(location.hash);
  if (found) {
    history.replaceState(null, '', '/');
    open(Number(found[1]), 'link');
  }
}

function listen() {
  document.addEventListener('keydown', pressed);
  for (const button of document.querySelectorAll('[data-panel]')) button.addEventListener('click', () => panel(button.dataset.panel));
  const clicks = { skip: commands.s, cannot: commands.d, undo, 'ask-guess': guess, unfold, add: () => panel('new-label'), 'add-label': addLabel, history: () => state.shown && panel('past') };
  for (const [name, action] of Object.entries(clicks)) at(name).addEventListener('click', action);
  at('audit-only').addEventListener('click', () => { state.auditOnly = true; state.pause = null; showPause(); fetchAhead(); });
  at('end-mode').addEventListener('click', endNegatives);
  at('open-row').addEventListener('click', () => open(at('number').value.trim(), 'link'));
  at('words').addEventListener('input', () => { clearTimeout(search.timer); search.timer = setTimeout(search, 250); });
  for (const [field, action] of [['words', search], ['number', () => at('open-row').click()], ['label-name', addLabel]]) {
    at(field).addEventListener('keydown', (event) => { if (event.key === 'Enter') { event.preventDefault(); action(); } });
  }
  addEventListener('hashchange', fromAddress);
  addEventListener('pagehide', () => { if (!outbox.waiting.length) post('leave', {}, { keepalive: true }).catch(() => {}); });
  addEventListener('beforeunload', (event) => { if (outbox.waiting.length) event.preventDefault(); });
}

async function begin() {
  listen();
  show(null);
  const found = await get('state');
  Object.assign(state, { labels: found.labels, exports: found.exports, rows: found.rows, given: found.counts.given, counts: found.counts.labels });
  at('title').textContent = `Labels of ${found.title}`;
  document.title = `${found.title}: squareone label`;
  at('instructions-text').textContent = found.instructions;
  document.querySelector('[data-panel=instructions]').hidden = !found.instructions;
  if (found.notes.length) complain(found.notes.join(' '));
  showLabels();
  showCount();
  await fetchAhead();
  fromAddress();
}

begin().catch((error) => complain(error.message));
