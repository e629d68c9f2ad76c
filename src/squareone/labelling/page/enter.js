// Exchange the token of a link, which is behind # and so in no request, for a cookie.
const said = document.getElementById('said');
const token = location.hash.slice(1);
history.replaceState(null, '', '/enter');
const answer = await fetch('/enter', {
  method: 'POST',
  headers: { 'X-Squareone': '1', 'Content-Type': 'text/plain' },
  body: token,
}).catch(() => null);
if (answer && answer.ok) {
  location.replace('/');
} else if (answer) {
  said.textContent = 'This link was used, or is too old. Press Enter in the terminal where squareone label runs: it shows a fresh one.';
} else {
  said.textContent = 'Nobody answers: squareone label has ended. Start it again.';
}
