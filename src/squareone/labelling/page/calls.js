// Requests to the session, and the list of answers that are not confirmed yet.
const NAME = randomName();
const WAITS_AT = 3; // answers without a confirmation from which on the page waits
const AGAIN = [500, 1000, 2000, 5000];

export function randomName() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');
}

export class Refused extends Error {
  constructor(text, status) {
    super(text);
    this.status = status;
  }
}

async function answered(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw new Refused('Nobody answers: squareone label has ended, or is busy.', 0);
  }
  const kind = response.headers.get('content-type') || '';
  const found = kind.includes('json') ? await response.json() : { error: await response.text() };
  if (!response.ok) throw new Refused(found.error, response.status);
  return found;
}

export function get(what, query = {}) {
  return answered(fetch(`/api/${what}?${new URLSearchParams(query)}`));
}

export function post(what, body = {}, more = {}) {
  return answered(fetch(`/api/${what}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Squareone': '1' },
    body: JSON.stringify({ tab: NAME, ...body }),
    ...more,
  }));
}

// Answers go out one after the other, in their order; each again until it is confirmed.
export class Outbox {
  constructor(onChange) {
    this.waiting = [];
    this.trouble = null;
    this.onChange = onChange;
    this.sending = false;
  }

  get full() {
    return this.waiting.length >= WAITS_AT;
  }

  put(what, body) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ what, body: { uuid: randomName(), ...body }, resolve, reject, begun: performance.now() });
      this.onChange();
      this.send();
    });
  }

  async send() {
    if (this.sending) return;
    this.sending = true;
    for (let tries = 0; this.waiting.length;) {
      const first = this.waiting[0];
      try {
        const found = await post(first.what, first.body);
        this.waiting.shift();
        this.trouble = null;
        tries = 0;
        performance.measure('confirmed', { start: first.begun, end: performance.now() });
        first.resolve(found);
      } catch (error) {
        const senseless = error.status >= 400 && error.status < 500 && error.status !== 403;
        if (senseless) { // the same again would be refused again
          this.waiting.shift();
          this.trouble = null;
          first.reject(error);
        } else {
          this.trouble = error.message;
          this.onChange();
          await new Promise((done) => setTimeout(done, AGAIN[Math.min(tries, AGAIN.length - 1)]));
          tries += 1;
          continue;
        }
      }
      this.onChange();
    }
    this.sending = false;
  }
}
