// The board's script: themes, times that run, keys, and live updates. Every page works without it.
'use strict';

// Themes: as the system has it, unless one was chosen. This runs before the page is shown.
const root = document.documentElement;
const themes = ['', 'light', 'dark'];
function showTheme(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
}
function remembered(key) {
  try { return localStorage.getItem(key) || ''; } catch { return ''; } // storage may be forbidden
}
function remember(key, value) {
  try { localStorage.setItem(key, value); } catch { /* as above */ }
}
root.classList.add('scripted');
showTheme(remembered('theme'));

function nextTheme() {
  const next = themes[(themes.indexOf(root.dataset.theme || '') + 1) % themes.length];
  remember('theme', next);
  showTheme(next);
}

// Times: <time datetime data-time="since|until"> as a duration, which runs.
const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];
function duration(seconds) {
  for (let i = 0; i < units.length; i++) {
    const [name, size] = units[i];
    if (seconds < size && i < units.length - 1) continue;
    const whole = Math.floor(seconds / size);
    const next = units[i + 1];
    const rest = next && whole < 10 ? Math.floor((seconds - whole * size) / next[1]) : 0;
    return `${whole} ${name}` + (rest ? ` ${rest} ${next[0]}` : '');
  }
  return '';
}
function runTime(el, now) {
  const at = Date.parse(el.dateTime);
  if (Number.isNaN(at)) return;
  if (!el.title) el.title = new Date(at).toLocaleString();
  const ahead = el.dataset.time === 'until';
  const seconds = Math.round((ahead ? at - now : now - at) / 1000);
  const text = ahead ? (seconds > 0 ? 'in ' + duration(seconds) : 'due') : duration(Math.max(0, seconds));
  if (el.textContent !== text) el.textContent = text;
}
function runTimes(within) {
  const now = Date.now();
  for (const el of within.querySelectorAll('time[data-time]')) runTime(el, now);
}

// Live updates: a patch has elements that are new or have changed, and the order of containers.
function elementOf(html) {
  const template = document.createElement('template');
  template.innerHTML = html;
  return template.content.firstElementChild;
}
function focusedIn(el) {
  const active = document.activeElement;
  if (!active || active === document.body || !el.contains(active)) return null;
  const all = [...el.querySelectorAll('a[href], button, input, summary, [tabindex]')];
  return { id: el.id, index: all.indexOf(active) };
}
function focusAgain(kept) {
  const el = kept && document.getElementById(kept.id);
  if (!el || el.contains(document.activeElement)) return;
  const all = el.querySelectorAll('a[href], button, input, summary, [tabindex]');
  const again = all[kept.index] || all[0] || (kept.index < 0 ? el : null);
  if (again) again.focus({ preventScroll: true });
}
function replace(old, el) {
  const opened = [...old.querySelectorAll('details')].map((d) => d.open);
  [...el.querySelectorAll('details')].forEach((d, i) => { if (opened[i]) d.open = true; });
  const parts = (of) => [of, ...of.querySelectorAll('.scroll')];
  const from = parts(old).map((part) => [part.scrollTop, part.scrollLeft]);
  old.replaceWith(el);
  parts(el).forEach((part, i) => { if (from[i]) [part.scrollTop, part.scrollLeft] = from[i]; });
}
function applyPatch(patch) {
  const fresh = new Map();
  const active = document.activeElement;
  const holder = active && active.closest('[data-v]');
  const kept = holder && focusedIn(holder);
  for (const [id, html] of Object.entries(patch.set || {})) {
    const el = elementOf(html);
    const old = document.getElementById(id);
    if (!el || (old && old.dataset.v === el.dataset.v)) continue;
    runTimes(el);
    if (old) replace(old, el);
    else fresh.set(id, el);
  }
  const orders = patch.order || {};
  if (patch.all) {
    for (const box of document.querySelectorAll('[data-fragments]')) if (!(box.id in orders)) box.replaceChildren();
  }
  const staying = new Set(Object.values(orders).flat());
  for (const [container, ids] of Object.entries(orders)) {
    const box = document.getElementById(container);
    if (!box) continue;
    for (const child of [...box.children]) if (!staying.has(child.id)) child.remove();
    let at = box.firstElementChild;
    for (const id of ids) {
      const el = fresh.get(id) || document.getElementById(id);
      if (!el) continue;
      if (el === at) at = at.nextElementSibling;
      else box.insertBefore(el, at);
    }
  }
  focusAgain(kept);
  document.dispatchEvent(new CustomEvent('board:patched', { detail: patch }));
}

const meta = (name) => document.querySelector(`meta[name=${name}]`).content;
let source = null;
let state = '';
let retry = 0; // ms until the next attempt
let timer = 0;
let over = false;

function say(text) { document.getElementById('connection').textContent = text; }
function showProblem(problem, remedy = 'Reload') {
  const box = document.getElementById('problem');
  box.hidden = !problem;
  box.textContent = '';
  if (!problem) return;
  box.append([problem.title, problem.detail, problem.remedy].filter(Boolean).join(': '));
  const again = document.createElement('a');
  again.href = location.href;
  again.textContent = remedy;
  box.append(' ', again);
}
function connect() {
  clearTimeout(timer);
  if (source || over || document.hidden) return;
  const url = new URL(document.body.dataset.live, location.href);
  url.searchParams.set('state', state);
  source = new EventSource(url);
  source.addEventListener('hello', (e) => {
    retry = 0;
    say('');
    showProblem(null);
    const { build, reader } = JSON.parse(e.data);
    if (build !== meta('build')) showProblem({ title: 'There is a new version of this page' });
    else if (reader !== meta('reader')) showProblem({ title: 'You have logged in anew since this page was loaded' });
  });
  source.addEventListener('patch', (e) => {
    state = e.lastEventId;
    applyPatch(JSON.parse(e.data));
  });
  source.addEventListener('problem', (e) => tell(JSON.parse(e.data)));
  source.onerror = () => {
    // Always anew, with the state that is shown now: a browser by itself gives up on some answers.
    const refused = source.readyState === EventSource.CLOSED;
    disconnect();
    if (over) return;
    retry = Math.min(30000, Math.max(1000, retry * 2));
    say('connecting…');
    timer = setTimeout(connect, retry * (0.75 + Math.random() / 2));
    if (refused) askWhy(url);
  };
}
// tell a problem; one that does not pass ends the updates.
function tell(problem) {
  if (problem && problem.status === 401) showProblem({ title: 'You are logged out' }, 'Log in'); // who loads the page is asked
  else showProblem(problem);
  if (!problem || ![401, 403, 404, 410, 422].includes(problem.status)) return;
  over = true;
  say('');
  disconnect();
  if (problem.status === 401 || problem.status === 403) applyPatch({ all: true });
}
// askWhy a stream was refused: an EventSource does not say.
async function askWhy(url) {
  const ended = new AbortController();
  try {
    const answer = await fetch(url, { headers: { Accept: 'text/event-stream' }, signal: ended.signal });
    if (!answer.ok) tell(await answer.json());
  } catch { /* the next attempt finds out */ } finally { ended.abort(); }
}
function disconnect() {
  clearTimeout(timer);
  if (source) source.close();
  source = null;
}

// Keys.
function rows() { return [...document.querySelectorAll('[data-rows] > *')].filter((r) => r.querySelector('a[href]')); }
function move(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((r) => r.contains(document.activeElement));
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by))];
  const link = next.querySelector('a[href]');
  link.focus();
  next.scrollIntoView({ block: 'nearest' });
}
function onKey(e) {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const field = e.target.closest('input, textarea, select, [contenteditable]');
  if (field) {
    if (e.key === 'Escape') field.blur();
    return;
  }
  const help = document.getElementById('help');
  if (help.open) return;
  const keyed = document.querySelector(`[data-key="${CSS.escape(e.key)}"]`);
  if (keyed) keyed.focus();
  else if (e.key === 'j') move(1);
  else if (e.key === 'k') move(-1);
  else if (e.key === '?') help.showModal();
  else return;
  e.preventDefault();
}

document.addEventListener('DOMContentLoaded', () => {
  runTimes(document);
  setInterval(() => { if (!document.hidden) runTimes(document); }, 1000);
  document.addEventListener('keydown', onKey);
  document.addEventListener('click', (e) => {
    const button = e.target.closest('[data-action]');
    if (!button) return;
    if (button.dataset.action === 'theme') nextTheme();
    if (button.dataset.action === 'help') document.getElementById('help').showModal();
  });
  document.addEventListener('submit', (e) => { // links that are shared are short
    if (e.target.method !== 'get') return;
    for (const field of e.target.elements) if (field.name && !field.value) field.disabled = true;
  });
  addEventListener('pageshow', (e) => { // back from where the form led to
    if (e.persisted) for (const field of document.querySelectorAll('form[method=get] :disabled')) field.disabled = false;
  });
  if (!document.body.dataset.live || !window.EventSource) return;
  state = document.body.dataset.state;
  connect();
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(disconnect, 60000); // a browser has few connections for all its tabs
    else { runTimes(document); connect(); }
  });
  addEventListener('pagehide', disconnect);
  addEventListener('pageshow', (e) => { if (e.persisted) connect(); });
});
